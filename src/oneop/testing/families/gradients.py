"""Gradients: first and second order, in eager calls and in a planned graph."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch.autograd.gradcheck import GradcheckError

from oneop.errors import GradientNotFoundError
from oneop.testing.accuracy import NARROW, widened, widened_dtype
from oneop.testing.case import Case, Restriction
from oneop.testing.compare import assert_close, largest_value, number
from oneop.testing.explore import Broken, Enough, NotForThis
from oneop.testing.families.agreement import call_reference
from oneop.testing.families.context import Context, skipped, template_cases, together
from oneop.testing.report import FAILED, MISSING, PASSED, Outcome, call_text

MOST_ELEMENTS = 24
#: Dtypes with the digits for a fine numerical derivative, and those that are compared with these.
WIDE = (torch.float64, torch.complex128)
_NARROW = (*NARROW, torch.complex64)
#: For `gradcheck`: the step, and the absolute and relative difference; where a dtype has too few digits, coarse ones.
_FINE, _COARSE = (1e-6, 1e-5, 1e-4), (1e-2, 2e-2, 2e-2)
#: Of each kind of call, tried beside drawn calls.
MOST_TEMPLATES = 8
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
            each = template_cases(context, dtypes=wanted.dtypes, sizes=(2,), most=MOST_TEMPLATES)
            outcome = together(outcome, context.run("gradient", each, lambda case: check(context, case)))
            alone = _narrow_alone(context) if wide else []
            outcome = together(outcome, context.run("gradient", alone, lambda case: _check_narrow(context, case)))
        if outcome.status in (FAILED, MISSING) or not wide:
            return outcome
        narrow = Restriction(sizes=WANTED.sizes, dtypes=_NARROW)
        other = context.explore("gradient", narrow, lambda case: _narrow_agrees(context, case), examples=12)
    except GradientNotFoundError as error:
        return Outcome(family="gradient", status=MISSING, note=str(error).splitlines()[0])
    return other if other.status == FAILED else replace(outcome, cases=outcome.cases + other.cases)


def _narrow_alone(context: Context) -> list[Case]:
    """Return calls of narrow dtypes that have no wide counterpart to be compared with."""
    dtypes = (torch.float32, torch.complex64)
    cases = template_cases(context, dtypes=dtypes, sizes=(2,), most=MOST_TEMPLATES)
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


def _check_wide(context: Context, case: Case) -> None:
    tensors = inputs_with_grad(case)
    if not any(result.requires_grad for result in floating(case.run(tensors))):
        raise NotForThis
    if not _is_wide(case, tensors):
        return _check_narrow(context, case)  # a numerical derivative of narrow inputs or results is coarse
    function = _function(case)
    if _gradcheck(torch.autograd.gradcheck, function, tensors) is None:
        _like_reference(context, case, tensors)
        return
    again = inputs_with_grad(case.like(seed=case.tensors[0].seed + 11))
    error = _gradcheck(torch.autograd.gradcheck, function, again)
    if error is None:
        raise NotForThis  # a kink that one sample hit
    raise Broken(
        _worst(context, case, again, steps=(1e-6,), bound=1e-4) or error,
        *_gradcheck_lines(case, "gradcheck"),
    )


def _is_wide(case: Case, tensors: Sequence[torch.Tensor]) -> bool:
    """Tell whether all inputs that are differentiated, and all results, have the digits for a fine step."""
    leaves = [tensor for tensor in tensors if tensor.requires_grad]
    results = floating(case.run([tensor.detach() for tensor in tensors]))
    return all(tensor.dtype in WIDE for tensor in (*leaves, *results))


def _check_narrow(context: Context, case: Case) -> None:
    """The same in float32, where only a coarse numerical gradient can be had."""
    tensors = inputs_with_grad(case)
    if not any(result.requires_grad for result in floating(case.run(tensors))):
        raise NotForThis
    if _worst(context, case, tensors, steps=(1e-2, 3e-3, 1e-3), bound=2e-2) is None:
        _like_reference(context, case, tensors)
        return
    again = inputs_with_grad(case.like(seed=case.tensors[0].seed + 11))
    worst = _worst(context, case, again, steps=(1e-2, 3e-3, 1e-3), bound=2e-2)
    if worst is None:
        raise NotForThis
    names = [name for name, tensor in zip(case.names(), tensors, strict=True) if tensor.requires_grad]
    grads = ", ".join(f"{name}.requires_grad_()" for name in names)
    raise Broken(worst, grads, f"print(torch.autograd.grad({call_text(case)}.sum(), [{', '.join(names)}]))")


def _like_reference(context: Context, case: Case, tensors: Sequence[torch.Tensor]) -> None:
    """The gradient is also the one that torch finds for the reference, where the reference is a judge of it.

    It is none where it is not made of differentiable ops, fails on tensors that require gradients, or has a gradient
    that is not finite, as `torch.where` does whose other branch divides by zero.
    """
    hints = context.subject.hints
    if hints.reference is None or context.subject.is_random:
        return
    own = [tensor.detach().clone().requires_grad_(tensor.requires_grad) for tensor in tensors]
    try:
        expected = call_reference(case, own)
    except Exception:
        return  # written for numbers alone: the family `reference` runs it on those
    pairs = [
        pair
        for pair in zip(case.run(tensors), expected, strict=False)
        if all(result.requires_grad and not result.is_complex() for result in pair)
    ]
    if not pairs:
        return
    sides = []
    for place, inputs in enumerate((tensors, own)):
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        # Weights that do not depend on the results: rounding of a large result must not become that of its gradient.
        parts = [(_weights(pair[place], number) * pair[place]).sum() for number, pair in enumerate(pairs)]
        sides.append(torch.autograd.grad(torch.stack(parts).sum(), wanted, allow_unused=True))
    names = [name for name, tensor in zip(case.names(), tensors, strict=True) if tensor.requires_grad]
    for grad, other, name in zip(*sides, names, strict=True):
        if grad is None or other is None:
            continue
        judged = other.isfinite()
        assert_close(
            [other.where(judged, 0)],
            [grad.where(judged, 0)],
            "the gradient differs from that of the reference",
            [name],
            rtol=hints.rtol,
            atol=hints.atol,
            scale=1.0,
        )


def _weights(result: torch.Tensor, number: int) -> torch.Tensor:
    places = torch.arange(result.numel(), device=result.device, dtype=torch.float64).reshape(result.shape)
    return torch.cos(places + number).to(result.dtype)


def _function(case: Case) -> Callable[..., tuple[torch.Tensor, ...]]:
    return lambda *tensors: tuple(floating(case.run(tensors)))


def _gradcheck(
    check: Callable[..., bool], function: Callable[..., object], tensors: Sequence[torch.Tensor], *, wide: bool = True
) -> str | None:
    """Return what torch's check says against the gradient, or None. The step is a coarse one unless all is `wide`."""
    eps, atol, rtol = _FINE if wide else _COARSE
    try:
        check(function, tuple(tensors), eps=eps, atol=atol, rtol=rtol)
    except GradcheckError as error:
        return str(error).strip().splitlines()[0]
    return None


