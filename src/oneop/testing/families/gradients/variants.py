"""Gradients asked for in other ways: of one input alone, for other layouts of the gradient, of large tensors, at 0."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from oneop.testing.accuracy import widened
from oneop.testing.case import Case, inferred_shapes
from oneop.testing.compare import assert_close, largest_value, same_bits
from oneop.testing.explore import MANY_ELEMENTS, Broken, NotForThis, first_lines
from oneop.testing.families.agreement import call_reference
from oneop.testing.families.context import Context, skipped, usual_cases, with_each_attribute
from oneop.testing.families.gradients.at_zero import cases_at_zero, gradient_is_a_number, is_at_zero
from oneop.testing.families.gradients.inputs import differentiable, floating, obstacle
from oneop.testing.report import MISSING, Outcome


def gradient_variants(context: Context) -> Outcome:
    """However a gradient is asked for, it is the same one; of large values and tensors that of the reference."""
    stop = obstacle(context, "gradient variants")
    if stop is not None:
        return stop if stop.status != MISSING else skipped("gradient variants", "no gradient")
    if context.subject.is_random:
        return skipped("gradient variants", "the op is random: no two calls of it are compared")
    small = usual_cases(context, (5,))
    cases = [*small, *usual_cases(context, (_LONG,)), *usual_cases(context, (_LONG,), is_first=True)]
    if context.subject.hints.reference is not None and not context.subject.hints.values:
        cases += [case.like(fill="large") for case in small]
        # A forward that an attribute does not change, such as the index of padding, has another gradient by it. Numbers
        # of "full" equal no attribute: where an op bends, gradients may differ.
        cases += [case.like(fill="full") for case in with_each_attribute(context, small[0])] if small else []

    def holds(case: Case) -> None:
        if is_at_zero(case):
            gradient_is_a_number(case)
            return
        whole = _gradients(case, differentiable(case))
        if whole is None:
            raise NotForThis
        names = [f"the gradient of {name}" for name in case.names()]
        scale = largest_value(case.make())
        expanded = _gradients(case, differentiable(case), layout="expanded")
        _assert_alike(whole, expanded, "for a gradient that is expanded (as that of sum() is)", names, scale)
        flags = differentiable(case)
        if case.size[0] < MANY_ELEMENTS and any(len(shape) >= 2 for shape in inferred_shapes(case) or ()):
            for pair, what in _LAYOUTS.items():
                plain, other = _in_layouts(case, flags, pair, what)
                if plain is not None:
                    _assert_alike(plain, other, what, names, scale)
        for place in [i for i, flag in enumerate(flags) if flag] if sum(flags) > 1 else []:
            alone = _gradients(case, [i == place for i in range(len(flags))])
            if alone is not None:
                expected = [grad if i == place else None for i, grad in enumerate(whole)]
                _assert_alike(expected, alone, f"where {case.names()[place]} alone requires grad", names, scale)
        if context.subject.hints.reference is None or "reference" in context.failed:
            return
        if _has_short_rows(case):  # the gradients of long rows are compared in the call that has these
            _assert_sums_alike(_of_reference(case), whole, names)
        else:
            _assert_alike(_of_reference(case), whole, "the gradient differs from that of the reference", names, scale)

    return context.run("gradient variants", [*cases, *cases_at_zero(small)], holds)


#: Elements of the long axis, and what part of the largest sum over it may be missing.
_LONG, _MISSING = 70_001, 5e-4
Gradients = Sequence[torch.Tensor | None]
#: Layouts of the gradient of an output: a plain one and one with the same values.
_LAYOUTS = {
    ("rows", "expanded rows"): "for a gradient whose first axis is expanded (as that of sum(0) is)",
    ("different", "transposed"): "for a gradient that is transposed",
}


def _weights(result: torch.Tensor, layout: str) -> torch.Tensor:
    """Return a gradient of an output in some layout: all ones, alike in each row, or all different."""
    if layout in ("ones", "expanded"):
        ones = torch.ones((), dtype=result.dtype, device=result.device).expand(result.shape)
        return ones if layout == "expanded" else ones.contiguous()
    numbers = torch.linspace(0.5, 1.5, result.numel(), dtype=torch.float64).view(result.shape)
    weights = numbers.to(result.dtype).to(result.device)
    if "rows" in layout and result.ndim:
        weights = weights[:1].expand(result.shape)
    if layout == "transposed" and result.ndim >= 2:
        return weights.transpose(0, -1).contiguous().transpose(0, -1)
    return weights if "expanded" in layout else weights.contiguous()


def _gradients(case: Case, flags: Sequence[bool], *, layout: str = "ones") -> Gradients | None:
    """Return one gradient for each tensor, None where there is none; None if nothing can be differentiated."""
    tensors = [tensor.requires_grad_(flag) for tensor, flag in zip(case.make(), flags, strict=True)]
    return _differentiate(floating(case.run(tensors)), tensors, layout=layout)


def _in_layouts(
    case: Case, flags: Sequence[bool], layouts: tuple[str, str], what: str
) -> tuple[Gradients | None, Gradients | None]:
    """Return the gradients for a plain gradient of the output, and for one of the same values in another layout."""
    plain = _gradients(case, flags, layout=layouts[0])
    try:
        return plain, _gradients(case, flags, layout=layouts[1])
    except Exception as error:
        raise Broken(f"{what}, the gradient raises {type(error).__name__}: {first_lines(error)}") from error


def _differentiate(
    results: Sequence[torch.Tensor], tensors: Sequence[torch.Tensor], *, layout: str = "ones"
) -> Gradients | None:
    wanted = [result for result in results if result.requires_grad]
    leaves = [tensor for tensor in tensors if tensor.requires_grad]
    if not wanted or not leaves or not all(bool(result.isfinite().all()) for result in wanted):
        return None
    weights = [_weights(result, layout) for result in wanted]
    watched = [(f"gradient of result {i}", weight) for i, weight in enumerate(weights)]
    watched += [(f"input {i}", tensor) for i, tensor in enumerate(tensors)]
    before = [tensor.detach().clone() for _, tensor in watched]
    grads = iter(torch.autograd.grad(wanted, leaves, weights, allow_unused=True))
    for (what, tensor), old in zip(watched, before, strict=True):
        if not same_bits(old, tensor.detach()):
            raise Broken(f"the gradient changes the {what} in place, which others may read")
    return [next(grads) if tensor.requires_grad else None for tensor in tensors]


def _of_reference(case: Case) -> Gradients:
    """Return the reference's gradients in float64, None where it is no judge."""
    flags = differentiable(case)
    tensors = [widened(tensor).requires_grad_(flag) for tensor, flag in zip(case.make(), flags, strict=True)]
    try:
        grads = _differentiate(floating(call_reference(case, tensors)), tensors)
    except Exception:
        grads = None  # written for numbers alone
    return grads if grads is not None else [None] * len(tensors)


