"""SBP signatures as DTensor strategies.

DTensor asks a strategy how an op may run for inputs that lie so, remembers the answer under a key, and finds it again
without asking. The key holds the placements and shapes of the tensors, and those attributes that are named to it: here
exactly the ones that inference and the SBP function have read. One that is read later joins the key then.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from oneop.authoring.rules.independence import is_implied
from oneop.errors import ArgumentError, OpNotImplementedError
from oneop.registry import OpDef, get_op
from oneop.runtime.core import core, find_op
from oneop.runtime.modes import without_modes
from oneop.sharding.dtensor.calls import plan_call, read_schema
from oneop.sharding.dtensor.private import DTensorSpec, OpSchema, OpSpec, OpStrategy, RuntimeSchemaInfo
from oneop.sharding.dtensor.running import known_calls, run
from oneop.sharding.dtensor.sizes import keep_plan, needs_own_run
from oneop.sharding.planning import Plan


def register(names: Iterable[str]) -> None:
    """Tell DTensor about ops. Where it knows them, what it remembers is forgotten."""
    known = set(core().op_names())
    for name in names:
        if name in known:
            _register_one(name)


def _register_one(name: str) -> None:
    op, overload = get_op(name), find_op(name).overload
    propagator = DTensor._op_dispatcher.sharding_propagator
    before = propagator.op_strategy_funcs.get(overload)
    # DTensor's memory belongs to threads and cannot be cleared for all of them. So an op that is redefined after it
    # was asked goes by this file's own memory from then on.
    is_outdated = isinstance(before, _Strategy) and (before.was_asked or before.is_outdated)
    propagator.register_op_strategy(overload, _Strategy(op, overload, is_outdated), _key_of(op, _first_reads(op)))
    known_calls.clear()
    handlers = DTensor._op_dispatcher._custom_op_handlers
    if any(arg.dynamic_axes for arg in op.outputs):
        handlers[overload] = _refuse_dynamic
    elif is_outdated or needs_own_run(op):
        handlers[overload] = run
    else:
        handlers.pop(overload, None)


def _refuse_dynamic(op_call: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """No device knows the size of what the others make."""
    raise OpNotImplementedError(
        f'op "{op_call._opname}": the size of an output depends on data, so it cannot be split over devices\n'
        "  call it on whole tensors: x.full_tensor(), or on local ones: x.to_local()"
    )


def _key_of(op: OpDef, attrs_read: frozenset[str]) -> RuntimeSchemaInfo:
    names: dict[str, str] = find_op(op.name)._trace_names.attrs  # type: ignore[attr-defined]
    keys = [names[attr.name] for attr in op.attrs if attr.name in attrs_read]
    if find_op(op.name)._trace_names.returns_list:  # type: ignore[attr-defined]
        keys.append("output_counts")
    has_lists = any(arg.count != 1 or arg.count_is_minimum for arg in op.inputs)
    return RuntimeSchemaInfo(100, keys or None, needs_pytree=has_lists)


def _first_reads(op: OpDef) -> frozenset[str]:
    """Return the attributes that a plan depends on before it is made: a proof runs the kernel, which may read all."""
    return frozenset(attr.name for attr in op.attrs) if is_implied(op.name) else frozenset()


class _Strategy:
    """What DTensor asks about one op."""

    def __init__(self, op: OpDef, overload: Any, is_outdated: bool) -> None:
        self.is_outdated = is_outdated  # an older definition of the op was asked
        self.was_asked = False
        self._op = op
        self._overload = overload
        self._attrs_read = _first_reads(op)

    def __call__(self, schema: OpSchema) -> OpStrategy:
        self.was_asked = True
        with without_modes():  # whoever traces the call does not trace how it is planned
            call, specs = read_schema(self._op, self._overload, schema)
            plan = plan_call(call, specs)
            keep_plan(call, plan, specs, schema.kwargs_schema.values())
        self._note_reads(plan)
        mesh = schema.get_mesh_from_args(validate=False)
        other = next((spec.mesh for spec in specs if spec.mesh != mesh), None)
        if other is not None:
            raise ArgumentError(f'op "{self._op.name}": all inputs must be on one mesh, found {mesh} and {other}')
        inputs = [
            DTensorSpec(mesh, placements, tensor_meta=spec.tensor_meta)
            for placements, spec in zip(plan.chosen.inputs, specs, strict=True)
        ]
        outputs = tuple(DTensorSpec(mesh, placements) for placements in plan.chosen.outputs)
        is_single = len(self._overload._schema.returns) == 1 and not _returns_list(self._overload)
        costs = [[cost] for cost in plan.chosen.costs]
        return OpStrategy(
            [
                OpSpec(
                    output_specs=(outputs[0] if is_single else outputs) if outputs else None,
                    input_specs=inputs,
                    redistribute_cost=costs,
                )
            ]
        )

    def _note_reads(self, plan: Plan) -> None:
        if plan.attrs_read <= self._attrs_read:
            return
        self._attrs_read |= plan.attrs_read
        dispatcher = DTensor._op_dispatcher
        infos = dispatcher.sharding_propagator.op_to_schema_info
        had_names = infos[self._overload].static_kwargkey is not None
        infos[self._overload] = _key_of(self._op, self._attrs_read)
        if had_names and self._overload not in dispatcher._custom_op_handlers:
            dispatcher._custom_op_handlers[self._overload] = _ForgetFirst(self._overload)


class _ForgetFirst:
    """Stands before the next call of an op whose key got more names, and has DTensor forget what it knows.

    The answer that is given just now is kept under a key without the new name. Later calls in which that attribute has
    its default would find it: DTensor leaves defaults out of keys. A key without any names is not found by one with
    names, so the first time nothing needs to be forgotten.
    """

    def __init__(self, overload: Any) -> None:
        self._thread = threading.get_ident()  # DTensor's memory belongs to threads
        self._overload = overload

    def __call__(self, op_call: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        if threading.get_ident() != self._thread:
            return run(op_call, args, kwargs)
        torch._C._clear_DTensor_sharding_propagator_cache()
        DTensor._op_dispatcher._custom_op_handlers.pop(self._overload, None)
        return op_call(*args, **kwargs)


def _returns_list(overload: Any) -> bool:
    return isinstance(overload._schema.returns[0].type, torch.ListType)
