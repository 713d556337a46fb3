"""Which signature a call on a mesh runs under: all candidates, what each costs, and the one chosen.

A mesh of several dimensions has a signature for each of them. Among the candidates that can run, the cheapest is
chosen; cost is what DTensor says of redistributing the inputs. Nothing here depends on the rank, so all ranks choose
the same, and the work does not grow with the number of devices.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.distributed.tensor.placement_types import Partial, Placement, Replicate, Shard

from oneop._runtime import DTYPE_CODES, core
from oneop.errors import SbpError
from oneop.registry import OpDef
from oneop.sbp import BROADCAST, SPLIT, Sbp, of_placements
from oneop.sharding.local import Shape, chunk_sizes, local_attrs
from oneop.signatures import Signature, declared_signatures, text_of

#: More candidates than this are not compared; the dearest of each mesh dimension go first.
MOST_CANDIDATES = 512
_DTYPES = {code: dtype for dtype, code in DTYPE_CODES.items()}
Placements = tuple[Placement, ...]
#: (number of the input tensor, wanted placements) -> cost
Cost = Callable[[int, Placements], float]


@dataclass(frozen=True, kw_only=True)
class ShardedCall:
    """A call as the adapter sees it: whole shapes, and where the inputs are."""

    op: OpDef
    overload: Any
    mesh_shape: Shape
    groups: list[list[tuple[Shape, torch.dtype]]]  # by argument
    placements: list[Placements]  # of each input tensor
    output_counts: list[int]
    attrs: dict[str, Any]  # by the author's names
    schema_attrs: dict[str, Any]  # as torch passes them, `output_counts` too
    outputs: list[tuple[Shape, torch.dtype]] = field(default_factory=list)

    @property
    def counts(self) -> list[int]:
        """The number of tensors of each argument."""
        return [*map(len, self.groups), *self.output_counts]

    @property
    def shapes(self) -> list[Shape]:
        """The shape of each input tensor."""
        return [shape for tensors in self.groups for shape, _ in tensors]


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
    """All candidates from the cheapest on, the chosen one, and the attributes on which this depends."""

    candidates: list[Candidate]
    refused: list[tuple[Candidate, str]]
    chosen: Candidate
    attrs_read: frozenset[str]


def make_plan(call: ShardedCall, cost: Cost, *, compare_all: bool = False) -> Plan:
    """Choose. Raises `SbpError` where an input that the op changes would have to be redistributed.

    Where the inputs lie as a signature says, nothing else can be cheaper, and nothing else is looked at unless
    `compare_all`.
    """
    cost = functools.cache(cost)
    signatures, attrs_read = _signatures(call)
    exact = None if compare_all else _exact(call, signatures, cost)
    if exact is not None and not _problem(call, exact):
        return Plan(candidates=[exact], refused=[], chosen=exact, attrs_read=attrs_read)
    found = [candidate for candidate in _candidates(call, signatures, cost) if _keeps_changed(call, candidate)]
    found.sort(key=lambda candidate: (candidate.cost, candidate.moved))
    refused: list[tuple[Candidate, str]] = []
    for candidate in found:
        problem = _problem(call, candidate)
        if not problem:
            return Plan(candidates=found, refused=refused, chosen=candidate, attrs_read=attrs_read)
        refused.append((candidate, problem))
    raise SbpError(_no_candidate_text(call, signatures))


def _signatures(call: ShardedCall) -> tuple[list[list[Signature]], frozenset[str]]:
    """Return the signatures of each mesh dimension, and the attributes that were read."""
    by_size: dict[int, tuple[Signature, ...]] = {}
    read: frozenset[str] = frozenset()
    for size in dict.fromkeys(call.mesh_shape):
        declared = declared_signatures(call.op.name, call.groups, call.output_counts, call.attrs, size, keep_small=True)
        by_size[size] = declared.signatures
        read |= declared.attrs_read
    return [list(by_size[size]) for size in call.mesh_shape], read


def _candidates(call: ShardedCall, signatures: Sequence[Sequence[Signature]], cost: Cost) -> Iterator[Candidate]:
    if core().op_info(call.op.name)["has_nd_sbp"]:
        yield _candidate(call, _inferred(call), cost)
        return
    if math.prod(map(len, signatures)) > MOST_CANDIDATES:
        signatures = _cheapest(call, signatures, cost)
    for combination in itertools.product(*signatures):
        candidate = _candidate(call, combination, cost)
        if math.isfinite(candidate.cost):
            yield candidate


def _exact(call: ShardedCall, signatures: Sequence[Sequence[Signature]], cost: Cost) -> Candidate | None:
    """Return the candidate for which the inputs lie right, if there is one."""
    if core().op_info(call.op.name)["has_nd_sbp"]:
        return None
    chosen = []
    for dim, options in enumerate(signatures):
        now = [placements[dim] for placements in call.placements]
        fits = (one for one in options if [_placement(sbp) for sbp in one[: len(now)]] == now)
        match = next(fits, None)
        if match is None:
            return None
        chosen.append(match)
    return _candidate(call, tuple(chosen), cost)


def _cheapest(call: ShardedCall, signatures: Sequence[Sequence[Signature]], cost: Cost) -> list[list[Signature]]:
    """Keep for each mesh dimension those that are cheap if the other dimensions stay as they are."""
    room = max(2, int(MOST_CANDIDATES ** (1 / len(signatures))))
    kept = []
    for dim, options in enumerate(signatures):

        def price(signature: Signature, dim: int = dim) -> float:
            wanted = zip(call.placements, signature, strict=False)
            return math.fsum(
                cost(number, (*now[:dim], _placement(sbp), *now[dim + 1 :])) for number, (now, sbp) in enumerate(wanted)
            )

        kept.append([*sorted(options[:-1], key=price)[: room - 1], options[-1]])
    return kept


def _inferred(call: ShardedCall) -> tuple[Signature, ...]:
    """Return what the op's own function (SetNdSbpInferFn) decides."""
    dims = len(call.mesh_shape)
    hints: list[tuple[int, int]] = []
    for placements in call.placements:
        hints += [(sbp.kind, sbp.axis) for sbp in of_placements(placements)]
    hints += [(0, 0)] * (dims * sum(call.output_counts))
    flat = core().nd_sbp(
        call.op.name, call.groups, call.output_counts, call.attrs, hints, dims, math.prod(call.mesh_shape)
    )
    entries = [Sbp(kind, axis) for kind, axis in flat]
    return tuple(tuple(entries[dim::dims]) for dim in range(dims))


