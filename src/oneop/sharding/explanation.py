"""`explain` and `explain_sharding`: what a call with DTensors would do, what that moves, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.distributed.tensor.placement_types import Placement

from oneop.registry import OpDef, get_op
from oneop.sbp import split_axis
from oneop.sharding import dtensor
from oneop.sharding.local import local_shape
from oneop.sharding.planning import Candidate, Placements, Plan, ShardedCall, placements_text
from oneop.sharding.switched_off import check_switched_on
from oneop.signatures import text_of

if TYPE_CHECKING:
    from oneop._core import Op

_SHOWN = 12


@dataclass(frozen=True, kw_only=True)
class Move:
    """An input that is redistributed for a call."""

    tensor: str
    before: Placements
    after: Placements
    how: str
    line: str
    bytes: int  #: that each device sends, as ring collectives do

    def __str__(self) -> str:
        """Return what moves and how."""
        sent = f", {self.bytes:,} bytes sent by each device" if self.bytes else ""
        return f"{self.tensor}: {placements_text(self.before)} to {placements_text(self.after)}, {self.how}{sent}"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What `explain_sharding` found. `signatures` has (text, cost) of each candidate from the cheapest on."""

    op: str
    chosen: str
    cost: float
    outputs: tuple[Placements, ...]
    moves: tuple[Move, ...]
    signatures: tuple[tuple[str, float], ...]
    why: str
    text: str

    @property
    def bytes(self) -> int:
        """How many bytes each device sends for the inputs of the call."""
        return sum(move.bytes for move in self.moves)

    def __str__(self) -> str:
        """Return the text."""
        return self.text


def explain_sharding(op: Op | str, /, *args: Any, **attrs: Any) -> Explanation:
    """Print how a call with these DTensors would run, without running it, and return that; see `explain`."""
    explanation = explain(op, *args, **attrs)
    print(explanation)
    return explanation


def explain(op: Op | str, /, *args: Any, **attrs: Any) -> Explanation:
    """Return how a call with these DTensors would run, without running it.

    It shows each candidate signature with its cost, the one that is chosen, what is redistributed for it, and the line
    that would do so explicitly. Costs are DTensor's estimates, in microseconds.
    """
    check_switched_on()
    name = op if isinstance(op, str) else str(op.__name__)
    definition = get_op(name)
    call, specs = dtensor.call_of(definition, args, attrs)
    plan = dtensor.plan_call(call, specs, compare_all=True)
    chosen = plan.chosen
    moves = _moves(definition, call, chosen)
    listed = [(_text(call, candidate), candidate.cost) for candidate in plan.candidates]
    lines = [f'op "{name}" on a mesh of {" x ".join(map(str, call.mesh_shape))}']
    for tensor, (shape, dtype), placements in zip(
        _names(definition, call), (spec for group in call.groups for spec in group), call.placements, strict=True
    ):
        kind = str(dtype).removeprefix("torch.")
        lines.append(f"  {tensor}: {kind}{list(shape)} {placements_text(placements)}")
    lines.append("  candidates, the cheapest first:")
    refused = {id(candidate): problem for candidate, problem in plan.refused}
    for candidate, (text, cost) in list(zip(plan.candidates, listed, strict=True))[:_SHOWN]:
        mark = "*" if candidate is chosen else " "
        note = f"  not possible: {refused[id(candidate)]}" if id(candidate) in refused else ""
        lines.append(f"  {mark} {cost:10.3f}  {text}{note}")
    if len(listed) > _SHOWN:
        lines.append(f"    and {len(listed) - _SHOWN} more")
    why = _why(definition, call, plan) if moves else ""
    lines.append("  redistributed:" if moves else "  nothing is redistributed")
    lines += [f"    {move}" for move in moves]
    if moves:
        lines.append(f"  because {why}")
        lines.append("  to do so explicitly:")
        lines += [f"    {move.line}" for move in moves]
    explanation = Explanation(
        op=name,
        chosen=_text(call, chosen),
        cost=chosen.cost,
        outputs=tuple(chosen.outputs),
        moves=tuple(moves),
        signatures=tuple(listed),
        why=why,
        text="\n".join(lines),
    )
    return explanation


def _why(op: OpDef, call: ShardedCall, plan: Plan) -> str:
    """Return why the inputs cannot stay where they are."""
    as_they_lie = [candidate for candidate, _ in plan.refused if not candidate.moved]
    if as_they_lie:
        return next(problem for candidate, problem in plan.refused if candidate is as_they_lie[0])
    lying = ", ".join(placements_text(placements) for placements in call.placements)
    return f"no declared signature takes inputs that lie {lying}; this one is the cheapest that can run"


def _text(call: ShardedCall, candidate: Candidate) -> str:
    return " | ".join(text_of(call.op, call.counts, signature) for signature in candidate.signatures)


def _names(op: OpDef, call: ShardedCall) -> list[str]:
    return [
        arg.name + (f"[{i}]" if len(tensors) > 1 else "")
        for arg, tensors in zip(op.inputs, call.groups, strict=True)
        for i in range(len(tensors))
    ]


def _moves(op: OpDef, call: ShardedCall, chosen: Candidate) -> list[Move]:
    moves = []
    specs = [spec for group in call.groups for spec in group]
    for tensor, before, after, (shape, dtype) in zip(
        _names(op, call), call.placements, chosen.inputs, specs, strict=True
    ):
        if before != after:
            line = f"{tensor} = {tensor}.redistribute(placements=[{', '.join(map(_code, after))}])"
            if any(placement.is_partial() for placement in after):
                line = f"(to summands: DTensor does this inside an op only; here it costs nothing)  # {tensor}"
            sent = bytes_sent(shape, dtype.itemsize, before, after, call.mesh_shape)
            how = _how(before, after)
            moves.append(Move(tensor=tensor, before=before, after=after, how=how, line=line, bytes=sent))
    return moves


def bytes_sent(
    shape: Sequence[int], itemsize: int, before: Sequence[Placement], after: Sequence[Placement], mesh: Sequence[int]
) -> int:
    """Return how many bytes a device sends when a tensor is redistributed, one mesh dimension after another.

    As ring collectives send them: an all-gather and a reduce-scatter (n-1)/n of what the devices of the dimension have
    together, an all-reduce twice that, an all-to-all (n-1)/n of the device's own part. Taking a part sends nothing.
    """
    now = list(before)
    sent = 0
    for dim, (old, new) in enumerate(zip(before, after, strict=True)):
        if old == new:
            continue
        local = math.prod(local_shape(tuple(shape), now, mesh, [0] * len(mesh))) * itemsize
        devices = mesh[dim]
        if split_axis(old) is not None:
            whole = local if split_axis(new) is not None else local * devices
            sent += whole * (devices - 1) // devices
        elif old.is_partial():
            sent += local * (devices - 1) // devices * (1 if split_axis(new) is not None else 2)
        now[dim] = new
    return sent


def _code(placement: Placement) -> str:
    if placement.is_partial():
        return repr(placement)
    return f"Shard({split_axis(placement)})" if split_axis(placement) is not None else "Replicate()"


def _how(before: Sequence[Placement], after: Sequence[Placement]) -> str:
    ways = []
    for old, new in zip(before, after, strict=True):
        if old == new:
            continue
        if old.is_replicate():
            ways.append("no communication")
        elif old.is_partial():
            ways.append("reduce-scatter" if split_axis(new) is not None else "all-reduce")
        else:
            ways.append("all-to-all" if split_axis(new) is not None else "all-gather")
    return " and ".join(dict.fromkeys(ways))
