"""The first gradient: against a numerical one, that of wider dtypes and that of the reference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from oneop.errors import GradientNotFoundError
from oneop.testing.accuracy import NARROW, widened, widened_dtype
from oneop.testing.case import Case, Restriction
from oneop.testing.compare import assert_close, largest_value
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.agreement import call_reference
from oneop.testing.families.context import (
    Context,
    template_cases,
    together,
    with_each_attribute,
    with_pairs_of_attributes,
)
from oneop.testing.families.gradients.inputs import (
    WANTED,
    WIDE,
    floating,
    has_wide,
    inputs_with_grad,
    is_wide,
    obstacle,
)
from oneop.testing.families.gradients.numerical import function_of, gradcheck_lines, run_gradcheck, worst_difference
from oneop.testing.report import FAILED, MISSING, PASSED, Outcome, call_text

#: Dtypes whose gradients are compared with those of wide ones.
_NARROW = (*NARROW, torch.complex64)
#: Of each kind of call, tried beside drawn calls.
_MOST_TEMPLATES = 8
#: All alike, and each axis with one element among longer ones; the last are all different and longer than one.
_SIZES = ((2,), (1, 2, 3), (2, 1, 3), (3, 2, 1), (2, 3, 4))


def gradient(context: Context) -> Outcome:
    """The registered gradient is the numerical one."""
    stop = obstacle(context, "gradient")
    if stop is not None:
        return stop
    wide = has_wide(context)
    wanted = Restriction(sizes=WANTED.sizes, dtypes=WIDE if wide else (torch.float32, torch.complex64))
    check = _check_wide if wide else _check_narrow
    try:
        outcome = context.explore("gradient", wanted, lambda case: check(context, case), examples=12)
        if outcome.status == PASSED and context.repeat is None:
            each = [
                case
                for sizes in _SIZES
                for case in template_cases(context, dtypes=wanted.dtypes, sizes=sizes, most=_MOST_TEMPLATES)
            ]
            axes = [case for case in each if max(map(len, (t.shape for t in case.tensors)), default=0) == 3][-1:]
            each += [other for case in axes for other in with_each_attribute(context, case)]
            outcome = together(outcome, context.run("gradient", each, lambda case: check(context, case)))
            pairs = [pair for case in each[:1] for pair in with_pairs_of_attributes(context, case)]
            outcome = together(outcome, context.run("gradient", pairs, lambda case: check(context, case)))
            alone = _narrow_alone(context) if wide else []
            outcome = together(outcome, context.run("gradient", alone, lambda case: _check_narrow(context, case)))
        if outcome.status in (FAILED, MISSING) or not wide:
            return outcome
        narrow = Restriction(sizes=WANTED.sizes, dtypes=_NARROW)
        other = context.explore("gradient", narrow, lambda case: _narrow_agrees(context, case), examples=12)
    except GradientNotFoundError as error:
        return Outcome(family="gradient", status=MISSING, note=str(error).splitlines()[0])
    return other if other.status == FAILED else replace(outcome, cases=outcome.cases + other.cases)


def _check_wide(context: Context, case: Case) -> None:
    tensors = inputs_with_grad(case)
    if not any(result.requires_grad for result in floating(case.run(tensors))):
        raise NotForThis
    if not is_wide(case, tensors):
        return _check_narrow(context, case)  # a numerical derivative of narrow inputs or results is coarse
    function = function_of(case)
    if run_gradcheck(torch.autograd.gradcheck, function, tensors) is None:
        _like_reference(context, case, tensors)
        return
    again = inputs_with_grad(case.like(seed=case.tensors[0].seed + 11))
    error = run_gradcheck(torch.autograd.gradcheck, function, again)
    if error is None:
        raise NotForThis  # a kink that one sample hit
    if _is_that_of_reference(context, case, again):
        return
    raise Broken(
        worst_difference(case, again, steps=(1e-6,), bound=1e-4) or error,
        *gradcheck_lines(case, "gradcheck"),
    )


def _check_narrow(context: Context, case: Case) -> None:
    """The same in float32, where only a coarse numerical gradient can be had."""
    tensors = inputs_with_grad(case)
    if not any(result.requires_grad for result in floating(case.run(tensors))):
        raise NotForThis
    if worst_difference(case, tensors, steps=(1e-2, 3e-3, 1e-3), bound=2e-2) is None:
        _like_reference(context, case, tensors)
        return
    again = inputs_with_grad(case.like(seed=case.tensors[0].seed + 11))
    worst = worst_difference(case, again, steps=(1e-2, 3e-3, 1e-3), bound=2e-2)
    if worst is None:
        raise NotForThis
    if _is_that_of_reference(context, case, again):
        return
    names = [name for name, tensor in zip(case.names(), tensors, strict=True) if tensor.requires_grad]
    grads = ", ".join(f"{name}.requires_grad_()" for name in names)
    raise Broken(worst, grads, f"print(torch.autograd.grad({call_text(case)}.sum(), [{', '.join(names)}]))")


def _narrow_alone(context: Context) -> list[Case]:
    """Return calls of narrow dtypes that have no wide counterpart to be compared with."""
    dtypes = (torch.float32, torch.complex64)
    cases = template_cases(context, dtypes=dtypes, sizes=(2,), most=_MOST_TEMPLATES)
    return [case for case in cases if not _has_counterpart(context, case)]


def _has_counterpart(context: Context, case: Case) -> bool:
    """Tell whether the op takes the same call with wide dtypes in place of narrow ones."""
    dtypes = tuple(widened_dtype(recipe.dtype) for recipe in case.tensors)
    return any(choice.dtypes == dtypes and choice.counts == case.counts for choice in context.domain.choices)


def _narrow_agrees(context: Context, case: Case) -> None:
    """The gradient of a narrow dtype is that of float64 for the same numbers, as far as the dtype goes."""
    is_narrow = any(recipe.dtype in _NARROW for recipe in case.tensors)
    if not is_narrow or context.subject.is_random or not _has_counterpart(context, case):
        raise NotForThis
    tensors = inputs_with_grad(case)
    wide = [widened(tensor).requires_grad_(tensor.requires_grad) for tensor in tensors]
    sides = []
    for inputs in (wide, tensors):
        results = [result for result in floating(case.run(inputs)) if result.requires_grad]
        if not results or not all(bool(result.isfinite().all()) for result in results):
            raise NotForThis
        weights = [_weights(result, number) for number, result in enumerate(results)]
        leaves = [tensor for tensor in inputs if tensor.requires_grad]
        sides.append(torch.autograd.grad(results, leaves, weights, allow_unused=True))
    names = [name for name, tensor in zip(case.names(), tensors, strict=True) if tensor.requires_grad]
    dtype = str(min((t.dtype for t in tensors if t.dtype in _NARROW), key=str)).removeprefix("torch.")
    for name, expected, actual in zip(names, *sides, strict=True):
        if (expected is None) != (actual is None):
            raise Broken(f"the gradient of {name} is there in one of {dtype} and float64 only")
        if expected is not None and actual is not None and bool(expected.isfinite().all()):
            what = f"the gradient in {dtype} differs from that in float64"
            assert_close([expected], [actual], what, [name], scale=largest_value(tensors), check_dtype=False)


def _is_that_of_reference(context: Context, case: Case, tensors: Sequence[torch.Tensor]) -> bool:
    """Tell whether a gradient that is not the numerical one is that of the reference, as a straight-through one is."""
    try:
        is_judged = _like_reference(context, case, tensors)
    except Broken:
        return False
    if is_judged:
        context.by_reference.add("gradient")
    return is_judged


def _like_reference(context: Context, case: Case, tensors: Sequence[torch.Tensor]) -> bool:
    """The gradient is also the one that torch finds for the reference, where the reference is a judge of it.

    It is none where it is not made of differentiable ops, fails on tensors that require gradients, or has a gradient
    that is not finite, as `torch.where` does whose other branch divides by zero. Returns whether it judged all.
    """
    hints = context.subject.hints
    if hints.reference is None or context.subject.is_random:
        return False
    own = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in tensors]
    try:
        expected = call_reference(case, own)
    except Exception:
        return False  # written for numbers alone: the family `reference` runs it on those
    results = case.run(tensors)
    pairs = [
        pair
        for pair in zip(results, expected, strict=False)
        if all(result.requires_grad and not result.is_complex() for result in pair)
    ]
    if not pairs:
        return False
    sides = []
    for place, inputs in enumerate((tensors, own)):
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        # Weights that do not depend on the results: rounding of a large result must not become that of its gradient.
        parts = [(_weights(pair[place], number) * pair[place]).sum() for number, pair in enumerate(pairs)]
        try:
            sides.append(torch.autograd.grad(torch.stack(parts).sum(), wanted, allow_unused=True))
        except RuntimeError:
            if inputs is own:
                return False  # torch has none for this call
            raise
    is_judged = len(pairs) == sum(result.requires_grad for result in results)
    names = [name for name, tensor in zip(case.names(), tensors, strict=True) if tensor.requires_grad]
    for grad, other, name in zip(*sides, names, strict=True):
        if grad is None or other is None:
            is_judged &= grad is other
            continue
        judged = other.isfinite()
        is_judged &= bool(judged.all())
        assert_close(
            [other.where(judged, 0)],
            [grad.where(judged, 0)],
            "the gradient differs from that of the reference",
            [name],
            rtol=hints.rtol,
            atol=hints.atol,
            scale=1.0,
        )
    return is_judged


def _weights(result: torch.Tensor, number: int) -> torch.Tensor:
    places = torch.arange(result.numel(), device=result.device, dtype=torch.float64).reshape(result.shape)
    return torch.cos(places + number).to(result.dtype)
