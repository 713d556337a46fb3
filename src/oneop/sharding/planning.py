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
from torch.distributed.tensor.placement_types import Placement, Shard, _StridedShard

from oneop.errors import ArgumentError, OneopError, SbpError
from oneop.registry import OpDef
from oneop.runtime.core import core
from oneop.runtime.dtype_numbers import dtypes_of
from oneop.sbp import NO_MEAN, PARTIAL_SUM, SPLIT, Sbp, has_no_mean, of_placements, split_axis
from oneop.sbp import placements as placements_of
from oneop.sharding.local import Shape, different_devices, local_attrs, local_shape
from oneop.sharding.parts import runs_as_part
from oneop.signatures import Signature, declared_signatures, independent_signatures, text_of

#: More candidates than this are not compared; the dearest of each mesh dimension go first.
MOST_CANDIDATES = 512
Placements = tuple[Placement, ...]
#: (number of the input tensor, wanted placements) -> cost
Cost = Callable[[int, Placements], float]


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


def make_plan(call: ShardedCall, cost: Cost, *, compare_all: bool = False, is_linear: bool = False) -> Plan:
    """Choose. Raises `SbpError` where an input that the op changes would have to be redistributed.

    Where the inputs lie as a signature says, nothing else can be cheaper, and nothing else is looked at unless
    `compare_all`. With `is_linear` only splits, broadcasts and sums are taken: what autograd can go back through.
    """
    refuse_means(call)
    cost = functools.cache(cost)
    signatures, attrs_read, reads_sizes = _signatures(call, is_linear)
    exact = None if compare_all else _exact(call, signatures, cost)
    if exact is not None and not _problem(call, exact, reads_sizes):
        return Plan(candidates=[exact], refused=[], chosen=exact, attrs_read=attrs_read, reads_sizes=reads_sizes)
    candidates = [candidate for candidate in _candidates(call, signatures, cost) if _keeps_changed(call, candidate)]
    candidates.sort(key=lambda candidate: (candidate.cost, candidate.moved))
    refused: list[tuple[Candidate, str]] = []
    for candidate in candidates:
        problem = _problem(call, candidate, reads_sizes)
        if not problem:
            return Plan(
                candidates=candidates, refused=refused, chosen=candidate, attrs_read=attrs_read, reads_sizes=reads_sizes
            )
        refused.append((candidate, problem))
    raise SbpError(_no_candidate_text(call, signatures))


def refuse_means(call: ShardedCall) -> None:
    """Raise `ArgumentError` for an input that is a mean of integers."""
    names = (arg.name for arg, tensors in zip(call.op.inputs, call.groups, strict=True) for _ in tensors)
    for name, placements, dtype in zip(names, call.placements, call.dtypes, strict=False):
        if any(has_no_mean(placement, dtype) for placement in placements):
            kind = str(dtype).removeprefix("torch.")
            raise ArgumentError(f'op "{call.op.name}", input "{name}": it lies P(avg) and is {kind}\n  {NO_MEAN}')


def _signatures(call: ShardedCall, only_linear: bool) -> tuple[list[list[Signature]], frozenset[str], bool]:
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
    return _signatures(call, False)[0]


def is_linear(signature: Signature) -> bool:
    """Tell whether autograd can go back through a signature: it has splits, broadcasts and sums only."""
    return all(not sbp.is_partial or sbp.kind == PARTIAL_SUM for sbp in signature)


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
        strided = _as_strided(call, combination, cost)
        if strided is not None and math.isfinite(strided.cost):
            yield strided


def _exact(call: ShardedCall, signatures: Sequence[Sequence[Signature]], cost: Cost) -> Candidate | None:
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
    may_be_empty = any(not _can_split(call.shapes[n], call.placements[n], call.mesh_shape) for n in _changed(call))
    costs = []
    moved = 0
    for number, (wanted, now, shape) in enumerate(zip(inputs, call.placements, call.shapes, strict=True)):
        if wanted == now:
            costs.append(0.0)
            continue
        moved += 1
        costs.append(cost(number, wanted) if may_be_empty or _can_split(shape, wanted, call.mesh_shape) else math.inf)
    return Candidate(signatures=signatures, inputs=inputs, outputs=by_tensor[count:], costs=costs, moved=moved)


@functools.cache
def _placement(sbp: Sbp, stride: int | None = None) -> Placement:
    if stride is not None and sbp.kind == SPLIT:
        return _StridedShard(sbp.axis, split_factor=stride)
    return placements_of(sbp)[0]


def _plain(placement: Placement) -> Placement:
    return Shard(placement.dim) if isinstance(placement, _StridedShard) else placement


