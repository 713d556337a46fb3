"""What a call is on one device, and whether inference gives its part of the outputs there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from oneop.errors import OneopError
from oneop.runtime.core import core
from oneop.sbp import of_placements
from oneop.sharding.local import Shape, local_attrs, local_shape
from oneop.sharding.planning.call import Candidate, Placements, ShardedCall


@dataclass(frozen=True, kw_only=True)
class LocalCall:
    """A call on one device: shapes of the parts, and the attributes that are other ones there."""

    inputs: list[Shape]
    outputs: list[Shape]
    attrs: dict[str, Any]  # changed ones, by the author's names


def local_call(
    call: ShardedCall, candidate: Candidate, coordinate: Sequence[int], dims: int | None = None
) -> LocalCall:
    """Return the call on the device at `coordinate`; with `dims` as if only the first dimensions of the mesh split."""

    def part(shape: Shape, placements: Placements) -> Shape:
        return local_shape(shape, placements[:dims], call.mesh_shape[:dims], coordinate[:dims])

    outputs = [part(shape, placed) for (shape, _), placed in zip(call.outputs, candidate.outputs, strict=True)]
    inputs = [part(shape, placed) for shape, placed in zip(call.shapes, candidate.inputs, strict=True)]
    whole = _by_argument(call, [*call.shapes, *(shape for shape, _ in call.outputs)])
    parts = _by_argument(call, [*inputs, *outputs])
    return LocalCall(inputs=inputs, outputs=outputs, attrs=local_attrs(call.op, call.attrs, whole, parts))


def _by_argument(call: ShardedCall, shapes: Sequence[Shape]) -> dict[str, Shape]:
    """Return the shape of the first tensor of each argument."""
    first_shapes, at = {}, 0
    for arg, count in zip([*call.op.inputs, *call.op.outputs], call.counts, strict=True):
        if count:
            first_shapes[arg.name] = shapes[at]
        at += count
    return first_shapes


def infers(call: ShardedCall, candidate: Candidate, local: LocalCall, coordinate: Sequence[int]) -> bool:
    """Tell whether inference on the parts gives the parts of the outputs."""
    rest = iter(local.inputs)
    groups = [[(next(rest), dtype) for _, dtype in tensors] for tensors in call.groups]
    if core().op_info(call.op.name)["has_physical_inference"]:
        return _physical(call, groups, candidate, coordinate) == local.outputs
    tensors: list[Any] = []
    for arg, group in zip(call.op.inputs, groups, strict=True):
        taken = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in group]
        is_list = arg.count != 1 or arg.count_is_minimum
        tensors.append(taken if is_list else taken[0] if taken else None)
    changed = {call.schema_names.get(name, name): value for name, value in local.attrs.items()}
    try:
        outputs = call.overload(*tensors, **{**call.schema_attrs, **changed})
    except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError, LookupError):
        return False  # the op refuses such parts
    listed = [outputs] if isinstance(outputs, torch.Tensor) else outputs or ()
    return [tuple(output.shape) for output in listed] == local.outputs


def _physical(
    call: ShardedCall, groups: Sequence[Any], candidate: Candidate, coordinate: Sequence[int]
) -> list[Shape] | None:
    """Return the outputs of one device by the op's physical inference; None where it refuses."""
    placed = [*candidate.inputs, *candidate.outputs]
    sbp = [(entry.kind, entry.axis) for placements in placed for entry in of_placements(placements)]
    index = 0
    for position, size in zip(coordinate, call.mesh_shape, strict=True):
        index = index * size + position
    logical = [*(spec for group in call.groups for spec in group), *call.outputs]
    try:
        inferred = core().infer_outputs(
            call.op.name,
            groups,
            call.output_counts,
            call.attrs,
            sbp,
            len(call.mesh_shape),
            math.prod(call.mesh_shape),
            index,
            logical,
        )
    except (OneopError, RuntimeError, ValueError, TypeError):
        return None
    return [tuple(shape) for shape, _ in inferred]