def _candidate(call: ShardedCall, signatures: tuple[Signature, ...], cost: Cost) -> Candidate:
    count = len(call.placements)
    by_tensor = [tuple(_placement(sbp) for sbp in entries) for entries in zip(*signatures, strict=True)]
    inputs = by_tensor[:count]
    costs = []
    moved = 0
    for number, (wanted, now, shape) in enumerate(zip(inputs, call.placements, call.shapes, strict=True)):
        if wanted == now:
            costs.append(0.0)
            continue
        moved += 1
        costs.append(cost(number, wanted) if _can_split(shape, wanted, call.mesh_shape) else math.inf)
    return Candidate(signatures=signatures, inputs=inputs, outputs=by_tensor[count:], costs=costs, moved=moved)


def _placement(sbp: Sbp) -> Placement:
    if sbp.kind == SPLIT:
        return Shard(sbp.axis)
    return Replicate() if sbp.kind == BROADCAST else Partial()


def _can_split(shape: Shape, placements: Placements, mesh_shape: Shape) -> bool:
    """Tell whether each device would get something."""
    parts = [1] * len(shape)
    for placement, size in zip(placements, mesh_shape, strict=True):
        if isinstance(placement, Shard):
            parts[placement.dim] *= size
    return all(size >= count for size, count in zip(shape, parts, strict=True))


def _keeps_changed(call: ShardedCall, candidate: Candidate) -> bool:
    """Tell whether inputs that are changed in place stay where they are: a copy would take the change."""
    return all(candidate.inputs[number] == call.placements[number] for number in _changed(call))


def _changed(call: ShardedCall) -> Iterator[int]:
    at = 0
    for arg, tensors in zip(call.op.inputs, call.groups, strict=True):
        if arg.is_mutable:
            yield from range(at, at + len(tensors))
        at += len(tensors)


def _problem(call: ShardedCall, candidate: Candidate) -> str:
    """Return why the op cannot run on such parts, going by its inference for the first and the last device."""
    if not any(isinstance(p, Shard) for placements in [*candidate.inputs, *candidate.outputs] for p in placements):
        return ""
    first, last = [0] * len(call.mesh_shape), [size - 1 for size in call.mesh_shape]
    for coordinate in (first, last):
        if attrs_of_part(call, candidate.inputs, candidate.outputs, coordinate) is None:
            part = "first" if coordinate is first else "last"
            return f"on the {part} device inference does not give the part of the output that it should"
    return ""


