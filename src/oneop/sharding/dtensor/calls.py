"""Calls as the planner sees them, from what DTensor asks about or from DTensors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.distributed.tensor import DTensor

from oneop.errors import ArgumentError
from oneop.registry import OpDef
from oneop.runtime.core import find_op
from oneop.runtime.modes import without_modes
from oneop.sharding.dtensor.private import (
    DTensorSpec,
    OpSchema,
    OpStrategy,
    TensorMeta,
    TupleStrategy,
    redistribute_cost,
)
from oneop.sharding.planning import Placements, Plan, ShardedCall, make_plan, readable_attrs
from oneop.sharding.symbolic import hint, hints


def read_schema(op: OpDef, overload: Any, schema: OpSchema) -> tuple[ShardedCall, list[DTensorSpec]]:
    """Return the call that DTensor asks about, and the specs of its input tensors."""
    groups = [specs_of(item) for item in schema.args_schema]
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
        outputs=[(hints(shape), dtype) for shape, dtype in shapes_of_outputs(op, overload, shapes, schema_attrs)],
        schema_names=names,
        device=specs[0].mesh.device_type,
    )


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


def specs_of(item: object) -> list[DTensorSpec]:
    """Return the specs of an argument: of a tensor, of a list of them, or of what a strategy is asked about."""
    if isinstance(item, DTensorSpec):
        return [item]
    if isinstance(item, OpStrategy):
        return [item.strategies[0].output_spec]
    children = item.children if isinstance(item, TupleStrategy) else item if isinstance(item, (list, tuple)) else ()
    return [spec for child in children for spec in specs_of(child)]


def _shape(spec: DTensorSpec) -> tuple[int, ...]:
    """Return a whole shape in numbers. Symbols stay symbols: `keep_plan` decides whether they may."""
    meta = spec.tensor_meta
    assert isinstance(meta, TensorMeta)
    return hints(meta.shape)


def _without_symbols(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return type(value)(_without_symbols(item) for item in value)
    return hint(value) if isinstance(value, torch.SymInt) else value


def shapes_of_outputs(
    op: OpDef, overload: Any, groups: Sequence[Sequence[tuple[Any, torch.dtype]]], attrs: dict[str, Any]
) -> list[tuple[Any, torch.dtype]]:
    """Return shape and dtype of each output, for inputs of these shapes and dtypes."""
    tensors: list[Any] = []
    for arg, group in zip(op.inputs, groups, strict=True):
        taken = [torch.empty(shape, dtype=dtype, device="meta") for shape, dtype in group]
        tensors.append(taken if arg.count != 1 or arg.count_is_minimum else taken[0] if taken else None)
    results = overload(*tensors, **attrs)
    listed = [results] if isinstance(results, torch.Tensor) else results or ()
    return [(tuple(result.shape), result.dtype) for result in listed]


def whole_outputs(call: ShardedCall, specs: Sequence[DTensorSpec], kwargs: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return shape and stride of the whole outputs, with symbols where the inputs' shapes have them."""
    rest = iter(specs)
    groups = [[(tuple(next(rest).tensor_meta.shape), dtype) for _, dtype in group] for group in call.groups]  # type: ignore[union-attr]
    with without_modes():
        shapes = [shape for shape, _ in shapes_of_outputs(call.op, call.overload, groups, kwargs)]
    return [(torch.Size(shape), _contiguous_stride(shape)) for shape in shapes]


def _contiguous_stride(shape: Sequence[Any]) -> tuple[Any, ...]:
    stride: list[Any] = []
    step: Any = 1
    for size in reversed(shape):
        stride.insert(0, step)
        step = step * size
    return tuple(stride)


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
