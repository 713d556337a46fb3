"""Calls that can be differentiated: which inputs, of which dtypes, and inputs that require gradients."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from oneop.testing.case import Case, Restriction
from oneop.testing.explore import NotForThis
from oneop.testing.families.context import Context, skipped
from oneop.testing.report import MISSING, Outcome

MOST_ELEMENTS = 24
#: Dtypes with the digits for a fine numerical derivative.
WIDE = (torch.float64, torch.complex128)
WANTED = Restriction(sizes=(2, 1, 3), most_elements=MOST_ELEMENTS)


def differentiable(case: Case) -> list[bool]:
    """Return for each tensor whether a gradient may flow to it."""
    args = [arg for arg, n in zip(case.subject.op.inputs, case.counts, strict=True) for _ in range(n)]
    return [
        arg.requires_grad and not arg.is_mutable and (recipe.dtype.is_floating_point or recipe.dtype.is_complex)
        for arg, recipe in zip(args, case.tensors, strict=True)
    ]


def inputs_with_grad(case: Case) -> list[torch.Tensor]:
    """Return new inputs that require gradients where they may; positive ones if the function is not finite else."""
    flags = differentiable(case)
    if not any(flags) or sum(t.numel() for t in case.make()) > MOST_ELEMENTS:
        raise NotForThis
    for chosen in (case, case.like(fill="positive")):
        tensors = [t.requires_grad_(flag) for t, flag in zip(chosen.make(), flags, strict=True)]
        with torch.no_grad():
            results = floating(case.run([t.detach() for t in tensors]))
        if results and all(bool(torch.isfinite(result).all()) for result in results):
            return tensors
    raise NotForThis


def floating(results: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Return those results that can have a gradient."""
    return [result for result in results if result.dtype.is_floating_point or result.dtype.is_complex]


def has_wide(context: Context) -> bool:
    """Tell whether the op takes inputs with the digits for a fine numerical derivative."""
    return any(dtype in WIDE for choice in context.domain.choices for dtype in choice.dtypes)


def is_wide(case: Case, tensors: Sequence[torch.Tensor]) -> bool:
    """Tell whether all inputs that are differentiated, and all results, have the digits for a fine step."""
    leaves = [tensor for tensor in tensors if tensor.requires_grad]
    results = floating(case.run([tensor.detach() for tensor in tensors]))
    return all(tensor.dtype in WIDE for tensor in (*leaves, *results))


def obstacle(context: Context, family: str) -> Outcome | None:
    """Return why gradients cannot be looked at, or None."""
    op = context.subject.op
    if op.no_grad:
        return skipped(family, "declared as not differentiable")
    if any(arg.is_mutable for arg in op.inputs):
        return skipped(family, "changes an input in place")
    has_composition = any(kernel.language == "torch" for kernel in op.kernels)
    dtypes = {dtype for choice in context.domain.choices for dtype in choice.dtypes}
    if not any(dtype.is_floating_point or dtype.is_complex for dtype in dtypes):
        return skipped(family, "no floating inputs")
    if op.grad is None and not has_composition:
        return Outcome(
            family=family,
            status=MISSING,
            note="no gradient is registered, and the op is not declared without one",
        )
    return None
