"""Kernels against each other, and against the reference."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from oneop.errors import KernelNotFoundError
from oneop.runtime.core import core
from oneop.testing.accuracy import LOW, NARROW, Bound, Statistics, bounds_of, widened, within, working_dtype
from oneop.testing.case import Case, Restriction
from oneop.testing.compare import assert_close, assert_same_kind, describe, difference, largest_value
from oneop.testing.edges.calls import is_exact, with_inexact_numbers_moved
from oneop.testing.edges.jumps import ATTRIBUTE_FACTORS, left_open, sharpened, with_steps_off
from oneop.testing.explore import Broken, NotForThis, ReferenceRefuses, first_lines
from oneop.testing.families.context import Context, skipped, template_cases, together
from oneop.testing.report import FAILED, PASSED, Failure, Outcome
from oneop.testing.values import UNUSUAL_FILLS


def kernels(context: Context) -> Outcome:
    """Kernels that take the same call give the same result; one for a narrow dtype, that of a wide one."""

    def holds(case: Case) -> None:
        kernels_agree(context, case)

    outcome = context.explore("kernels", Restriction(), holds)
    if outcome.status == PASSED and context.repeat is None:
        outcome = together(outcome, context.run("kernels", template_cases(context), holds))
    advice = "" if context.subject.hints.reference is not None else ": give a reference"
    return outcome if outcome.cases or outcome.failure else skipped("kernels", f"only one kernel{advice}")


def reference(context: Context) -> Outcome:
    """Results are those of the reference function."""
    if context.subject.hints.reference is None:
        return skipped("reference", "none given")
    refusals: dict[str, str] = {}  # what the reference said, and the call

    def holds(case: Case) -> None:
        try:
            reference_agrees(context, case)
        except ReferenceRefuses as error:
            refusals.setdefault(str(error), str(case))
            raise

    outcome = context.explore("reference", Restriction(), holds)
    if outcome.status == PASSED and context.repeat is None:
        outcome = together(outcome, context.run("reference", template_cases(context), holds))
    if outcome.failure is not None or not refusals:
        return outcome
    text, case = next(iter(refusals.items()))
    if outcome.cases:
        return replace(outcome, note=outcome.note or f"the reference refuses calls that the op takes: {text}")
    message = f"the reference refuses all calls that the op takes: {text}"
    return Outcome(family="reference", status=FAILED, failure=Failure(message=message, case=case, reproduce=()))


def results_of_kernel(case: Case, index: int, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Run one kernel, chosen or not. Raises `KernelNotFoundError` if it does not take the call."""
    subject = case.subject
    arguments = [tensor if subject.op.non_contiguous else tensor.contiguous() for tensor in tensors]
    run = core().KernelRun(subject.name, index, subject.torch_args(case.group(arguments), case.attributes))
    outputs = [torch.empty(shape, dtype=dtype, device=case.device) for shape, dtype in run.outputs]
    tmp = torch.empty(run.tmp_bytes, dtype=torch.uint8, device=case.device)
    return list(run.run(outputs, tmp)) + case.changed(arguments)


