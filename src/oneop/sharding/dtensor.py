"""SBP signatures as DTensor strategies. What of DTensor is not public is used in this file and in self_test.py.

DTensor asks a strategy how an op may run for inputs that lie so, remembers the answer under a key, and finds it again
without asking. The key holds the placements and shapes of the tensors, and those attributes that are named to it: here
exactly the ones that inference and the SBP function have read. One that is read later joins the key then.

Ops that need more than DTensor does on each device are run by `_run`: other attributes where some hold sizes, or the
overload `part`, which tells the kernel where it runs.
"""

from __future__ import annotations

import contextlib
import logging
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor

from oneop.errors import ArgumentError, OneopError, OpNotImplementedError, ShardingError
from oneop.sharding import switched_off

try:
    from torch.distributed.tensor._collective_utils import redistribute_cost
    from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
    from torch.distributed.tensor._op_schema import (
        OpSchema,
        OpSpec,
        OpStrategy,
        RuntimeSchemaInfo,
        TupleStrategy,
    )
    from torch.distributed.tensor._redistribute import redistribute_local_tensor
    from torch.distributed.tensor._utils import ExplicitRedistributionContext
except ImportError as error:  # a torch that has these parts elsewhere
    switched_off.switch_off(str(error))
    raise ShardingError(switched_off.text()) from error

try:  # the one that DTensor uses
    from torch.utils import _cxx_pytree as pytree
except ImportError:
    from torch.utils import _pytree as pytree  # type: ignore[no-redef]

from oneop.authoring.rules.independence import is_implied
from oneop.registry import OpDef, get_op
from oneop.runtime.core import core, find_op
from oneop.runtime.modes import without_modes
from oneop.sharding.local import size_attrs
from oneop.sharding.overloads import local_overload
from oneop.sharding.parts import runs_as_part
from oneop.sharding.planning import (
    Candidate,
    LocalCall,
    Placements,
    Plan,
    ShardedCall,
    infers,
    make_plan,
    readable_attrs,
)
from oneop.sharding.symbolic import fix, guard_outer_sizes, hint, hints, holds_for_all_sizes, is_symbol, sampled_parts
from oneop.sharding.waiting import finish

_EXTRA = ("output_counts", "device")  # arguments of the torch op that are no attributes


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
    _known.clear()
    handlers = DTensor._op_dispatcher._custom_op_handlers
    if any(arg.dynamic_axes for arg in op.outputs):
        handlers[overload] = _refuse_dynamic
    elif is_outdated or _needs_own_run(op):
        handlers[overload] = _run
    else:
        handlers.pop(overload, None)


def _refuse_dynamic(op_call: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """No device knows the size of what the others make."""
    raise OpNotImplementedError(
        f'op "{op_call._opname}": the size of an output depends on data, so it cannot be split over devices\n'
        "  call it on whole tensors: x.full_tensor(), or on local ones: x.to_local()"
    )


def _needs_own_run(op: OpDef) -> bool:
    """Tell whether calls may need other attributes on each device, or more than DTensor does."""
    if op.name.endswith("_") and op.outputs:  # DTensor would return the first input for this name
        return True
    return runs_as_part(op) or bool(size_attrs(op))


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
            return _run(op_call, args, kwargs)
        torch._C._clear_DTensor_sharding_propagator_cache()
        DTensor._op_dispatcher._custom_op_handlers.pop(self._overload, None)
        return op_call(*args, **kwargs)


def _returns_list(overload: Any) -> bool:
    return isinstance(overload._schema.returns[0].type, torch.ListType)


def read_schema(op: OpDef, overload: Any, schema: OpSchema) -> tuple[ShardedCall, list[DTensorSpec]]:
    """Return the call that DTensor asks about, and the specs of its input tensors."""
    groups = [_specs_of(item) for item in schema.args_schema]
    groups += [[] for _ in range(len(op.inputs) - len(groups))]
    return make_call(op, overload, groups, dict(schema.kwargs_schema)), [spec for group in groups for spec in group]


def make_call(op: OpDef, overload: Any, groups: Sequence[Sequence[Any]], kwargs: dict[str, Any]) -> ShardedCall:
    """Return a call from the specs of its tensors, by argument, and what torch passes by name."""
    counts = kwargs.get("output_counts")
    if counts is None:
        counts = [0 if arg.is_optional else max(arg.count, 1) for arg in op.outputs]
    specs = [spec for group in groups for spec in group]
    shapes = [[(_shape(spec), spec.tensor_meta.dtype) for spec in group] for group in groups]
    attrs = {name: _without_symbols(value) for name, value in kwargs.items()}
    schema_attrs = {name: value for name, value in attrs.items() if name != "device"}
    names: dict[str, str] = find_op(op.name)._trace_names.attrs  # type: ignore[attr-defined]
    return ShardedCall(
        op=op,
        overload=overload,
        mesh_shape=tuple(specs[0].mesh.shape),
        groups=shapes,
        placements=[tuple(spec.placements) for spec in specs],
        output_counts=[hint(count) for count in counts],
        attrs=readable_attrs(op, names, attrs),
        schema_attrs=schema_attrs,
        outputs=[(hints(shape), dtype) for shape, dtype in _whole_outputs(op, overload, shapes, schema_attrs)],
        schema_names=names,
        device=specs[0].mesh.device_type,
    )


def _specs_of(item: object) -> list[DTensorSpec]:
    if isinstance(item, DTensorSpec):
        return [item]
    if isinstance(item, OpStrategy):
        return [item.strategies[0].output_spec]
    children = item.children if isinstance(item, TupleStrategy) else item if isinstance(item, (list, tuple)) else ()
    return [spec for child in children for spec in _specs_of(child)]


def _shape(spec: DTensorSpec) -> tuple[int, ...]:
    """Return a whole shape in numbers. Symbols stay symbols: `keep_plan` decides whether they may."""
    meta = spec.tensor_meta
    assert isinstance(meta, TensorMeta)
    return hints(meta.shape)


def _without_symbols(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_without_symbols(item) for item in value)
    return hint(value) if isinstance(value, torch.SymInt) else value


def _whole_outputs(
    op: OpDef, overload: Any, groups: Sequence[Sequence[tuple[Any, torch.dtype]]], attrs: dict[str, Any]
) -> list[tuple[Any, torch.dtype]]:
    tensors: list[Any] = []
    for arg, group in zip(op.inputs, groups, strict=True):
        taken = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in group]
        tensors.append(taken if arg.count != 1 or arg.count_is_minimum else taken[0] if taken else None)
    results = overload(*tensors, **attrs)
    listed = [results] if isinstance(results, torch.Tensor) else results or ()
    return [(tuple(result.shape), result.dtype) for result in listed]


