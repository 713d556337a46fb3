"""NaN, infinities, and zeros with their sign."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import torch

from oneop.testing.accuracy import widened
from oneop.testing.case import Case, Restriction
from oneop.testing.compare import assert_close
from oneop.testing.explore import Broken, NotForThis
from oneop.testing.families.agreement import call_reference, kernels_agree, reference_agrees
from oneop.testing.families.context import Context, skipped, usual_cases
from oneop.testing.report import PASSED, Outcome


def special_values(context: Context) -> Outcome:
    """NaN, infinities and zeros come out as in the reference, or at least alike from all kernels."""

    def holds(case: Case) -> None:
        if not any(tensor.dtype.is_floating_point for tensor in case.tensors):
            raise NotForThis
        case.run(case.make())
        if context.subject.hints.reference is not None:
            _agrees_up_to_kinds(context, case)
            with contextlib.suppress(NotForThis):  # no sign is expected: the values were compared
                zeros_agree(context, case)
        else:
            kernels_agree(context, case)

    outcome = context.explore("special values", Restriction(fills=("special",), sizes=(5, 1, 8, 17)), holds)
    if context.subject.hints.reference is not None and outcome.status == PASSED:
        usual = usual_cases(context, (5,))
        equal = [case.like(fill=fill) for case in usual for fill in ("zeros", "equal", "lowest", "highest")]
        hidden = [other for case in usual for other in _with_one_of_infinities(case)]
        more = context.run(
            "special values",
            [*equal, *hidden],
            lambda case: _floats_agree(context, case, _agrees_up_to_kinds if case in hidden else _agrees_or_knows_more),
        )
        return more if more.failure else replace(outcome, cases=outcome.cases + more.cases)
    return outcome if outcome.cases or outcome.failure else skipped("special values", "nothing to compare with")


def _agrees_up_to_kinds(context: Context, case: Case) -> None:
    """Compare with the reference. Of an op that mixes elements, NaN and infinities among them may give either."""
    try:
        reference_agrees(context, case)
    except Broken:
        if keeps_elements_apart(case):
            raise
        tensors = case.make()
        expected, results = call_reference(case, [tensor.clone() for tensor in tensors]), case.run(tensors)
        pairs = list(zip(expected, results, strict=False))
        if any(right.shape != result.shape or right.dtype != result.dtype for right, result in pairs):
            raise
        if not any(bool((_kinds(right) != _kinds(result)).any()) for right, result in pairs):
            raise  # what differs are finite numbers
        if not _agree_beside(context, pairs, [~right.isfinite() & ~result.isfinite() for right, result in pairs]):
            raise


def _agrees_or_knows_more(context: Context, case: Case) -> None:
    """Compare with the reference. An infinity is right where the reference has NaN only: a mean of infinities."""
    try:
        reference_agrees(context, case)
    except Broken:
        tensors = case.make()
        expected, results = call_reference(case, [tensor.clone() for tensor in tensors]), case.run(tensors)
        pairs = list(zip(expected, results, strict=False))
        if any(right.shape != result.shape or right.dtype != result.dtype for right, result in pairs):
            raise
        if not _agree_beside(context, pairs, [right.isnan() & result.isinf() for right, result in pairs]):
            raise


def _agree_beside(
    context: Context, pairs: Sequence[tuple[torch.Tensor, torch.Tensor]], left_out: Sequence[torch.Tensor]
) -> bool:
    """Tell whether results are those of the reference where some elements are left out."""
    try:
        assert_close(
            [right.masked_fill(mask, 0) for (right, _), mask in zip(pairs, left_out, strict=True)],
            [result.masked_fill(mask, 0) for (_, result), mask in zip(pairs, left_out, strict=True)],
            "",
            context.output_names(),
            scale=1.0,
        )
    except Broken:
        return False
    return True


def _kinds(tensor: torch.Tensor) -> torch.Tensor:
    """Return a number for each element: 0 for a finite one, and one for each of NaN and the infinities."""
    return tensor.isnan() + 2 * tensor.isposinf() + 3 * tensor.isneginf() if tensor.is_floating_point() else 0 * tensor


def _with_one_of_infinities(case: Case) -> Iterator[Case]:
    """Yield calls with -inf everywhere in one input: a mask that is added hides all of a row."""
    places = [place for place, recipe in enumerate(case.tensors) if recipe.dtype.is_floating_point]
    for place in places if len(places) > 1 else ():
        tensors = [replace(recipe, fill="lowest") if i == place else recipe for i, recipe in enumerate(case.tensors)]
        yield replace(case, tensors=tuple(tensors))


def _floats_agree(context: Context, case: Case, agree: Callable[[Context, Case], None]) -> None:
    """Compare with the reference where all values are equal; of ties any place is right, so only floating results."""
    if case.subject.hints.values or not all(tensor.dtype.is_floating_point for tensor in case.tensors):
        raise NotForThis
    if not all(result.is_floating_point() for result in case.run(case.make())):
        raise NotForThis
    agree(context, case)


def zeros_agree(context: Context, case: Case) -> None:
    """Zeros have the sign of the limit that the reference has there. Raises `Broken`.

    Where an input is -0.0 or 0.0, the reference also runs on a small number of that sign. Only where its result has the
    sign of its zero does that sign mean something: `max(x, 0)` may give either for -0.0. Of ops that mix elements no
    sign is expected: a sum may begin with 0.0 or with its first term, and of equal zeros any one may be taken.
    """
    if context.subject.infer_kind() not in ("elementwise", "broadcast") and not keeps_elements_apart(case):
        raise NotForThis
    tensors = case.make()
    wide = [widened(tensor) for tensor in tensors]
    beside = [
        torch.where(tensor == 0, torch.copysign(torch.full_like(tensor, 1e-30), tensor), tensor)
        if tensor.is_floating_point()
        else tensor
        for tensor in (widened(tensor) for tensor in tensors)
    ]
    try:
        expected, limit = call_reference(case, wide), call_reference(case, beside)
    except Exception:
        raise NotForThis from None
    for name, zero, near, result in zip(context.output_names(), expected, limit, case.run(tensors), strict=False):
        if not zero.is_floating_point() or not result.is_floating_point():
            continue
        if zero.shape != result.shape or zero.shape != near.shape:
            continue  # of sizes that depend on data
        means_something = (zero == 0) & (near != 0) & near.isfinite() & (zero.signbit() == near.signbit())
        wrong = means_something & (result == 0) & (result.signbit() != zero.signbit())
        if bool(wrong.any()):
            place = int(wrong.flatten().nonzero()[0])
            sign = "-0.0" if bool(zero.flatten()[place].signbit()) else "0.0"
            raise Broken(
                f"a zero has the wrong sign: element {place} of {name} is {float(result.flatten()[place])}, "
                f"expected {sign}, the limit from that side"
            )


def keeps_elements_apart(case: Case) -> bool:
    """Tell whether the reference makes each element of a result of the elements at its place: it is tried for some."""
    shapes = {recipe.shape for recipe in case.tensors}
    if len(shapes) != 1 or not all(size > 1 for shape in shapes for size in shape):
        return False
    wide = [widened(tensor) for tensor in case.like(fill="plain").make()]
    try:
        results = [result.flatten() for result in call_reference(case, [tensor.clone() for tensor in wide])]
        count = wide[0].numel()
        if any(result.numel() != count for result in results):
            return False
        for place in {0, count // 2, count - 1}:
            changed = [tensor.clone().contiguous() for tensor in wide]
            for tensor in changed:
                tensor.view(-1)[place] += 1
            for before, after in zip(results, call_reference(case, changed), strict=True):
                differs = (before != after.flatten()).nonzero().flatten().tolist()
                if any(at != place for at in differs):
                    return False
    except Exception:
        return False
    return True