def kernels_agree(context: Context, case: Case, *, is_judged: bool = False) -> None:
    """Compare all kernels that take the call, and the widest dtype. Raises `Broken`, or `NotForThis` if it is alone.

    With `is_judged`, the reference has found the result right: it knows better than a wider dtype what roundings do.
    """
    subject, hints = context.subject, context.subject.hints
    if subject.is_random or "kernels" in context.failed:
        raise NotForThis  # each kernel draws numbers of its own, or the failure is known
    tensors = case.make()
    by_kernel: list[tuple[str, list[torch.Tensor]]] = []
    for index, kernel in subject.kernels(case.device):
        try:
            by_kernel.append(
                (f"{kernel.language} kernel at {kernel.source}", results_of_kernel(case, index, case.make()))
            )
        except KernelNotFoundError:
            continue
    compared = 0
    for name, results in by_kernel[1:]:
        assert_close(
            by_kernel[0][1],
            results,
            f"the {name} differs from the {by_kernel[0][0]}",
            context.output_names(),
            rtol=hints.rtol,
            atol=hints.atol,
            scale=largest_value(tensors),
        )
        compared += 1
    wider = None if is_judged else _wider(context, case, tensors)
    if by_kernel and wider is not None:
        dtype = str(tensors[0].dtype).removeprefix("torch.")
        what = f"the {by_kernel[0][0]} on {dtype} differs from {str(wider).removeprefix('torch.')}"
        results = by_kernel[0][1]

        def run_wider(inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
            # `bounds_of` has made float64 of them all.
            return case.run([tensor.to(wider) if tensor.is_floating_point() else tensor for tensor in inputs])

        if hints.rtol is not None or hints.atol is not None:
            assert_within_tolerance(context, what, run_wider(tensors), results, tensors, check_dtype=False)
        else:
            bounds = bounds_of(run_wider, tensors, None, length=reduction_length(context, case))
            assert_accurate(context, what, bounds, results, tensors)
        compared += 1
    if not compared:
        raise NotForThis


def _wider(context: Context, case: Case, tensors: Sequence[torch.Tensor]) -> torch.dtype | None:
    """Return the dtype of a call with more digits that the op takes too: float64, for half precision also float32."""
    narrow = [tensor.dtype for tensor in tensors if tensor.dtype in NARROW]
    if not narrow:
        return None
    for wider in (torch.float64, torch.float32) if all(dtype in LOW for dtype in narrow) else (torch.float64,):
        kinds = {torch.float64: torch.complex128, torch.float32: torch.complex64}
        dtypes = tuple(
            wider if tensor.is_floating_point() else kinds[wider] if tensor.is_complex() else tensor.dtype
            for tensor in tensors
        )
        if any(choice.dtypes == dtypes and choice.counts == case.counts for choice in context.domain.choices):
            return wider
    return None


def reference_agrees(context: Context, case: Case) -> None:
    """Compare a call with the reference. Raises `Broken`."""
    hints = context.subject.hints
    if context.subject.is_random or "reference" in context.failed:
        raise NotForThis  # it draws numbers of its own, or the failure is known
    tensors = case.make()
    is_low = any(tensor.dtype in LOW for tensor in tensors)
    what = "the result differs from the reference"
    own = None
    if is_low:  # torch lacks many ops for these dtypes on the CPU
        with contextlib.suppress(Exception):
            own = call_reference(case, [tensor.clone() for tensor in tensors])
    else:
        own = _taken(case, lambda: call_reference(case, [tensor.clone() for tensor in tensors]))
    by_author = hints.rtol is not None or hints.atol is not None
    if by_author and not is_exact(case):
        wide = [widened(tensor) if tensor.dtype in LOW else tensor.clone() for tensor in tensors]
        expected = _taken(case, lambda: call_reference(case, wide))
        assert_within_tolerance(context, what, expected, case.run(tensors), tensors, check_dtype=not is_low)
        return
    length = reduction_length(context, case)
    try:
        bounds = bounds_of(lambda inputs: call_reference(case, inputs), tensors, own, length=length)
    except Exception as error:
        if own is None:
            raise _refusal(case, error) from None
        assert_within_tolerance(context, what, own, case.run(tensors), tensors, check_dtype=not is_low)
        return
    if is_exact(case):
        moved = {by: with_inexact_numbers_moved(case, by) for by in ATTRIBUTE_FACTORS}
        bounds = sharpened(bounds, lambda inputs, by: call_reference(moved[by], inputs), tensors, own)
    if by_author:
        bounds = [_relaxed(bound, hints.rtol or 0.0, hints.atol or 0.0) for bound in bounds]
    results = case.run(case.make())
    if _is_of_nothing(tensors, [bound.expected for bound in bounds], results):
        raise NotForThis  # the reference has no result for an input without elements
    if own is not None and not is_low:
        assert_same_kind(own, results, what, context.output_names())
    is_large = any(recipe.fill in UNUSUAL_FILLS for recipe in case.tensors)
    try:
        assert_accurate(context, what, bounds, results, tensors, finite_only=is_large)
    except Broken:
        unknown = left_open(lambda inputs, by: call_reference(case, inputs), tensors)
        if unknown and all(unknown):
            raise NotForThis from None
        if not any(unknown) and is_exact(case):
            raise
        if not is_exact(case):
            bounds = with_steps_off(bounds, lambda inputs, by: call_reference(case, inputs), tensors)
        assert_accurate(context, what, bounds, results, tensors, finite_only=is_large, unknown=unknown)


def _taken(case: Case, call: Callable[[], list[torch.Tensor]]) -> list[torch.Tensor]:
    """Return the results of the reference. Raises `ReferenceRefuses` for a call that the op takes and it does not."""
    try:
        return call()
    except Exception as error:
        raise _refusal(case, error) from None


def _refusal(case: Case, error: Exception) -> ReferenceRefuses:
    case.run(case.make())  # which may be refused too
    return ReferenceRefuses(f"{type(error).__name__}: {first_lines(error, 1)}")


def _relaxed(bound: Bound, rtol: float, atol: float) -> Bound:
    """Return a bound that allows at least what the author does."""
    if bound.limit is None:
        return bound
    sizes = bound.expected.abs().double().nan_to_num(0.0, 0.0, 0.0)
    return replace(bound, limit=torch.maximum(bound.limit, rtol * sizes + atol))


def _is_of_nothing(
    tensors: Sequence[torch.Tensor], expected: Sequence[torch.Tensor], results: Sequence[torch.Tensor]
) -> bool:
    """Tell whether an input and what the reference gives have no elements, where the op has results of some.

    So torch's convolutions do without channels, where a sum of nothing would be zeros: they have no rule for it.
    """
    if all(tensor.numel() for tensor in tensors):
        return False
    pairs = zip(expected, results, strict=False)
    return any(result.numel() and not other.numel() and other.ndim == result.ndim for other, result in pairs)


def assert_within_tolerance(
    context: Context,
    what: str,
    expected: Sequence[torch.Tensor],
    actual: Sequence[torch.Tensor],
    tensors: Sequence[torch.Tensor],
    *,
    check_dtype: bool,
) -> None:
    """Compare by a tolerance: the author's, or that of the dtype where no bound can be derived."""
    hints = context.subject.hints
    assert_close(
        expected,
        actual,
        what,
        context.output_names(),
        rtol=hints.rtol,
        atol=hints.atol,
        scale=largest_value(tensors),
        check_dtype=check_dtype,
    )


def assert_accurate(
    context: Context,
    what: str,
    bounds: Sequence[Bound],
    actual: Sequence[torch.Tensor],
    tensors: Sequence[torch.Tensor],
    *,
    finite_only: bool = False,
    unknown: Sequence[bool] = (),
) -> None:
    """Raise `Broken` unless all results are within their bounds; keep the errors for the report.

    With `finite_only`, the reference is no judge where it is not finite: it may overflow where the op does not. Nor is
    it of results that are `unknown`.
    """
    if len(bounds) != len(actual):
        raise Broken(f"{what}: {len(bounds)} results on one side, {len(actual)} on the other")
    dtype = working_dtype(tensors)
    judged = [not flag for flag in unknown] or [True] * len(bounds)
    for name, bound, result in itertools.compress(zip(context.output_names(), bounds, actual, strict=False), judged):
        if bound.expected.shape != result.shape:
            raise Broken(f"{what}: {name} is {describe(result)}, expected {describe(bound.expected)}")
        right = within(bound, result, finite_only=finite_only)
        if not bool(right.all()):
            raise Broken(f"{what}: {excess(name, bound, result, right)}")
        if dtype is not None:
            context.accuracy.setdefault(dtype, Statistics()).add(bound, result, dtype)


def excess(name: str, bound: Bound, actual: torch.Tensor, right: torch.Tensor) -> str:
    """Say where a result is wrong most: `y[0, 2] is 1.5, expected 1.0 within 2e-06 (3 of 6 elements differ)`."""
    expected = torch.where(right, actual.to(bound.expected.dtype), bound.expected)
    text = difference(name, expected, actual)
    if bound.limit is None:
        return text
    gaps = (actual.to(bound.expected.dtype) - bound.expected).abs().nan_to_num(nan=math.inf)
    place = int(torch.where(right, -1.0, gaps.double()).argmax())
    start, _, count = text.rpartition(" (")
    return f"{start} within {float(bound.limit.flatten()[place]):.2g} ({count}"


def reduction_length(context: Context, case: Case) -> int:
    """Return how many terms a result may be the sum of: 1 if the op is elementwise, else the longest axis."""
    if context.subject.infer_kind() in ("elementwise", "broadcast"):
        return 1
    return max((size for recipe in case.tensors for size in recipe.shape), default=1)


def call_reference(case: Case, tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Call the reference; return its results, and the inputs that the op changes."""
    results = case.bind_reference(tensors)()
    flat = [results] if isinstance(results, torch.Tensor) else list(results or ())
    return flat + case.changed(tensors)
