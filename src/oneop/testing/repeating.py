"""`repeat`: one family of checks on one call, as the programs do that a failed check prints."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from oneop.testing.case import Case
from oneop.testing.checker import run_check
from oneop.testing.report import CheckReport
from oneop.testing.subject import make_hints, subject_of
from oneop.testing.values import TensorCase

if TYPE_CHECKING:
    from oneop._core import Op


def tensor_case(shape: Sequence[int], dtype: torch.dtype, **options: Any) -> TensorCase:
    """Return the recipe of a tensor; `options` are those of `oneop.testing.tensor`."""
    return TensorCase(tuple(shape), dtype, **options)


def repeat(
    op: str | Op,
    family: str,
    tensors: Sequence[TensorCase],
    *,
    counts: Sequence[int] | None = None,
    attrs: Mapping[str, Any] | None = None,
    device: str = "cpu",
    reference: Callable[..., Any] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> CheckReport:
    """Verify one family of checks on one call, and return the report.

    Args:
        op: the op, or its name.
        family: one of `oneop.testing.FAMILIES`.
        tensors: the input tensors, one after the other.
        counts: how many of them each input has; by default as many as the schema says.
        attrs: the attributes of the call.
        device: where it runs.
        reference: a function of the same arguments, written with torch; else the one given to `testing.reference`.
        rtol: how far results may differ, relative to their size; by default derived from dtype and inputs.
        atol: the same, absolute.

    Raises:
        OpCheckFailed: it failed. It is an `AssertionError`; its text is the report.
    """
    case = repeated_case(
        op,
        family,
        tensors,
        counts=counts,
        attrs=attrs,
        device=device,
        reference=reference,
        rtol=rtol,
        atol=atol,
    )
    report = run_check(op, case.subject.hints, only=[family], case=case)
    report.raise_if_failed()
    return report


def repeated_case(
    op: str | Op,
    family: str,
    tensors: Sequence[TensorCase],
    *,
    counts: Sequence[int] | None = None,
    attrs: Mapping[str, Any] | None = None,
    device: str = "cpu",
    **hints: Any,
) -> Case:
    """Return the call that `repeat` repeats with these arguments."""
    known = make_hints(shapes=(), attrs=None, values=None, **{"reference": None, "rtol": None, "atol": None, **hints})
    subject = subject_of(op, known)
    usual = tuple(max(arg.count, 1) for arg in subject.op.inputs)
    return Case(
        subject=subject,
        counts=tuple(counts) if counts is not None else usual,
        tensors=tuple(tensors),
        attrs=tuple((attrs or {}).items()),
        device=device,
    )
