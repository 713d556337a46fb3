"""The gradient of the gradient."""

from __future__ import annotations

import torch

from oneop.errors import GradientNotFoundError
from oneop.testing.case import Case, Restriction
from oneop.testing.explore import Broken, Enough, NotForThis
from oneop.testing.families.context import Context, skipped
from oneop.testing.families.gradients.inputs import WIDE, floating, has_wide, inputs_with_grad, is_wide, obstacle
from oneop.testing.families.gradients.numerical import function_of, gradcheck_lines, run_gradcheck
from oneop.testing.report import MISSING, Outcome


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
            wide = is_wide(case, tensors)
            error = run_gradcheck(torch.autograd.gradgradcheck, function_of(case), tensors, wide=wide)
            if error is not None:
                again = inputs_with_grad(case.like(seed=case.tensors[0].seed + 11))
                error = run_gradcheck(torch.autograd.gradgradcheck, function_of(case), again, wide=wide)
        except (GradientNotFoundError, NotImplementedError) as missing:
            absent.append(str(missing).splitlines()[0])
            raise Enough from None
        if error is not None:
            raise Broken(
                f"the second derivative differs from the numerical one ({error}){_advice(error)}",
                *gradcheck_lines(case, "gradgradcheck", wide=wide),
            )

    wanted = Restriction(sizes=(2, 1), dtypes=WIDE)
    outcome = context.explore("second gradient", wanted, holds, examples=6)
    if absent and outcome.failure is None:
        return Outcome(family="second gradient", status=MISSING, note=absent[0])
    return outcome


def _advice(error: str) -> str:
    if "expected to be zero" not in error:
        return ""
    return (
        "\nis an op of the gradient declared without one (NoGrad, .no_grad(), differentiable=False)? That says that"
        "\nits derivative is zero; leave it out, and double backward is refused, or give it a gradient"
    )
