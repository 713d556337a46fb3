"""What a result must not depend on, and what a call must leave as it is.

A result must not depend on settings of torch, the number of threads, environment variables, the folder, or on whether a
checker calls. A call leaves the processor's rounding and the settings of the process as they were.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch

from oneop.testing.case import Case
from oneop.testing.compare import assert_close, assert_same, largest_value
from oneop.testing.domain.source_values import environment_values, environment_variables
from oneop.testing.explore import Broken
from oneop.testing.families.context import Context, usual_cases
from oneop.testing.families.unwatched import run_unwatched
from oneop.testing.report import Outcome

#: Enough for several threads whose parts are 65,536 elements.
_ELEMENTS = 300_001


def environment(context: Context) -> Outcome:
    """Results do not depend on the process around the call."""
    op = context.subject.op
    variables = environment_variables(op)
    values = ["0", "1", *environment_values(op)] if variables else []

    def holds(case: Case) -> None:
        is_large = case.size[0] >= _ELEMENTS  # such calls are for threads alone
        if not is_large:
            _leaves_settings(case)  # before any other call: the first one may change them for good
        expected = [result.clone() for result in case.run(case.make())]
        for what, setting in [] if is_large else _settings(variables, values):
            with setting:
                results = case.run(case.make())
            assert_same(expected, results, f"the result depends on {what}", context.output_names())
        scale = largest_value(case.make())
        what = "the result depends on who calls the op: in a program it is another one than in a check"
        assert_close(expected, run_unwatched(case), what, context.output_names(), scale=scale)
        for threads in (1, 3):
            with _threads(threads):
                results = case.run(case.make())
            what = f"the result depends on the number of threads, here {threads}"
            assert_close(expected, results, what, context.output_names(), scale=scale)

    # With all bits of the mantissa: a setting may choose another precision.
    cases = [*usual_cases(context, (67, 40_000)), *usual_cases(context, (_ELEMENTS,))[:2]]
    return context.run("environment", [case.like(fill="full") for case in cases], holds)


def _leaves_settings(case: Case) -> None:
    """Raise `Broken` if a setting of the process is another one after the call. Settings are put right first."""
    with _libm_rounding() as rounding, _flushed_denormals() as flushed:
        settings: dict[str, Callable[[], object]] = {
            "the processor's rounding mode": rounding,
            "whether the processor takes tiny numbers for zero": flushed,
            "the working folder": Path.cwd,
            "environment variables": lambda: dict(os.environ),
            "torch's default dtype": torch.get_default_dtype,
            "torch's number of threads": torch.get_num_threads,
            "torch's grad mode": torch.is_grad_enabled,
            "numpy's handling of floating-point errors": np.geterr,
        }
        before = {name: read() for name, read in settings.items()}
        case.run(case.make())
        changed = [name for name, read in settings.items() if read() != before[name]]
    if changed:
        raise Broken(f"the call changes {changed[0]}, and leaves it so")


@contextlib.contextmanager
def _libm_rounding() -> Iterator[Callable[[], int]]:
    """Round to nearest meanwhile; return what tells the rounding mode of this thread."""
    libm = ctypes.CDLL(None)
    usual = libm.fegetround()
    libm.fesetround(0)  # FE_TONEAREST of every Linux platform
    try:
        yield libm.fegetround
    finally:
        libm.fesetround(usual)


@contextlib.contextmanager
def _flushed_denormals() -> Iterator[Callable[[], bool]]:
    """Compute with denormal numbers meanwhile; return what tells whether this thread takes them for zero."""
    tiny = np.full(1, 1e-310)

    def is_flushed() -> bool:
        return bool((tiny * 1.5 == 0).all())

    usual = is_flushed()
    torch.set_flush_denormal(False)
    try:
        yield is_flushed
    finally:
        torch.set_flush_denormal(usual)


def _settings(
    variables: list[str], values: list[str]
) -> Iterator[tuple[str, contextlib.AbstractContextManager[object]]]:
    yield "torch's default dtype", _default_dtype(torch.float64)
    yield "torch.no_grad()", torch.no_grad()
    yield "torch.inference_mode()", torch.inference_mode()
    yield "the working folder", _folder()
    yield "environment variables", _variables(dict.fromkeys([*os.environ, *variables]))
    for name in variables:
        for value in values:
            yield f"the environment variable {name}", _variables({name: value})


@contextlib.contextmanager
def _default_dtype(dtype: torch.dtype) -> Iterator[None]:
    usual = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(usual)


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    usual = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(usual)


@contextlib.contextmanager
def _folder() -> Iterator[None]:
    usual = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(usual)


@contextlib.contextmanager
def _variables(changes: dict[str, str | None]) -> Iterator[None]:
    """Set variables, and remove those whose value is None; kernels in C see it too."""
    usual = dict(os.environ)
    for name, value in changes.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
    try:
        yield
    finally:
        os.environ.update(usual)
        for name in set(os.environ) - set(usual):
            del os.environ[name]
