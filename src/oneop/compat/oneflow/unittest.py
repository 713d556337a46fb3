"""`oneflow.unittest`: test cases, and decorators for numbers of machines and devices. Here there is one of each."""

import unittest
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .eager import eager_execution_enabled

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

#: What tests ask about the run that they are part of.
env = SimpleNamespace(
    eager_execution_enabled=eager_execution_enabled,
    node_size=lambda: 1,
    device_num=lambda: 1,
    has_node_list=lambda: False,
)
