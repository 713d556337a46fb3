"""Runs calls that need more than DTensor does on each device.

These are calls with other attributes on each device where some hold sizes, those of the overload `part`, which tells
the kernel where it runs, and those of ops that were defined again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from torch.distributed.tensor import DTensor

from oneop.errors import OneopError
from oneop.registry import OpDef, get_op
from oneop.runtime.modes import without_modes
from oneop.sharding.dtensor.calls import make_call, specs_of
from oneop.sharding.dtensor.private import DTensorSpec, pytree
from oneop.sharding.dtensor.sizes import is_tracing
from oneop.sharding.overloads import local_overload
from oneop.sharding.planning import Candidate


@dataclass(frozen=True, kw_only=True)
class _Known:
    """How a call runs: what the strategy answered, the overload to call, and the attributes of this device."""

    sharding: Any
    overload: Any
    changed: dict[str, Any]
    is_plain: bool  # nothing is moved


_MOST_KNOWN = 4096


known_calls: dict[object, _Known] = {}  # by the op, where the inputs lie, and all attributes


def run(op_call: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Run a call as DTensor does, with the attributes that each device needs."""
    kwargs = {name: _hashable(value) for name, value in kwargs.items()}  # they are part of a key
    specs: list[DTensorSpec | None] = []
    local_args = [_unwrapped(item, specs) for item in args]
    key = None
    if None not in specs and not is_tracing():  # symbols are no keys, and a trace must see the strategy's guards
        counts = tuple(len(item) if isinstance(item, list) else item is None for item in local_args)
        key = (op_call, counts, *specs, *kwargs.items())
    known = None if key is None else known_calls.get(key)
    if known is None or not known.is_plain:
        return _run_fully(op_call, args, kwargs, key, known)
    results = known.overload(*local_args, **{**kwargs, **known.changed})
    return DTensor._op_dispatcher.wrap(results, known.sharding.output_spec)


def _unwrapped(item: Any, specs: list[DTensorSpec | None]) -> Any:
    """Return this rank's part of what an op was given; `specs` gets None for a tensor that is no DTensor."""
    if isinstance(item, DTensor):
        specs.append(item._spec)
        return item._local_tensor
    if isinstance(item, (list, tuple)):
        return [_unwrapped(element, specs) for element in item]
    if item is not None:
        specs.append(None)
    return item


def _run_fully(
    op_call: Any, args: tuple[object, ...], kwargs: dict[str, object], key: object, known: _Known | None
) -> object:
    """Ask the strategy unless it is `known` what it says, move what must be moved, and run."""
    dispatcher, overload = DTensor._op_dispatcher, op_call
    op = get_op(_name_of(overload))
    info = dispatcher.unwrap_to_op_info(overload, args, kwargs)
    coordinate = info.compute_mesh.get_coordinate()
    if known is None:
        known = _ask(op, overload, info, coordinate)
        if key is not None:
            if len(known_calls) >= _MOST_KNOWN:  # shapes that never repeat must not fill the memory
                known_calls.clear()
            known_calls[key] = known
    sharding = info.output_sharding = known.sharding
    if coordinate is None:  # this rank has no part of the tensors
        results = dispatcher._dispatch_get_local_results_slow_path(overload, args, info)
        return dispatcher.wrap(results, sharding.output_spec)
    if sharding.needs_redistribute:
        dispatcher.redistribute_local_args(info, sharding.redistribute_schema, False)
    local_args = (
        pytree.tree_unflatten(list(info.local_args), info.args_tree_spec) if info.args_tree_spec else info.local_args
    )
    results = known.overload(*local_args, **{**info.local_kwargs, **known.changed})
    return dispatcher.wrap(results, sharding.output_spec)


def _ask(op: OpDef, overload: Any, info: Any, coordinate: Sequence[int] | None) -> _Known:
    try:
        sharding = DTensor._op_dispatcher.sharding_propagator.propagate_op_sharding_non_cached(info.schema)
    except OneopError as error:  # as DTensor has it
        raise RuntimeError(f"{error}\n\nSharding propagation failed for {info.schema}") from error
    if coordinate is None:
        return _Known(sharding=sharding, overload=overload, changed={}, is_plain=False)
    schema: Any = sharding.redistribute_schema if sharding.needs_redistribute else info.schema
    args: Any = schema.args_schema
    if info.args_tree_spec:
        args = pytree.tree_unflatten(pytree.tree_leaves(args, is_leaf=_is_spec), info.args_tree_spec)
    groups = [specs_of(item) for item in args]
    groups += [[] for _ in range(len(op.inputs) - len(groups))]
    with without_modes():
        call = make_call(op, overload, groups, dict(info.schema.kwargs_schema))
        outputs = [spec.placements for spec in _listed(sharding.output_spec)]
        chosen = Candidate(signatures=(), inputs=call.placements, outputs=outputs, costs=[], moved=0)
        run, changed = local_overload(call, chosen, coordinate)
    return _Known(sharding=sharding, overload=run, changed=changed, is_plain=not sharding.needs_redistribute)


def _listed(specs: Any) -> list[Any]:
    return [specs] if isinstance(specs, DTensorSpec) else list(specs or ())


def _name_of(overload: Any) -> str:
    return str(overload._schema.name.partition("::")[2])


def _hashable(value: object) -> object:
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else value


def _is_spec(item: object) -> bool:
    return isinstance(item, DTensorSpec)
