"""A call on a mesh, the signatures it may run under, and the plan that was made of it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.distributed.tensor.placement_types import Placement, _StridedShard

from oneop.registry import OpDef
from oneop.runtime.dtype_numbers import dtypes_of
from oneop.sbp import of_placements
from oneop.sharding.local import Shape
from oneop.signatures import Signature

Placements = tuple[Placement, ...]


@dataclass(frozen=True, kw_only=True)
class ShardedCall:
    """A call as the adapter sees it: whole shapes, and where the inputs are. Sizes are numbers here, never symbols."""

    op: OpDef
    overload: Any
    mesh_shape: Shape
    groups: list[list[tuple[Shape, torch.dtype]]]  # by argument
    placements: list[Placements]  # of each input tensor
    output_counts: list[int]
    attrs: dict[str, Any]  # by the author's names
    schema_attrs: dict[str, Any]  # as torch passes them, `output_counts` too
    outputs: list[tuple[Shape, torch.dtype]] = field(default_factory=list)
    schema_names: Mapping[str, str] = field(default_factory=dict)  # the author's name of an attribute: the schema's
    device: str = "cpu"

    @property
    def counts(self) -> list[int]:
        """The number of tensors of each argument."""
        return [*map(len, self.groups), *self.output_counts]

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each input tensor."""
        return [shape for tensors in self.groups for shape, _ in tensors]

    @property
    def dtypes(self) -> list[torch.dtype]:
        """The dtype of each tensor, inputs first."""
        return [dtype for tensors in [*self.groups, self.outputs] for _, dtype in tensors]


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A signature for each mesh dimension, and what running under them costs."""

    signatures: tuple[Signature, ...]
    inputs: list[Placements]
    outputs: list[Placements]
    costs: list[float]
    moved: int

    @property
    def cost(self) -> float:
        """The cost of all redistributions."""
        return math.fsum(self.costs)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All candidates from the cheapest on, the chosen one, and what this depends on."""

    candidates: list[Candidate]
    refused: list[tuple[Candidate, str]]
    chosen: Candidate
    attrs_read: frozenset[str]
    reads_sizes: bool  # the signatures themselves may be others for other sizes


def changed_inputs(call: ShardedCall) -> Iterator[int]:
    """Yield the numbers of the input tensors that the op changes in place."""
    at = 0
    for arg, tensors in zip(call.op.inputs, call.groups, strict=True):
        if arg.is_mutable:
            yield from range(at, at + len(tensors))
        at += len(tensors)


def placements_text(placements: Sequence[Placement]) -> str:
    """Return placements as signatures are written; those of a mesh of several dimensions in brackets."""
    texts = []
    for placement in placements:
        try:
            is_strided = isinstance(placement, _StridedShard)
            texts.append(str(placement) if is_strided else str(of_placements([placement])[0]))
        except TypeError:
            texts.append(str(placement))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def readable_attrs(op: OpDef, names: Mapping[str, str], schema_attrs: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes by the author's names, from what torch passes by those of the schema."""
    by_schema = {schema: own for own, schema in names.items()}
    known = {attr.name: attr.type for attr in op.attrs}
    attrs = {}
    for name, value in schema_attrs.items():
        own = by_schema.get(name, name)
        if own in known:
            attrs[own] = dtypes_of(known[own], value) if known[own] == "list of dtype" else value
    return attrs
