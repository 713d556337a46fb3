"""For which sizes a plan holds that is made while torch traces."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch

from oneop.registry import OpDef
from oneop.sharding.dtensor.calls import shapes_of_outputs
from oneop.sharding.dtensor.private import DTensorSpec
from oneop.sharding.local import size_attrs
from oneop.sharding.parts import runs_as_part
from oneop.sharding.planning import LocalCall, Plan, ShardedCall, infers
from oneop.sharding.symbolic import fix, guard_outer_sizes, holds_for_all_sizes, is_symbol, sampled_parts


def keep_plan(call: ShardedCall, plan: Plan, specs: Sequence[DTensorSpec], attrs: Iterable[Any]) -> None:
    """Let a plan that is made while torch traces be used for those sizes only for which it holds.

    All ranks trace with the same outer sizes, and guard on them alike. So they plan alike.
    """
    sizes = [size for spec in specs for size in spec.tensor_meta.shape]  # type: ignore[union-attr]
    entries = [entry for value in attrs for entry in (value if isinstance(value, (list, tuple)) else [value])]
    if any(is_symbol(size) for size in [*sizes, *entries]) and not _holds_for_all_sizes(call, plan, specs, entries):
        fix([*sizes, *entries])
    if is_tracing():
        guard_outer_sizes()


def is_tracing() -> bool:
    """Tell whether torch traces a program, in which sizes may be symbols."""
    return torch._guards.TracingContext.try_get() is not None


def _holds_for_all_sizes(call: ShardedCall, plan: Plan, specs: Sequence[DTensorSpec], entries: Sequence[Any]) -> bool:
    if plan.chosen.moved or plan.reads_sizes or needs_own_run(call.op) or any(is_symbol(entry) for entry in entries):
        return False
    rest = iter(specs)
    groups = [[(tuple(next(rest).tensor_meta.shape), dtype) for _, dtype in group] for group in call.groups]  # type: ignore[union-attr]
    outputs = shapes_of_outputs(call.op, call.overload, groups, call.schema_attrs)
    shapes = [shape for group in groups for shape, _ in group] + [shape for shape, _ in outputs]
    placements = [*plan.chosen.inputs, *plan.chosen.outputs]
    if not holds_for_all_sizes(shapes, placements):
        return False
    # Inference may refuse parts of some sizes, say those that are no whole blocks. The part of this rank would not tell
    # the others. No condition on a size that anyone writes is true for all samples.
    for sample in sampled_parts(shapes, placements):
        local = LocalCall(inputs=sample[: len(specs)], outputs=sample[len(specs) :], attrs={})
        if not infers(call, plan.chosen, local, [0] * len(call.mesh_shape)):
            return False
    return True


def needs_own_run(op: OpDef) -> bool:
    """Tell whether calls may need other attributes on each device, or more than DTensor does."""
    if op.name.endswith("_") and op.outputs:  # DTensor would return the first input for this name
        return True
    return runs_as_part(op) or bool(size_attrs(op))
