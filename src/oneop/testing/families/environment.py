"""What a result must not depend on: settings of torch, the number of threads, environment variables, the folder."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import torch

from oneop.testing.case import Case
from oneop.testing.compare import assert_close, assert_same, largest_value
from oneop.testing.domain.source_values import environment_variables
from oneop.testing.families.context import Context, usual_cases
from oneop.testing.report import Outcome


def environment(context: Context) -> Outcome:
    """Results do not depend on the process around the call."""
    variables = environment_variables(context.subject.op)

    def holds(case: Case) -> None:
        expected = [result.clone() for result in case.run(case.make())]
        for what, setting in _settings(variables):
            with setting:
                results = case.run(case.make())
            assert_same(expected, results, f"the result depends on {what}", context.output_names())
        for threads in (1, 3):
            with _threads(threads):
                results = case.run(case.make())
            what = f"the result depends on the number of threads, here {threads}"
            scale = largest_value(case.make())
            assert_close(expected, results, what, context.output_names(), scale=scale)

    return context.run("environment", usual_cases(context, (67, 40_000)), holds)


def _settings(variables: list[str]) -> Iterator[tuple[str, contextlib.AbstractContextManager[object]]]:
    yield "torch's default dtype", _default_dtype(torch.float64)
    yield "torch.no_grad()", torch.no_grad()
    yield "torch.inference_mode()", torch.inference_mode()
    yield "the working folder", _folder()
    yield "environment variables", _variables(dict.fromkeys([*os.environ, *variables]))
    for name in variables:
        for value in ("0", "1"):
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
