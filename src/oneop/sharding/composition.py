"""Compositions that torch differentiates, on DTensors: the body runs on parts, below the op's signature.

Under a signature the whole is A_out(f(A_in(x))): A_in cuts the inputs, f is the op on each device, and A_out puts the
outputs together. torch differentiates f by itself; what goes back through A_out and A_in follows from the placements,
one mesh dimension at a time:

    output S: its gradient is cut the same way; P: every device gets all of it; B: it is a sum of parts
    input  S: its gradient is cut the same way; P: all devices compute the same one; B: it is a sum of parts

Where everything is broadcast on a mesh dimension, gradients are too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Partial, Replicate

from oneop.errors import ArgumentError
from oneop.registry import OpDef, get_op
from oneop.runtime.core import find_op
from oneop.runtime.dtype_numbers import dtypes_of
from oneop.runtime.modes import without_modes
from oneop.sbp import split_axis
from oneop.sharding import dtensor
from oneop.sharding.parts import Part, make_part, tracing_part
from oneop.sharding.planning import Candidate, Placements, local_call
from oneop.sharding.random import is_random, own_numbers, shard_of


def run(name: str, arguments: Sequence[Any]) -> Any:
    """Run an op that torch differentiates, given all arguments of its schema; `NotImplemented` without a DTensor."""
    op = get_op(name.partition("::")[2])
    args = arguments[: len(op.inputs)]
    tensors = [tensor for item in args for tensor in (item if isinstance(item, (list, tuple)) else [item])]
    if not any(isinstance(tensor, DTensor) for tensor in tensors):
        return NotImplemented
    schema = [argument.name for argument in find_op(op.name).overload._schema.arguments]
    types = [attr.type for attr in op.attrs] + [""] * len(arguments)
    kwargs = {
        argument: dtypes_of(kind, value) if kind == "dtype" else value
        for argument, kind, value in zip(schema[len(args) :], types, arguments[len(args) :], strict=False)
    }
    with without_modes():
        call, specs = dtensor.call_of(op, args, kwargs)
        plan = dtensor.plan_call(call, specs, is_linear=True)
        dtensor.keep_plan(call, plan, specs, kwargs.values())
    chosen = plan.chosen
    mesh = specs[0].mesh
    coordinate = mesh.get_coordinate()
    if coordinate is None:
        return NotImplemented  # this rank has no part; DTensor's own rules give it nothing
    local = local_call(call, chosen, coordinate)
    inputs_back, outputs_back = _backward_placements(chosen)
    rest = iter(range(len(specs)))

    def part_of(tensor: DTensor) -> torch.Tensor:
        number = next(rest)
        moved = tensor if tensor.placements == chosen.inputs[number] else _move(tensor, chosen.inputs[number])
        part: torch.Tensor = _to_local(moved, inputs_back[number])
        return part

    parts = [
        None
        if item is None
        else [part_of(element) for element in item]
        if isinstance(item, (list, tuple))
        else part_of(item)
        for item in args
    ]
    changed = {call.schema_names.get(attr, attr): value for attr, value in local.attrs.items()}
    shapes = [*call.shapes, *(shape for shape, _ in call.outputs)]
    place = make_part(call.mesh_shape, coordinate, [*chosen.inputs, *chosen.outputs], shapes)
    with tracing_part(place), _drawing(op, mesh, place, len(specs)):
        results = call.overload(*parts, **{**kwargs, **changed})
    wholes = dtensor.whole_outputs(call, specs, kwargs)
    placed = [
        _from_local(result, mesh, placements, outputs_back[i], *wholes[i])
        for i, (result, placements) in enumerate(zip(_listed(results), chosen.outputs, strict=True))
    ]
    return placed[0] if isinstance(results, torch.Tensor) else type(results)(placed)


def _drawing(op: OpDef, mesh: DeviceMesh, place: Part, inputs: int) -> AbstractContextManager[None]:
    """Let a random composition draw numbers of its own for each shard, as kernels do.

    Raises `ArgumentError` while torch.compile traces: the compiled program would draw the same on every shard.
    """
    if not is_random(op):
        return nullcontext()
    if torch._guards.TracingContext.try_get() is not None:
        raise ArgumentError(
            f'op "{op.name}": it draws random numbers and torch differentiates it, which cannot be compiled for '
            "DTensors\n  write its gradient with register_grad, or call it outside torch.compile"
        )
    device = torch.device(mesh.device_type)
    if device.type == "cuda":
        device = torch.device("cuda", torch.cuda.current_device())
    return own_numbers(device, shard_of(place.mesh_shape, place.coordinate, place.sbp[inputs]))


def _listed(results: Any) -> list[torch.Tensor]:
    return [results] if isinstance(results, torch.Tensor) else list(results)


def _backward_placements(chosen: Candidate) -> tuple[list[Placements], list[Placements]]:
    """Return where the gradients of the inputs' parts lie, and where those of the outputs must."""
    dims = range(len(chosen.inputs[0]))
    everything = [*chosen.inputs, *chosen.outputs]
    whole = [all(placed[dim].is_replicate() for placed in everything) for dim in dims]

    def back(placements: Placements) -> Placements:
        turned = []
        for dim, placement in enumerate(placements):
            if split_axis(placement) is not None:
                turned.append(placement)
            else:
                turned.append(Replicate() if placement.is_partial() or whole[dim] else Partial())
        return tuple(turned)

    return [back(placed) for placed in chosen.inputs], [back(placed) for placed in chosen.outputs]


class _Move(torch.autograd.Function):
    """Redistributes. The gradient is the same tensor, wherever it lies; that of a split input is split like it."""

    @staticmethod
    def forward(ctx: Any, tensor: DTensor, placements: Placements) -> Any:
        ctx.before = tuple(tensor.placements)
        return dtensor.moved(tensor, placements)

    @staticmethod
    def backward(ctx: Any, grad: DTensor) -> Any:
        target = tuple(
            own if split_axis(own) is not None else arriving
            for own, arriving in zip(ctx.before, grad.placements, strict=True)
        )
        return (grad if target == tuple(grad.placements) else _move(grad, target)), None


class _ToLocal(torch.autograd.Function):
    """Gives this rank's part; its gradient is a part of a tensor that lies as `back` says."""

    @staticmethod
    def forward(ctx: Any, tensor: DTensor, back: Placements) -> Any:
        ctx.mesh, ctx.placements, ctx.back = tensor.device_mesh, tuple(tensor.placements), back
        ctx.shape, ctx.stride = tensor.shape, tensor.stride()
        return tensor._local_tensor.view_as(tensor._local_tensor)

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        return _from_local(grad, ctx.mesh, ctx.back, ctx.placements, ctx.shape, ctx.stride), None


class _FromLocal(torch.autograd.Function):
    """Makes a DTensor of the parts; its gradient is moved to lie as `back` says, and each rank takes its part."""

    @staticmethod
    def forward(
        ctx: Any, part: torch.Tensor, mesh: Any, placements: Placements, back: Placements, shape: Any, stride: Any
    ) -> Any:
        ctx.placements, ctx.back = placements, back
        return dtensor.wrapped(part.view_as(part), mesh, placements, shape, stride)

    @staticmethod
    def backward(ctx: Any, grad: DTensor) -> Any:
        placed = grad if tuple(grad.placements) == ctx.back else _move(grad, ctx.back)
        return _to_local(placed, ctx.placements), None, None, None, None, None


_move: Callable[..., Any] = _Move.apply
_to_local: Callable[..., Any] = _ToLocal.apply
_from_local: Callable[..., Any] = _FromLocal.apply