def _can_split(shape: Shape, placements: Placements, mesh_shape: Shape) -> bool:
    """Tell whether each device would get something of the axes that are split."""
    parts = [1] * len(shape)
    for placement, size in zip(placements, mesh_shape, strict=True):
        axis = split_axis(placement)
        if axis is not None:
            parts[axis] *= size
    return all(count == 1 or size >= count for size, count in zip(shape, parts, strict=True))


def _keeps_changed(call: ShardedCall, candidate: Candidate) -> bool:
    """Tell whether inputs that are changed in place stay where they are: a copy would take the change."""
    return all(candidate.inputs[number] == call.placements[number] for number in _changed(call))


def _changed(call: ShardedCall) -> Iterator[int]:
    at = 0
    for arg, tensors in zip(call.op.inputs, call.groups, strict=True):
        if arg.is_mutable:
            yield from range(at, at + len(tensors))
        at += len(tensors)


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


def _problem(call: ShardedCall, candidate: Candidate, reads_sizes: bool) -> str:
    """Return why the op cannot run on such parts, going by what it declares for each shape of a part that there is."""
    everywhere = [*candidate.inputs, *candidate.outputs]
    for placements, dtype in zip(everywhere, call.dtypes, strict=True):
        if any(has_no_mean(placement, dtype) for placement in placements):
            return f"P(avg) of a tensor of {dtype}: {NO_MEAN}"
    if not any(split_axis(placement) is not None for placements in everywhere for placement in placements):
        return ""
    unproved = _unproved(call, candidate)
    if unproved:
        return unproved
    shapes = [*call.shapes, *(shape for shape, _ in call.outputs)]
    seen = set()
    for coordinate in different_devices(shapes, everywhere, call.mesh_shape):
        local = local_call(call, candidate, coordinate)
        key = (*local.inputs, *local.outputs)
        if key in seen:
            continue
        seen.add(key)
        if not infers(call, candidate, local, coordinate):
            return f"on the device at {list(coordinate)} inference does not give the part of the output that it should"
        problem = _undeclared_for_parts(call, candidate, coordinate) if reads_sizes else ""
        if problem:
            return problem
    return ""


def _unproved(call: ShardedCall, candidate: Candidate) -> str:
    """Return which signature inference only implies and could not be proved. Raises `SbpError` for a wrong one."""
    from oneop.authoring.rules.independence import is_implied, prove_implied

    if runs_as_part(call.op):
        return ""  # it draws numbers, or asks where it runs: a run on parts here would say nothing
    if is_implied(call.op.name) and core().op_info(call.op.name)["side_effect"]:
        return "its signatures only follow from inference, and an op with effects is not tried out"
    cut = [signature for signature, size in zip(candidate.signatures, call.mesh_shape, strict=True) if size > 1]
    for signature in dict.fromkeys(cut):  # one part is the whole, whatever the op does
        if not prove_implied(call.op.name, call.groups, call.attrs, signature, device=call.device):
            return f"{text_of(call.op, call.counts, signature)} only follows from inference, and could not be proved"
    return ""


def _undeclared_for_parts(call: ShardedCall, candidate: Candidate, coordinate: Sequence[int]) -> str:
    """Return what a later mesh dimension may not do: it splits what earlier ones left, not the whole tensors."""
    if core().op_info(call.op.name)["has_nd_sbp"]:
        return ""  # the op's own function decided for all dimensions at once
    for dim in range(1, len(call.mesh_shape)):
        local = local_call(call, candidate, coordinate, dim)
        rest = iter(local.inputs)
        groups = [[(next(rest), dtype) for _, dtype in tensors] for tensors in call.groups]
        attrs = {**call.attrs, **local.attrs}
        try:
            declared = declared_signatures(
                call.op.name, groups, call.output_counts, attrs, call.mesh_shape[dim], keep_small=True
            )
        except (OneopError, RuntimeError, ValueError, TypeError):
            return f"dimension {dim} of the mesh would split parts that the op refuses"
        if candidate.signatures[dim] not in declared.signatures:
            text = text_of(call.op, call.counts, candidate.signatures[dim])
            return f"{text} is not declared for the parts that dimension {dim} of the mesh would split"
    return ""


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


def _no_candidate_text(call: ShardedCall, signatures: Sequence[Sequence[Signature]]) -> str:
    names = [arg.name for arg, tensors in zip(call.op.inputs, call.groups, strict=True) for _ in tensors]
    placed = ", ".join(
        f"{name}: {placements_text(placements)}" for name, placements in zip(names, call.placements, strict=True)
    )
    changed = [names[number] for number in _changed(call)]
    text = f'op "{call.op.name}": no SBP signature fits {placed}\n'
    if changed:
        text += f"  it changes {', '.join(changed)} in place, which must stay where it is: redistribute the others\n"
    shown = dict.fromkeys(text_of(call.op, call.counts, signature) for options in signatures for signature in options)
    return text + f"  it has {'; '.join(shown)}\n  defined at {call.op.source}"


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
