"""What a call is on one device: the sizes of shards, and the attributes that are declared to hold sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import SbpError
from oneop.registry import OpDef
from oneop.sbp import split_axis

if TYPE_CHECKING:
    from torch.distributed.tensor.placement_types import Placement

Shape = tuple[int, ...]


def chunk_sizes(size: int, parts: int) -> list[int]:
    """Return the sizes of the parts that DTensor makes of an axis: equal ones, then what is left, then nothing."""
    step = -(-size // parts)
    return [max(0, min(step, size - i * step)) for i in range(parts)]


def local_shape(
    shape: Shape, placements: Sequence[Placement], mesh_shape: Sequence[int], coordinate: Sequence[int]
) -> Shape:
    """Return the shape of the part that a device has."""
    from torch.distributed.tensor.placement_types import _StridedShard

    if any(isinstance(placement, _StridedShard) for placement in placements):
        from torch.distributed.tensor._utils import _compute_local_shape_and_global_offset

        sizes, _ = _compute_local_shape_and_global_offset(
            shape, tuple(mesh_shape), lambda dim: coordinate[dim], tuple(placements)
        )
        return tuple(int(size) for size in sizes)
    local = list(shape)
    for placement, parts, index in zip(placements, mesh_shape, coordinate, strict=True):
        axis = split_axis(placement)
        if axis is not None:
            local[axis] = chunk_sizes(local[axis], parts)[index]
    return tuple(local)


def different_devices(
    shapes: Sequence[Shape], placements: Sequence[Sequence[Placement]], mesh_shape: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Yield coordinates of devices such that each shape of a part that occurs on the mesh occurs on one of them.

    Along a mesh dimension the parts of an axis have at most three sizes: the full step, what is left over, and nothing.
    """
    import itertools

    choices: list[list[int]] = []
    for dim, parts in enumerate(mesh_shape):
        indices = {0, parts - 1}
        for shape, placed in zip(shapes, placements, strict=True):
            axis = split_axis(placed[dim])
            if axis is None:
                continue
            # An earlier dimension may have left other sizes of this axis; each has its own place for the rest.
            sizes = {shape[axis]}
            for earlier in range(dim):
                if split_axis(placed[earlier]) == axis:
                    sizes = {part for size in sizes for part in chunk_sizes(size, mesh_shape[earlier])}
            for size in sizes:
                step = -(-size // parts)
                full = size // step if step else 0
                indices.update(index for index in (full, full + 1) if index < parts)
        choices.append(sorted(indices))
    yield from itertools.product(*choices)


@dataclass(frozen=True, kw_only=True)
class SizeAttr:
    """An attribute that is declared to be the size of an axis of a tensor, or its whole shape where `axis` is None."""

    name: str
    arg: str
    axis: int | None


def size_attrs(op: OpDef) -> tuple[SizeAttr, ...]:
    """Return the attributes of an op that hold sizes, as its author declared them. Nothing is guessed from values."""
    from oneop.authoring.book import definition_of

    page = definition_of(op.name)
    if page is None:
        return ()  # in C++ SetPhysicalTensorDescInferFn says what a device has
    declared = [SizeAttr(name=name, arg=arg, axis=axis) for name, (arg, axis) in page.size_attrs.items()]
    if page.infer is not None and "->" in page.infer.kind:
        declared += _named_by_axes(page, {attr.name for attr in declared})
    return tuple(declared)


def _named_by_axes(page: Any, known: set[str]) -> Iterator[SizeAttr]:
    """Yield the attributes that an axes line names: `k -> k n` makes `n` the size of that axis."""
    from oneop.authoring.rules.einsum import parse_axes

    rule = parse_axes(page.schema, page.infer.kind)
    for arg, axes in zip(page.schema.outputs, rule.outputs, strict=True):
        for position, axis in enumerate(axes):
            if axis in rule.attrs and axis not in known:
                after_dots = "..." in axes[:position]
                yield SizeAttr(name=axis, arg=arg.name, axis=position - len(axes) if after_dots else position)


def local_attrs(
    op: OpDef, attrs: Mapping[str, Any], whole: Mapping[str, Shape], part: Mapping[str, Shape]
) -> dict[str, Any]:
    """Return the declared size attributes with their values for a part, by the author's names.

    `whole` and `part` have the shape of the first tensor of each argument. Raises `SbpError` for a call in which an
    attribute is not the size that it was declared to be.
    """
    changed: dict[str, Any] = {}
    for attr in size_attrs(op):
        if attr.name not in attrs or attr.arg not in whole:
            continue  # its default; or an argument that the call does not have
        written, large, small = attrs[attr.name], whole[attr.arg], part[attr.arg]
        if attr.axis is None:
            values = list(written)
            if len(values) != len(large) or any(v not in (-1, size) for v, size in zip(values, large, strict=True)):
                raise _not_that_size(op, attr, written, large)
            changed[attr.name] = [v if v == -1 else size for v, size in zip(values, small, strict=True)]
        else:
            if written != large[attr.axis]:
                raise _not_that_size(op, attr, written, large)
            changed[attr.name] = small[attr.axis]
    return {name: value for name, value in changed.items() if value != attrs[name]}


def _not_that_size(op: OpDef, attr: SizeAttr, size: object, shape: Shape) -> SbpError:
    what = f"the shape of {attr.arg}" if attr.axis is None else f"the size of {attr.arg}[{attr.axis}]"
    return SbpError(
        f'op "{op.name}": attribute "{attr.name}" is declared to be {what}, which is '
        f"{list(shape) if attr.axis is None else shape[attr.axis]}; found {size}\n"
        f"  declare it right: register_size_attrs, or its name in the axes line\n  defined at {op.source}"
    )


def flatten(results: Any) -> list[torch.Tensor]:
    """Return the tensors that a call gave."""
    if isinstance(results, torch.Tensor):
        return [results]
    return [] if results is None else [tensor for tensor in results if tensor is not None]
