"""`oneflow.unittest`: test cases, and decorators for numbers of machines and devices. Here there is one of each."""

import unittest
from collections.abc import Callable
from typing import Any

TestCase = unittest.TestCase


def _skip_unless(machines: int, devices: int) -> Callable[[], Callable[[Any], Any]]:
    def decorate() -> Callable[[Any], Any]:
        if machines == devices == 1:
            return lambda tested: tested
        return unittest.skip(f"needs {machines} machine(s) with {devices} device(s) each")

    return decorate


skip_unless_1n1d = _skip_unless(1, 1)
skip_unless_1n2d = _skip_unless(1, 2)
skip_unless_1n4d = _skip_unless(1, 4)
skip_unless_2n1d = _skip_unless(2, 1)
skip_unless_2n2d = _skip_unless(2, 2)
skip_unless_2n4d = _skip_unless(2, 4)
