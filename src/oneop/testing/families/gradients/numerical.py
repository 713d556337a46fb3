"""Gradients against numerical derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch.autograd.gradcheck import GradcheckError

from oneop.testing.case import Case
from oneop.testing.compare import number
from oneop.testing.families.gradients.inputs import differentiable, floating
from oneop.testing.report import call_text

#: For `gradcheck`: the step, and the absolute and relative difference; where a dtype has too few digits, coarse ones.
_FINE, _COARSE = (1e-6, 1e-5, 1e-4), (1e-2, 2e-2, 2e-2)


def function_of(case: Case) -> Callable[..., tuple[torch.Tensor, ...]]:
    """Return the call as a function of its tensors, which gives the results that can have a gradient."""
    return lambda *tensors: tuple(floating(case.run(tensors)))


def run_gradcheck(
    check: Callable[..., bool], function: Callable[..., object], tensors: Sequence[torch.Tensor], *, wide: bool = True
) -> str | None:
    """Return what torch's check says against the gradient, or None. The step is a coarse one unless all is `wide`."""
    eps, atol, rtol = _FINE if wide else _COARSE
    try:
        check(function, tuple(tensors), eps=eps, atol=atol, rtol=rtol)
    except GradcheckError as error:
        return str(error).strip().splitlines()[0]
    return None


def gradcheck_lines(case: Case, check: str, *, wide: bool = True) -> tuple[str, ...]:
    """Return the line that runs torch's check again."""
    names = [
        f"{name}.requires_grad_()" if flag else name
        for name, flag in zip(case.names(), differentiable(case), strict=True)
    ]
    function = f"lambda {', '.join(case.names())}: {call_text(case)}"
    steps = "" if wide else f", eps={_COARSE[0]}, atol={_COARSE[1]}, rtol={_COARSE[2]}"
    return (f"torch.autograd.{check}({function}, ({', '.join(names)},){steps})",)


def worst_difference(
    case: Case, tensors: Sequence[torch.Tensor], *, steps: Sequence[float], bound: float
) -> str | None:
    """Compare the gradient of one weighted sum element by element; None where some step width agrees everywhere."""
    results = [as_real(result) for result in floating(case.run(tensors)) if result.requires_grad]
    if not results:
        return None
    weights = [torch.linspace(0.5, 1.5, r.numel(), dtype=r.dtype, device=r.device).view(r.shape) for r in results]
    wanted = [tensor for tensor in tensors if tensor.requires_grad]
    grads = torch.autograd.grad(results, wanted, weights, allow_unused=True)

    def total(values: Sequence[torch.Tensor]) -> float:
        with torch.no_grad():
            results = [as_real(result) for result in floating(case.run(values))]
        return float(sum((w.double() * r.double()).sum() for w, r in zip(weights, results, strict=False)))

    plain = [tensor.detach().clone() for tensor in tensors]
    names = iter(name for name, tensor in zip(case.names(), tensors, strict=True) if tensor.requires_grad)
    worst: tuple[float, str] | None = None
    for place, (tensor, grad) in enumerate(zip(wanted, grads, strict=True)):
        name = next(names)
        where = next(i for i, tensor in enumerate(tensors) if tensor is wanted[place])
        flat = as_real(plain[where]).view(-1)
        for i in range(flat.numel()):
            analytic = 0.0 if grad is None else float(as_real(grad).reshape(-1)[i])
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


def as_real(tensor: torch.Tensor) -> torch.Tensor:
    """Return the real and imaginary parts as numbers of their own: a complex gradient is that of these."""
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