def attrs_of_part(
    call: ShardedCall, inputs: Sequence[Placements], outputs: Sequence[Placements], coordinate: Sequence[int]
) -> dict[str, Any] | None:
    """Return the attributes that are other ones on a device, see `local_attrs`; None where the op cannot run there."""

    def part(shape: Shape, placements: Placements) -> Shape:
        return local_shape(shape, placements, call.mesh_shape, coordinate)

    rest = iter(zip(inputs, call.shapes, strict=True))
    tensors: list[Any] = []
    for arg, group in zip(call.op.inputs, call.groups, strict=True):
        taken = [
            torch.empty(part(shape, placements), dtype=dtype, device="meta")
            for (_, dtype), (placements, shape) in zip(group, [next(rest) for _ in group], strict=True)
        ]
        is_list = arg.count != 1 or arg.count_is_minimum
        tensors.append(taken if is_list else taken[0] if taken else None)
    whole = [shape for shape, _ in call.outputs]
    wanted = [part(shape, placements) for shape, placements in zip(whole, outputs, strict=True)]
    if core().op_info(call.op.name)["has_physical_inference"]:
        physical = _physical(call, tensors, inputs, outputs, coordinate)
        if physical != wanted:
            return None
    return local_attrs(call.overload, tensors, call.schema_attrs, whole, wanted)


def _physical(
    call: ShardedCall,
    tensors: Sequence[Any],
    inputs: Sequence[Placements],
    outputs: Sequence[Placements],
    coordinate: Sequence[int],
) -> list[Shape]:
    """Return the outputs of one device by the op's physical inference."""
    groups = [
        [(tuple(t.shape), t.dtype) for t in (item if isinstance(item, list) else [] if item is None else [item])]
        for item in tensors
    ]
    sbp = [(one.kind, one.axis) for placements in [*inputs, *outputs] for one in of_placements(placements)]
    index = 0
    for position, size in zip(coordinate, call.mesh_shape, strict=True):
        index = index * size + position
    logical = [*(spec for group in call.groups for spec in group), *call.outputs]
    found = core().infer_outputs(
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
    return [tuple(shape) for shape, _ in found]


def local_shape(shape: Shape, placements: Placements, mesh_shape: Shape, coordinate: Sequence[int]) -> Shape:
    """Return the shape of the part that a device has."""
    sizes = list(shape)
    for placement, parts, index in zip(placements, mesh_shape, coordinate, strict=True):
        if isinstance(placement, Shard):
            sizes[placement.dim] = chunk_sizes(sizes[placement.dim], parts)[index]
    return tuple(sizes)


def placements_text(placements: Sequence[Placement]) -> str:
    """Return placements as signatures are written; those of a mesh of several dimensions in brackets."""
    texts = []
    for placement in placements:
        try:
            texts.append(str(of_placements([placement])[0]))
        except TypeError:
            texts.append(str(placement))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _no_candidate_text(call: ShardedCall, signatures: Sequence[Sequence[Signature]]) -> str:
    names = [arg.name for arg, tensors in zip(call.op.inputs, call.groups, strict=True) for _ in tensors]
    placed = ", ".join(
        f"{name}: {placements_text(placements)}" for name, placements in zip(names, call.placements, strict=True)
    )
    changed = [names[number] for number in _changed(call)]
    text = f'op "{call.op.name}": no SBP signature fits {placed}\n'
    if changed:
        text += f"  it changes {', '.join(changed)} in place, which must stay where it is: redistribute the others\n"
    shown = dict.fromkeys(text_of(call.op, call.counts, one) for options in signatures for one in options)
    return text + f"  it has {'; '.join(shown)}\n  defined at {call.op.source}"


def readable_attrs(op: OpDef, names: Mapping[str, str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return attributes by the author's names, from what torch passes by those of the schema."""
    by_schema = {schema: own for own, schema in names.items()}
    known = {attr.name: attr.type for attr in op.attrs}
    attrs = {}
    for name, value in given.items():
        own = by_schema.get(name, name)
        if own in known:
            attrs[own] = [_DTYPES[code] for code in value] if known[own] == "list of dtype" else value
    return attrs
