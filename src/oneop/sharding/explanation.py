"""`explain_sharding`: what a call with DTensors would do, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.distributed.tensor.placement_types import Placement

from oneop.registry import OpDef, get_op
from oneop.sharding import dtensor
from oneop.sharding.planning import Candidate, Placements, ShardedCall, placements_text
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

    def __str__(self) -> str:
        """Return what moves and how."""
        return f"{self.tensor}: {placements_text(self.before)} to {placements_text(self.after)}, {self.how}"


@dataclass(frozen=True, kw_only=True)
class Explanation:
    """What `explain_sharding` found. `signatures` has (text, cost) of each candidate from the cheapest on."""

    op: str
    chosen: str
    cost: float
    outputs: tuple[Placements, ...]
    moves: tuple[Move, ...]
    signatures: tuple[tuple[str, float], ...]
    text: str

    def __str__(self) -> str:
        """Return the text."""
        return self.text


def explain_sharding(op: Op | str, *args: Any, **attrs: Any) -> Explanation:
    """Print how a call with these DTensors would run, without running it, and return that.

    It shows each candidate signature with its cost, the one that is chosen, what is redistributed for it, and the line
    that would do so explicitly. Costs are DTensor's estimates, in microseconds.
    """
    name = op if isinstance(op, str) else str(op.__name__)  # type: ignore[attr-defined]
    definition = get_op(name)
    call, specs = dtensor.call_of(definition, args, attrs)
    plan = dtensor.plan_call(call, specs, compare_all=True)
    chosen = plan.chosen
    moves = _moves(definition, call, chosen)
    listed = [(_text(call, one), one.cost) for one in plan.candidates]
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
    lines.append("  redistributed:" if moves else "  nothing is redistributed")
    lines += [f"    {move}" for move in moves]
    if moves:
        lines.append("  to do so explicitly:")
        lines += [f"    {move.line}" for move in moves]
    explanation = Explanation(
        op=name,
        chosen=_text(call, chosen),
        cost=chosen.cost,
        outputs=tuple(chosen.outputs),
        moves=tuple(moves),
        signatures=tuple(listed),
        text="\n".join(lines),
    )
    print(explanation)
    return explanation


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
    for tensor, before, after in zip(_names(op, call), call.placements, chosen.inputs, strict=True):
        if before != after:
            line = f"{tensor} = {tensor}.redistribute(placements=[{', '.join(map(_code, after))}])"
            if any(placement.is_partial() for placement in after):
                line = f"(to summands: DTensor does this inside an op only; here it costs nothing)  # {tensor}"
            moves.append(Move(tensor=tensor, before=before, after=after, how=_how(before, after), line=line))
    return moves


def _code(placement: Placement) -> str:
    return f"Shard({placement.dim})" if placement.is_shard() else "Replicate()"  # type: ignore[attr-defined]


def _how(before: Sequence[Placement], after: Sequence[Placement]) -> str:
    ways = []
    for old, new in zip(before, after, strict=True):
        if old == new:
            continue
        if old.is_replicate():
            ways.append("no communication")
        elif old.is_partial():
            ways.append("reduce-scatter" if new.is_shard() else "all-reduce")
        else:
            ways.append("all-to-all" if new.is_shard() else "all-gather")
    return " and ".join(dict.fromkeys(ways))
