"""Running the two gradients that an op may have: `REGISTER_USER_OP_GRAD` and `REGISTER_OP_EXPR_GRAD_FUNCTION`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import GradientNotFoundError
from oneop.runtime.core import core
from oneop.testing.subject import Hints, Subject, subject_of

if TYPE_CHECKING:
    from oneop._core import Op

Gradients = list[torch.Tensor | None]


@dataclass(frozen=True, kw_only=True)
class TwoGradients:
    """Gradients of the inputs, one for each tensor: what is used, and what is written for eager mode."""

    graph: Gradients
    eager: Gradients


def run_gradients(op: str | Op, /, *inputs: Any, **attrs: Any) -> TwoGradients:
    """Run both gradients of an op on the same inputs and output gradients, and return what they give.

    Raises `GradientNotFoundError` if the op does not have both kinds.
    """
    subject = subject_of(op, Hints())
    if subject.op.grad is None or subject.op.grad.eager is None:
        raise GradientNotFoundError(
            f'op "{subject.name}" does not have both kinds of gradient\n'
            "  they are REGISTER_USER_OP_GRAD and REGISTER_OP_EXPR_GRAD_FUNCTION, in one library"
        )
    arguments = [*inputs, *[None] * (len(subject.op.inputs) - len(inputs))]
    tensors = [(arg, tensor) for arg, each in zip(subject.op.inputs, arguments, strict=True) for tensor in _flat(each)]
    needs = [arg.requires_grad and _is_floating(tensor) for arg, tensor in tensors]
    return both_of(subject, arguments, attrs, needs)


def both_of(subject: Subject, inputs: Sequence[Any], attrs: dict[str, Any], needs: Sequence[bool]) -> TwoGradients:
    """Run both gradients of a call; `needs` has a flag for each input tensor."""
    with torch.no_grad():
        results = subject.call(*inputs, **attrs)
        outputs = _flat(results)
        weights = [_weights(output) if _is_floating(output) else None for output in outputs]
        args = subject.torch_args(inputs, attrs)
        graph, eager = (
            core().run_gradient(subject.name, is_eager, args, outputs, weights, list(needs))
            for is_eager in (False, True)
        )
    return TwoGradients(graph=graph, eager=eager)


def _flat(value: Any) -> list[torch.Tensor]:
    return [value] if isinstance(value, torch.Tensor) else list(value or ())


def _is_floating(tensor: torch.Tensor) -> bool:
    return tensor.dtype.is_floating_point or tensor.dtype.is_complex


def _weights(output: torch.Tensor) -> torch.Tensor:
    """Return a gradient of an output in which no two elements are alike."""
    values = torch.linspace(0.5, 1.5, output.numel(), dtype=torch.float64, device=output.device)
    return values.to(output.dtype).view(output.shape)