def _gradcheck_lines(case: Case, check: str, *, wide: bool = True) -> tuple[str, ...]:
    names = [
        f"{name}.requires_grad_()" if flag else name
        for name, flag in zip(case.names(), differentiable(case), strict=True)
    ]
    function = f"lambda {', '.join(case.names())}: {call_text(case)}"
    steps = "" if wide else f", eps={_COARSE[0]}, atol={_COARSE[1]}, rtol={_COARSE[2]}"
    return (f"torch.autograd.{check}({function}, ({', '.join(names)},){steps})",)


def _worst(
    context: Context, case: Case, tensors: Sequence[torch.Tensor], *, steps: Sequence[float], bound: float
) -> str | None:
    """Compare the gradient of one weighted sum element by element; None where some step width agrees everywhere."""
    results = [_real(result) for result in floating(case.run(tensors)) if result.requires_grad]
    if not results:
        return None
    weights = [torch.linspace(0.5, 1.5, r.numel(), dtype=r.dtype, device=r.device).view(r.shape) for r in results]
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    grads = torch.autograd.grad(results, wanted, weights, allow_unused=True)

    def total(values: Sequence[torch.Tensor]) -> float:
        with torch.no_grad():
            results = [_real(result) for result in floating(case.run(values))]
        return float(sum((w.double() * r.double()).sum() for w, r in zip(weights, results, strict=False)))

    plain = [tensor.detach().clone() for tensor in tensors]
    names = iter(name for name, tensor in zip(case.names(), tensors, strict=True) if tensor.requires_grad)
    worst: tuple[float, str] | None = None
    for place, (tensor, grad) in enumerate(zip(wanted, grads, strict=True)):
        name = next(names)
        where = next(i for i, tensor in enumerate(tensors) if tensor is wanted[place])
        flat = _real(plain[where]).view(-1)
        for i in range(flat.numel()):
            analytic = 0.0 if grad is None else float(_real(grad).reshape(-1)[i])
            numeric = []
            for step in steps:
                old = float(flat[i])
                flat[i] = old + step
                high = total(plain)
                flat[i] = old - step
                low = total(plain)
                flat[i] = old
                numeric.append((high - low) / (2 * step))
            gap, best = min((abs(analytic - slope), slope) for slope in numeric)
            if gap > bound * max(1.0, abs(best)) and (worst is None or gap > worst[0]):
                text = "there is none" if grad is None else f"it is {number(analytic)}"
                worst = (
                    gap,
                    f'the gradient of input "{name}" differs from the numerical one: at element {i} {text}, '
                    f"expected {best:.5g}",
                )
    return worst[1] if worst else None