def _assert_alike(expected: Gradients, actual: Gradients | None, what: str, names: Sequence[str], scale: float) -> None:
    for name, grad, other in zip(names, expected, actual or [None] * len(expected), strict=False):
        if grad is None or not bool(grad.isfinite().all()):
            continue
        if other is None:
            other = torch.zeros_like(grad)
        grad, other = _within_range(grad, other)
        assert_close([grad], [other], what, [name], scale=max(scale, 1.0), check_dtype=False)


def _has_short_rows(case: Case) -> bool:
    shape = case.tensors[0].shape if case.tensors else ()
    return len(shape) > 1 and shape[0] == _LONG


def _assert_sums_alike(expected: Gradients, actual: Gradients, names: Sequence[str]) -> None:
    """Compare gradients that are sums over many rows. Those of the rows are not: a short row may cancel wholly."""
    for name, grad, other in zip(names, expected, actual, strict=False):
        if grad is None or grad.numel() >= _LONG or not bool(grad.isfinite().all()):
            continue
        grad, other = _within_range(grad, torch.zeros_like(grad) if other is None else other)
        least = 4 * torch.finfo(other.dtype).eps if other.dtype.is_floating_point else 0.0
        limit = max(_MISSING, least) * float(grad.abs().max() if grad.numel() else 0.0) + _MISSING
        if bool(((other.to(grad.dtype) - grad).abs() > limit).any()):
            assert_close([grad], [other], "the gradient differs from that of the reference", [name], check_dtype=False)


def _within_range(expected: torch.Tensor, actual: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Leave out elements that the dtype of the gradient does not hold: a sum of 70,001 is inf in float16."""
    if not actual.dtype.is_floating_point:
        return expected, actual
    beyond = (expected.abs() > 0.98 * torch.finfo(actual.dtype).max) & ~actual.isnan()
    return expected.masked_fill(beyond, 0.0), actual.masked_fill(beyond, 0.0)
