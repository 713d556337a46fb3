"""The gradient at exactly zero, where a formula for it may divide zero by zero."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch

from oneop.testing.case import Case
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.agreement import call_reference
from oneop.testing.families.gradients.inputs import differentiable, floating

#: Two steps: slopes of both, on both sides, are alike where there is a derivative.
_STEPS = {torch.float64: (1e-3, 1e-4)}
_NARROW_STEPS = (3e-2, 1e-2)
_ALIKE = 2e-2


def cases_at_zero(cases: Sequence[Case]) -> list[Case]:
    """Return these calls with one input of zeros after the other, and with all of them."""
    at_zero = []
    for case in cases:
        places = [i for i, flag in enumerate(differentiable(case)) if flag and case.tensors[i].bounds is None]
        for zeros in [*([place] for place in places), *([places] if len(places) > 1 else [])]:
            tensors = [replace(recipe, fill="zeros") if i in zeros else recipe for i, recipe in enumerate(case.tensors)]
            at_zero.append(replace(case, tensors=tuple(tensors)))
    return at_zero


def is_at_zero(case: Case) -> bool:
    """Tell whether a call is one of these."""
    return any(recipe.fill == "zeros" for recipe in case.tensors)


def gradient_is_a_number(case: Case) -> None:
    """Where the op has a derivative, the gradient is finite. Raises `Broken`."""
    flags = differentiable(case)
    tensors = [tensor.requires_grad_(flag) for tensor, flag in zip(case.make(), flags, strict=True)]
    results = [result for result in floating(case.run(tensors)) if result.requires_grad]
    leaves = [tensor for tensor in tensors if tensor.requires_grad]
    if not results or not leaves or not all(bool(result.isfinite().all()) for result in results):
        raise NotForThis
    grads = iter(torch.autograd.grad(results, leaves, [torch.ones_like(r) for r in results], allow_unused=True))
    plain = [tensor.detach() for tensor in tensors]
    for place, tensor in enumerate(tensors):
        grad = next(grads) if tensor.requires_grad else None
        if grad is None or grad.is_complex() or bool(grad.isfinite().all()):
            continue
        element = int((~grad.isfinite()).flatten().nonzero()[0])
        slope = _slope(case, plain, place, element)
        other = _of_reference(case, place, element) if slope is None else None
        if other is not None:
            raise Broken(
                f"the gradient of {case.names()[place]} is {float(grad.flatten()[element])} at zero, where that of the "
                f"reference is {other:.3g}: element {element}"
            )
        if slope is not None:
            raise Broken(
                f"the gradient of {case.names()[place]} is {float(grad.flatten()[element])} at zero, where the "
                f"numerical one is {slope:.3g}: element {element}"
            )


def _of_reference(case: Case, place: int, element: int) -> float | None:
    """Return what torch says of the reference there, or None where that is no number either, or there is none."""
    if case.subject.hints.reference is None:
        return None
    flags = differentiable(case)
    tensors = [tensor.requires_grad_(flag) for tensor, flag in zip(case.make(), flags, strict=True)]
    try:
        results = [result for result in floating(call_reference(case, tensors)) if result.requires_grad]
        grads = torch.autograd.grad(results, tensors[place], [torch.ones_like(r) for r in results], allow_unused=True)
    except Exception:
        return None
    value = float(grads[0].flatten()[element]) if grads[0] is not None else math.nan
    return value if math.isfinite(value) else None


def _slope(case: Case, tensors: Sequence[torch.Tensor], place: int, element: int) -> float | None:
    """Return the derivative of the sum of all results by one element, or None where there is none."""

    def total(by: float) -> float:
        moved = [tensor.clone() for tensor in tensors]
        moved[place].view(-1)[element] += by
        with torch.no_grad():
            return float(sum(result.double().sum() for result in floating(case.run(moved)) if not result.is_complex()))

    at = total(0.0)
    slopes = []
    for step in _STEPS.get(tensors[place].dtype, _NARROW_STEPS):
        slopes += [(total(step) - at) / step, (at - total(-step)) / step]
    if not all(map(math.isfinite, slopes)) or max(slopes) - min(slopes) > _ALIKE * max(1.0, *map(abs, slopes)):
        return None
    return sum(slopes) / len(slopes)