def keep_plan(call: ShardedCall, plan: Plan, specs: Sequence[DTensorSpec], attrs: Iterable[Any]) -> None:
    """Let a plan that is made while torch traces be used for those sizes only for which it holds.

    All ranks trace with the same outer sizes, and guard on them alike. So they plan alike.
    """
    sizes = [size for spec in specs for size in spec.tensor_meta.shape]  # type: ignore[union-attr]
    entries = [entry for value in attrs for entry in (value if isinstance(value, (list, tuple)) else [value])]
    if any(is_symbol(size) for size in [*sizes, *entries]) and not _holds_for_all_sizes(call, plan, specs, entries):
        fix([*sizes, *entries])
    if _is_tracing():
        guard_outer_sizes()


def _is_tracing() -> bool:
    return torch._guards.TracingContext.try_get() is not None


def _holds_for_all_sizes(call: ShardedCall, plan: Plan, specs: Sequence[DTensorSpec], entries: Sequence[Any]) -> bool:
    if plan.chosen.moved or plan.reads_sizes or _needs_own_run(call.op) or any(is_symbol(entry) for entry in entries):
        return False
    rest = iter(specs)
    groups = [[(tuple(next(rest).tensor_meta.shape), dtype) for _, dtype in group] for group in call.groups]  # type: ignore[union-attr]
    outputs = _whole_outputs(call.op, call.overload, groups, call.schema_attrs)
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


def plan_call(
    call: ShardedCall, specs: Sequence[DTensorSpec], *, compare_all: bool = False, is_linear: bool = False
) -> Plan:
    """Choose the signature of a call whose input tensors lie as `specs` say."""
    metas = [_meta_of(shape, spec) for shape, spec in zip(call.shapes, specs, strict=True)]

    def cost(number: int, placements: Placements) -> float:
        spec, meta = specs[number], metas[number]
        now = DTensorSpec(spec.mesh, spec.placements, tensor_meta=meta)
        return float(redistribute_cost(now, DTensorSpec(spec.mesh, placements, tensor_meta=meta)))

    with torch.no_grad():
        return make_plan(call, cost, compare_all=compare_all, is_linear=is_linear)


def _meta_of(shape: tuple[int, ...], spec: DTensorSpec) -> TensorMeta:
    """Return the meta of a whole tensor in numbers; costs do not look at strides."""
    assert spec.tensor_meta is not None
    stride = tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))
    return TensorMeta(torch.Size(shape), stride, spec.tensor_meta.dtype)


@dataclass(frozen=True, kw_only=True)
class _Known:
    """How a call runs: what the strategy answered, the overload to call, and the attributes of this device."""

    sharding: Any
    overload: Any
    changed: dict[str, Any]
    is_plain: bool  # nothing is moved


_MOST_KNOWN = 4096
_known: dict[object, _Known] = {}  # by the op, where the inputs lie, and all attributes