def _real(tensor: torch.Tensor) -> torch.Tensor:
    """Return the real and imaginary parts as numbers of their own: a complex gradient is that of these."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def has_wide(context: Context) -> bool:
    """Tell whether the op takes inputs with the digits for a fine numerical derivative."""
    return any(dtype in WIDE for choice in context.domain.choices for dtype in choice.dtypes)


def second_gradient(context: Context) -> Outcome:
    """The gradient of the gradient is the numerical one; where a backward op has none, that is reported."""
    stop = obstacle(context, "second gradient")
    if stop is not None:
        return stop if stop.status != MISSING else skipped("second gradient", "no first one")
    if not has_wide(context):
        return skipped("second gradient", "needs a kernel for float64")
    absent: list[str] = []

    def holds(case: Case) -> None:
        tensors = inputs_with_grad(case)
        if sum(tensor.numel() for tensor in tensors) > 8:
            raise NotForThis
        if not any(result.requires_grad for result in floating(case.run(tensors))):
            raise NotForThis
        try:
            wide = _is_wide(case, tensors)
            error = _gradcheck(torch.autograd.gradgradcheck, _function(case), tensors, wide=wide)
            if error is not None:
                again = inputs_with_grad(case.like(seed=case.tensors[0].seed + 11))
                error = _gradcheck(torch.autograd.gradgradcheck, _function(case), again, wide=wide)
        except (GradientNotFoundError, NotImplementedError) as missing:
            absent.append(str(missing).splitlines()[0])
            raise Enough from None
        if error is not None:
            raise Broken(
                f"the second derivative differs from the numerical one ({error})",
                *_gradcheck_lines(case, "gradgradcheck", wide=wide),
            )

    wanted = Restriction(sizes=(2, 1), dtypes=WIDE)
    outcome = context.explore("second gradient", wanted, holds, examples=6)
    if absent and outcome.failure is None:
        return Outcome(family="second gradient", status=MISSING, note=absent[0])
    return outcome


def graph_gradient(context: Context) -> Outcome:
    """The gradient in a planned job is that of an eager call."""
    stop = obstacle(context, "graph gradient")
    if stop is not None:
        return stop if stop.status != MISSING else skipped("graph gradient", "no gradient")
    if any(context.subject.dynamic_axes):
        return skipped("graph gradient", "the size of an output depends on data")

    def holds(case: Case) -> None:
        from oneop.jobs.graph import compile_job

        tensors = inputs_with_grad(case)
        results = floating(case.run(tensors))
        if not any(result.requires_grad for result in results):
            raise NotForThis
        flags = [tensor.requires_grad for tensor in tensors]

        def body(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            own = [t.detach().requires_grad_(flag) for t, flag in zip(tensors, flags, strict=True)]
            with torch.enable_grad():
                results = [r for r in floating(case.run(own)) if r.requires_grad]
                weights = [torch.ones_like(r) * 0.5 for r in results]
                wanted = [t for t, flag in zip(own, flags, strict=True) if flag]
                grads = torch.autograd.grad(results, wanted, weights, allow_unused=True)
            return tuple(g for g in grads if g is not None)

        plain = [tensor.detach().contiguous() for tensor in tensors]
        expected = body(*plain)
        if not expected:
            raise NotForThis
        job = compile_job(body, plain)
        planned = job(*plain)
        flat = [planned] if isinstance(planned, torch.Tensor) else list(planned)
        names = [f"the gradient of {name}" for name, flag in zip(case.names(), flags, strict=True) if flag]
        assert_close(expected, flat, "in a planned job", names)

    return context.explore("graph gradient", WANTED, holds, examples=3)
