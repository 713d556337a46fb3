"""Where gradients live: that of a split input is split like it.

A backward op gives a gradient wherever its own signature puts it. DTensor leaves it there, so the gradient of a split
weight may come back whole. OneFlow fixes it: split for split; for a broadcast input a partial sum or a broadcast.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor, Replicate

from oneop.sbp import split_axis
from oneop.sharding.dtensor import wrapped


def place_gradients(
    inputs: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]
) -> Callable[[int], torch.Tensor] | None:
    """See to the gradients of a call that was recorded for backward.

    Returns what makes zeros for outputs that nobody used: on the mesh, where the core's would be plain tensors.
    """
    wanted = [
        (tensor.device_mesh, tensor.placements) if isinstance(tensor, DTensor) and tensor.requires_grad else None
        for tensor in inputs
    ]
    node = next((output.grad_fn for output in outputs if output.grad_fn is not None), None)
    if node is None or not any(spec is not None for spec in wanted):
        return None
    node.register_hook(_hook(wanted))
    if len(outputs) < 2:
        return None  # an unused call has no backward
    zeros = [_zeros_for(output) for output in outputs]
    return lambda number: zeros[number]()


def _zeros_for(output: torch.Tensor) -> Callable[[], torch.Tensor]:
    assert isinstance(output, DTensor)
    spec = (output.device_mesh, tuple(output.placements), output.shape, output.stride())
    local = (tuple(output._local_tensor.shape), output.dtype, output._local_tensor.device)

    def make() -> torch.Tensor:
        mesh, placements, shape, stride = spec
        size, dtype, device = local
        placed = tuple(placement if split_axis(placement) is not None else Replicate() for placement in placements)
        return wrapped(torch.zeros(size, dtype=dtype, device=device), mesh, placed, shape, stride)

    return make


def _hook(wanted: Sequence[Any]) -> Callable[..., Any]:
    def hook(grads: Sequence[torch.Tensor | None], _: object) -> tuple[torch.Tensor | None, ...] | None:
        placed = tuple(_placed(grad, place) for grad, place in zip(grads, wanted, strict=True))
        return None if all(new is old for new, old in zip(placed, grads, strict=True)) else placed

    return hook


def _placed(grad: torch.Tensor | None, place: Any) -> torch.Tensor | None:
    if place is None or not isinstance(grad, DTensor):
        return grad
    mesh, placements = place
    if grad.device_mesh != mesh:
        return grad
    target = tuple(
        own if split_axis(own) is not None else arriving
        for own, arriving in zip(placements, grad.placements, strict=True)
    )
    return grad if target == tuple(grad.placements) else grad.redistribute(placements=target)