def _run(op_call: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Run a call as DTensor does, with the attributes that each device needs."""
    kwargs = {name: _hashable(value) for name, value in kwargs.items()}  # they are part of a key
    specs: list[DTensorSpec | None] = []
    local_args = [_unwrapped(item, specs) for item in args]
    key = None
    if None not in specs and not _is_tracing():  # symbols are no keys, and a trace must see the strategy's guards
        counts = tuple(len(item) if isinstance(item, list) else item is None for item in local_args)
        key = (op_call, counts, *specs, *kwargs.items())
    known = None if key is None else _known.get(key)
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
            if len(_known) >= _MOST_KNOWN:  # shapes that never repeat must not fill the memory
                _known.clear()
            _known[key] = known
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
    groups = [_specs_of(item) for item in args]
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


def call_of(op: OpDef, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[ShardedCall, list[DTensorSpec]]:
    """Return a call with DTensors as the strategy sees it; `ArgumentError` for missing and for plain tensors."""
    if len(args) > len(op.inputs):
        raise ArgumentError(f'op "{op.name}": expected {len(op.inputs)} inputs, found {len(args)}\n  at {op.source}')
    kwargs = dict(kwargs)
    items = [*args, *(kwargs.pop(arg.name, None) for arg in op.inputs[len(args) :])]
    groups: list[list[DTensorSpec]] = []
    for arg, item in zip(op.inputs, items, strict=True):
        if item is None and not arg.is_optional:
            raise ArgumentError(f'op "{op.name}", input "{arg.name}": it is missing\n  defined at {op.source}')
        tensors = [] if item is None else list(item) if isinstance(item, (list, tuple)) else [item]
        for tensor in tensors:
            if not isinstance(tensor, DTensor):
                raise ArgumentError(
                    f'op "{op.name}", input "{arg.name}": expected a DTensor, found {type(tensor).__name__}\n'
                    "  make one with oneop.global_tensor or torch.distributed.tensor.distribute_tensor"
                )
        groups.append([tensor._spec for tensor in tensors])
    names: dict[str, str] = find_op(op.name)._trace_names.attrs  # type: ignore[attr-defined]
    attrs = {names.get(name, name): value for name, value in kwargs.items()}
    specs = [spec for group in groups for spec in group]
    if not specs:
        raise ArgumentError(f'op "{op.name}": expected a DTensor, found none: there is no mesh to run on')
    return make_call(op, find_op(op.name).overload, groups, attrs), specs


def whole_outputs(call: ShardedCall, specs: Sequence[DTensorSpec], kwargs: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return shape and stride of the whole outputs, with symbols where the inputs' shapes have them."""
    rest = iter(specs)
    groups = [[(tuple(next(rest).tensor_meta.shape), dtype) for _, dtype in group] for group in call.groups]  # type: ignore[union-attr]
    with without_modes():
        shapes = [shape for shape, _ in _whole_outputs(call.op, call.overload, groups, kwargs)]
    return [(torch.Size(shape), _contiguous_stride(shape)) for shape in shapes]


def _contiguous_stride(shape: Sequence[Any]) -> tuple[Any, ...]:
    stride: list[Any] = []
    step: Any = 1
    for size in reversed(shape):
        stride.insert(0, step)
        step = step * size
    return tuple(stride)


def lying(spec: DTensorSpec, placements: Placements) -> DTensorSpec:
    """Return the spec of the same tensor with other placements."""
    return DTensorSpec(spec.mesh, placements, tensor_meta=spec.tensor_meta)


def moved(tensor: DTensor, placements: Placements) -> DTensor:
    """Return a tensor with other placements, partial ones too. Not differentiable."""
    target = DTensorSpec(tensor.device_mesh, placements, tensor_meta=tensor._spec.tensor_meta)
    local = redistribute_local_tensor(tensor._local_tensor, tensor._spec, target)
    return DTensor(local, target, requires_grad=tensor.requires_grad)  # type: ignore[no-untyped-call]


def wrapped(part: torch.Tensor, mesh: DeviceMesh, placements: Placements, shape: Any, stride: Any) -> DTensor:
    """Return the DTensor of which this is the rank's part. Not differentiable."""
    spec = DTensorSpec(mesh, placements, tensor_meta=TensorMeta(torch.Size(shape), tuple(stride), part.dtype))
    return DTensor(part, spec, requires_grad=part.requires_grad)  # type: ignore[no-untyped-call]


@contextlib.contextmanager
def observed_redistribution(
    mode: str, strict: bool, make_error: Callable[[str], Exception], warn: Callable[[str], None]
) -> Iterator[None]:
    """Have DTensor raise or warn where it redistributes an input unasked; with `strict` where that is free, too."""
    log = logging.getLogger(ExplicitRedistributionContext.__module__)
    handler = _Warner(warn)
    log.addHandler(handler)
    log.addFilter(handler.take)
    try:
        with ExplicitRedistributionContext(strict=strict, mode=mode):
            yield
    except RuntimeError as error:
        text = str(error)
        if not text.startswith(_NOTICE):
            raise
        raise make_error(text) from None
    finally:
        log.removeFilter(handler.take)
        log.removeHandler(handler)


_NOTICE = "Implicit redistribution occurred for "


class _Warner(logging.Handler):
    """Turns DTensor's log lines about redistribution into warnings."""

    def __init__(self, warn: Callable[[str], None]) -> None:
        super().__init__()
        self._warn = warn

    def take(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if text.startswith(_NOTICE):
            self._warn(text)
            return False
        return True

    def emit(self, record: logging.LogRecord) -> None:
        """Leave other lines to the other handlers."""


finish()
