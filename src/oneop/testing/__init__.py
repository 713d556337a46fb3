"""Proof that an op is right: `oneop.testing.check(op)`.

values.py     tensors that are the same in every run, for any shape, dtype and layout
subject.py    the op under check: its kernels, and what its author adds (a reference, shapes, values)
domain/       which shapes, dtypes and attributes an op takes, found by asking its inference
case.py       one call as data, and hypothesis strategies of calls
explore.py    running a property over calls, and the smallest call that breaks it
compare.py    results side by side
accuracy.py   how far a result may be from the reference, derived from dtype, inputs and reference
memory/       buffers that are watched, and calls in child processes
families/     what is verified, one family of checks a file
checker.py    all families for one op
report.py, loading.py, repeating.py  what was found, and programs that reproduce it
certificate.py  reports as files that can be verified
two_gradients.py  running both kinds of gradient of one op
dual.py       `@autotest`: the same body with torch and with oneop
sbp_proof.py  `check_sbp`: every SBP signature on simulated shards, and those that hold without being declared
sbp_shards.py running an op on shards, and putting together what it gives
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneop.testing.case import cases as cases
    from oneop.testing.checker import FAMILIES as FAMILIES
    from oneop.testing.checker import check as check
    from oneop.testing.checker import pytest_params as pytest_params
    from oneop.testing.dual import autotest as autotest
    from oneop.testing.memory.guards import run_kernel as run_kernel
    from oneop.testing.repeating import repeat as repeat
    from oneop.testing.repeating import repeated_case as repeated_case
    from oneop.testing.repeating import tensor_case as tensor_case
    from oneop.testing.report import CheckReport as CheckReport
    from oneop.testing.sbp_proof import SbpReport as SbpReport
    from oneop.testing.sbp_proof import check_sbp as check_sbp
    from oneop.testing.subject import reference as reference
    from oneop.testing.two_gradients import TwoGradients as TwoGradients
    from oneop.testing.two_gradients import run_gradients as run_gradients
    from oneop.testing.values import tensor as tensor

#: Names that are imported when they are first used: module of this package, and the name there.
_LATER = {
    "FAMILIES": "checker",
    "CheckReport": "report",
    "SbpReport": "sbp_proof",
    "TwoGradients": "two_gradients",
    "autotest": "dual",
    "cases": "case",
    "check": "checker",
    "check_sbp": "sbp_proof",
    "pytest_params": "checker",
    "reference": "subject",
    "repeat": "repeating",
    "repeated_case": "repeating",
    "run_gradients": "two_gradients",
    "run_kernel": "memory.guards",
    "tensor": "values",
    "tensor_case": "repeating",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'oneop.testing' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"oneop.testing.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})


__all__ = [
    "FAMILIES",
    "CheckReport",
    "SbpReport",
    "TwoGradients",
    "autotest",
    "cases",
    "check",
    "check_sbp",
    "pytest_params",
    "reference",
    "repeat",
    "repeated_case",
    "run_gradients",
    "run_kernel",
    "tensor",
    "tensor_case",
]
