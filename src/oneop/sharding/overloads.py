"""What runs on one device: the op itself, or its overload for parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneop.sharding.parts import make_part, part_overload, runs_as_part, words_of
from oneop.sharding.planning import Candidate, ShardedCall, local_call
from oneop.sharding.random import is_random


def local_overload(call: ShardedCall, chosen: Candidate, coordinate: Sequence[int]) -> tuple[Any, dict[str, Any]]:
    """Return what to call on a device, and the arguments that are other ones there, by the schema's names."""
    local = local_call(call, chosen, coordinate)
    changed = {call.schema_names.get(name, name): value for name, value in local.attrs.items()}
    if not runs_as_part(call.op):
        return call.overload, changed
    shapes = [*call.shapes, *(shape for shape, _ in call.outputs)]
    place = make_part(call.mesh_shape, coordinate, [*chosen.inputs, *chosen.outputs], shapes)
    run = part_overload(call.op.name, is_random(call.op))
    return run, {**changed, "part": words_of(place, call.dtypes, local.outputs)}
