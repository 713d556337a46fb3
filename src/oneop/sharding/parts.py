"""Where a kernel runs: `part()`, and the numbers in which that travels to the core and through compiled graphs."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import ArgumentError
from oneop.registry import OpDef
from oneop.runtime.core import core
from oneop.runtime.dtype_numbers import DTYPE_CODES
from oneop.sbp import Sbp, of_placements
from oneop.sharding.random import is_random

if TYPE_CHECKING:
    from torch.distributed.tensor.placement_types import Placement


Shape = tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Part:
    """The part of a call that a kernel computes. Tensors are numbered, inputs first."""

    mesh_shape: Shape
    coordinate: Shape
    sbp: tuple[tuple[Sbp, ...], ...]  #: for each tensor, one for each dimension of the mesh
    shapes: tuple[Shape, ...]  #: of the whole tensors

    @property
    def parallel_num(self) -> int:
        """The number of devices."""
        return math.prod(self.mesh_shape)

    @property
    def parallel_id(self) -> int:
        """The number of this device, counted along the rows of the mesh."""
        index = 0
        for size, position in zip(self.mesh_shape, self.coordinate, strict=True):
            index = index * size + position
        return index

    def range_of(self, tensor: int, axis: int) -> tuple[int, int]:
        """Return the first index along an axis that this device has of a tensor, and the one after its last.

        Parts are cut as torch cuts them: equal ones, then what is left, then nothing.
        """
        start, stop = 0, self.shapes[tensor][axis]
        for sbp, size, position in zip(self.sbp[tensor], self.mesh_shape, self.coordinate, strict=True):
            if str(sbp) == f"S({axis})":
                step = -(-(stop - start) // size)
                start, stop = min(start + position * step, stop), min(start + (position + 1) * step, stop)
        return start, stop


_tracing: ContextVar[Part | None] = ContextVar("oneop_part", default=None)


def part(*tensors: torch.Tensor) -> Part:
    """Return which part of a call the running kernel computes, for ops defined with `asks_part=True`.

    Given the kernel's inputs, it is the whole of these where nothing is split; the kernel needs no second case.
    """
    traced = _tracing.get()
    if traced is not None:
        return traced
    words = core().current_part()
    if words is not None:
        return _read(words)
    shapes = tuple(tuple(tensor.shape) for tensor in tensors)
    return Part(mesh_shape=(), coordinate=(), sbp=((),) * len(shapes), shapes=shapes)


@contextlib.contextmanager
def tracing_part(current: Part) -> Iterator[None]:
    """Let a composition that is traced for a part ask for it."""
    token = _tracing.set(current)
    try:
        yield
    finally:
        _tracing.reset(token)


def make_part(
    mesh_shape: Sequence[int], coordinate: Sequence[int], placements: Sequence[Sequence[Placement]], shapes: Any
) -> Part:
    """Return the part of the device at `coordinate`; placements and whole shapes are those of all tensors."""
    return Part(
        mesh_shape=tuple(mesh_shape),
        coordinate=tuple(coordinate),
        sbp=tuple(of_placements(placed) for placed in placements),
        shapes=tuple(tuple(shape) for shape in shapes),
    )


def words_of(current: Part, dtypes: Sequence[torch.dtype], outputs: Sequence[Shape]) -> list[int]:
    """Return a part as numbers; see csrc/engine/frames/part.h. `outputs` are the shapes of this device's outputs."""
    words = [len(current.mesh_shape), *current.mesh_shape, *current.coordinate, len(current.shapes)]
    for entries in current.sbp:
        for sbp in entries:
            words += [sbp.kind, sbp.axis]
    for shape, dtype in zip(current.shapes, dtypes, strict=True):
        words += [DTYPE_CODES[dtype], len(shape), *shape]
    for shape in outputs:
        words += [len(shape), *shape]
    return words


def _read(words: Sequence[int]) -> Part:
    rest = iter(words)
    dims = next(rest)
    mesh_shape, coordinate = (tuple(next(rest) for _ in range(dims)) for _ in range(2))
    tensors = next(rest)
    sbp = tuple(tuple(Sbp(next(rest), next(rest)) for _ in range(dims)) for _ in range(tensors))
    shapes = []
    for _ in range(tensors):
        next(rest)  # its dtype
        shapes.append(tuple(next(rest) for _ in range(next(rest))))
    return Part(mesh_shape=mesh_shape, coordinate=coordinate, sbp=sbp, shapes=tuple(shapes))


def part_overload(name: str, draws: bool) -> Any:
    """Return the overload of an op for parts, `torch.ops.oneop.<op>.part`."""
    if core().define_part(name, draws):
        packet = getattr(torch.ops.oneop, name)
        vars(packet).pop("part", None)  # torch keeps the overload of the old schema
    try:
        return getattr(torch.ops.oneop, name).part
    except AttributeError:
        raise ArgumentError(f'op "{name}" has no overload for parts') from None


def runs_as_part(op: OpDef) -> bool:
    """Tell whether the kernel must be told where it runs: it may ask, or draws random numbers."""
    from oneop.authoring.book import definition_of

    info = core().op_info(op.name)
    if info["has_physical_inference"] or any(kernel["asks_placement"] for kernel in info["kernels"]):
        return True
    page = definition_of(op.name)
    return is_random(op) or (page is not None and page.asks_part)
