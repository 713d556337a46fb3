"""The candidates for a call on a mesh: a signature for each dimension of it, and what each costs."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator, Sequence

from torch.distributed.tensor.placement_types import Placement, Shard, _StridedShard

from oneop.runtime.core import core
from oneop.sbp import PARTIAL_SUM, SPLIT, Sbp, of_placements, split_axis
from oneop.sbp import placements as placements_of
from oneop.sharding.local import Shape
from oneop.sharding.planning.call import Candidate, Placements, ShardedCall, changed_inputs
from oneop.signatures import Signature, declared_signatures, independent_signatures

#: More candidates than this are not compared; the dearest of each mesh dimension go first.
MOST_CANDIDATES = 512
#: (number of the input tensor, wanted placements) -> cost
Cost = Callable[[int, Placements], float]


def read_signatures(call: ShardedCall, only_linear: bool) -> tuple[list[list[Signature]], frozenset[str], bool]:
    """Return the signatures of each mesh dimension, the attributes that were read, and whether sizes were."""
    by_size: dict[int, tuple[Signature, ...]] = {}
    read: frozenset[str] = frozenset()
    reads_sizes = False
    for size in dict.fromkeys(call.mesh_shape):
        declared = declared_signatures(call.op.name, call.groups, call.output_counts, call.attrs, size, keep_small=True)
        by_size[size] = tuple(signature for signature in declared.signatures if not only_linear or is_linear(signature))
        read |= declared.attrs_read
        reads_sizes |= declared.reads_sizes
    return [list(by_size[size]) for size in call.mesh_shape], read, reads_sizes


def signatures_of(call: ShardedCall) -> list[list[Signature]]:
    """Return what the op declares for each dimension of the mesh."""
    return read_signatures(call, False)[0]


def is_linear(signature: Signature) -> bool:
    """Tell whether autograd can go back through a signature: it has splits, broadcasts and sums only."""
    return all(not sbp.is_partial or sbp.kind == PARTIAL_SUM for sbp in signature)


def exact_candidate(call: ShardedCall, signatures: Sequence[Sequence[Signature]], cost: Cost) -> Candidate | None:
    """Return the candidate for which the inputs lie right, if there is one."""
    if core().op_info(call.op.name)["has_nd_sbp"]:
        return None
    chosen = []
    for dim, options in enumerate(signatures):
        now = [placements[dim] for placements in call.placements]
        fits = (
            option for option in options if [_placement(sbp) for sbp in option[: len(now)]] == [_plain(p) for p in now]
        )
        match = next(fits, None)
        if match is None:
            return None
        chosen.append(match)
    if any(isinstance(placement, _StridedShard) for placements in call.placements for placement in placements):
        candidate = _as_strided(call, tuple(chosen), cost)
        return candidate if candidate is not None and not candidate.moved else None
    return _candidate(call, tuple(chosen), cost)


def candidates_of(call: ShardedCall, signatures: Sequence[Sequence[Signature]], cost: Cost) -> Iterator[Candidate]:
    """Yield the candidates whose cost is finite."""
    if core().op_info(call.op.name)["has_nd_sbp"]:
        yield _candidate(call, _inferred(call), cost)
        return
    if math.prod(map(len, signatures)) > MOST_CANDIDATES:
        signatures = _cheapest(call, signatures, cost)
    for combination in itertools.product(*signatures):
        candidate = _candidate(call, combination, cost)
        if math.isfinite(candidate.cost):
            yield candidate
        strided = _as_strided(call, combination, cost)
        if strided is not None and math.isfinite(strided.cost):
            yield strided


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


def _as_strided(call: ShardedCall, signatures: tuple[Signature, ...], cost: Cost) -> Candidate | None:
    """Return the candidate in which the split tensors of a mesh dimension are split strided, as an input is.

    The parts of a strided split are made of several pieces of the axis. That is right where the op treats each index of
    the axis by itself, which `infer="elementwise"` or an axes line declares, and where all split axes have one size.
    """
    strides: list[int | None] = []
    tensors = [*call.shapes, *(shape for shape, _ in call.outputs)]
    for dim, signature in enumerate(signatures):
        lying = [placements[dim] for placements in call.placements]
        factors = {int(placement.split_factor) for placement in lying if isinstance(placement, _StridedShard)}
        splits = [(shape[sbp.axis]) for shape, sbp in zip(tensors, signature, strict=True) if sbp.kind == SPLIT]
        is_strided = len(factors) == 1 and splits
        if is_strided and (len(set(splits)) > 1 or signature not in _independent(call)):
            return None
        strides.append(int(next(iter(factors))) if is_strided else None)  # never a symbol: a constant of the mesh
    if not any(strides):
        return None
    return _candidate(call, signatures, cost, strides)


def _independent(call: ShardedCall) -> list[Signature]:
    return independent_signatures(call.op.name, call.groups, call.outputs, call.output_counts, call.attrs)


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


def _candidate(
    call: ShardedCall, signatures: tuple[Signature, ...], cost: Cost, strides: Sequence[int | None] = ()
) -> Candidate:
    count = len(call.placements)
    strides = strides or [None] * len(signatures)
    by_tensor = [
        tuple(_placement(sbp, stride) for sbp, stride in zip(entries, strides, strict=True))
        for entries in zip(*signatures, strict=True)
    ]
    inputs = by_tensor[:count]
    # A device without a part is avoided, but a tensor that is changed in place may lie so, and the others must follow.
    may_be_empty = any(not can_split(call.shapes[n], call.placements[n], call.mesh_shape) for n in changed_inputs(call))
    costs = []
    moved = 0
    for number, (wanted, now, shape) in enumerate(zip(inputs, call.placements, call.shapes, strict=True)):
        if wanted == now:
            costs.append(0.0)
            continue
        moved += 1
        costs.append(cost(number, wanted) if may_be_empty or can_split(shape, wanted, call.mesh_shape) else math.inf)
    return Candidate(signatures=signatures, inputs=inputs, outputs=by_tensor[count:], costs=costs, moved=moved)


@functools.cache
def _placement(sbp: Sbp, stride: int | None = None) -> Placement:
    if stride is not None and sbp.kind == SPLIT:
        return _StridedShard(sbp.axis, split_factor=stride)
    return placements_of(sbp)[0]


def _plain(placement: Placement) -> Placement:
    return Shard(placement.dim) if isinstance(placement, _StridedShard) else placement


def can_split(shape: Shape, placements: Placements, mesh_shape: Shape) -> bool:
    """Tell whether each device would get something of the axes that are split."""
    parts = [1] * len(shape)
    for placement, size in zip(placements, mesh_shape, strict=True):
        axis = split_axis(placement)
        if axis is not None:
            parts[axis] *= size
    return all(count == 1 or size >= count for size, count in zip(shape, parts, strict=True))


def keeps_changed(call: ShardedCall, candidate: Candidate) -> bool:
    """Tell whether inputs that are changed in place stay where they are: a copy would take the change."""
    return all(candidate.inputs[number] == call.placements[number] for number in changed_inputs(call))
