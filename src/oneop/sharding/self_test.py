"""Whether DTensor is as the adapter needs it: asked at first use, before any op is registered with it.

A torch that oneop was tested with is asked for the parts and for its keys. Any other torch also runs a call, through
the steps that `dtensor/` takes: on the strategy's path and on that of a handler. No process group is needed.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.distributed.tensor._op_schema import OpSchema, OpSpec, OpStrategy

from oneop._build.torch_install import is_tested
from oneop.runtime.modes import without_modes
from oneop.sharding.dtensor import private

_adapter: Any = private  # with the names that it takes from torch

#: Values of each type of attribute.
_PAIRS: tuple[tuple[object, object], ...] = ((1, 2), (1.0, 2.0), ("a", "b"), (False, True), ((1, 2), (2, 1)), (None, 1))


def why_unusable() -> str:
    """Return what of the installed torch's DTensor is not as the adapter needs it, or nothing."""
    try:
        problem = missing_parts() or self_test()
        return problem if problem or is_tested(torch.__version__) else try_call()
    except Exception as error:  # of a torch that nobody has seen: anything may come
        return f"its self-test raised {type(error).__name__}: {str(error).partition(chr(10))[0]}"


def missing_parts() -> str:
    """Return what of DTensor is not there, or nothing."""
    dispatcher = DTensor._op_dispatcher
    parts = [
        (dispatcher, ("sharding_propagator", "_custom_op_handlers", "unwrap_to_op_info", "redistribute_local_args")),
        (dispatcher.sharding_propagator, ("register_op_strategy", "op_to_schema_info", "propagate")),
        (dispatcher, ("wrap", "_dispatch_get_local_results_slow_path")),
        (torch._C, ("_clear_DTensor_sharding_propagator_cache",)),
    ]
    absent = [name for owner, names in parts for name in names if not hasattr(owner, name)]
    return f"its DTensor has no {', '.join(absent)}" if absent else ""


def self_test() -> str:
    """Return what of DTensor does not behave as the adapter relies on, or nothing."""
    spec = _spec()
    overload = torch.ops.aten.leaky_relu.default

    def key(names: list[str], **attrs: object) -> object:
        info = _adapter.RuntimeSchemaInfo(100, names, needs_pytree=False)
        return OpSchema(overload, (spec,), attrs, schema_info=info)

    if key(["a"], a=1, b=1) != key(["a"], a=1, b=2):
        return "its key has attributes that were not named"
    if any(key(["a"], a=value) == key(["a"], a=other) for value, other in _PAIRS):
        return "its key lacks an attribute that was named"
    if key(["a"]) == key(["a", "b"]) or key(["a"], a=1) == key(["a", "b"], a=1):
        return "a key with more names is found under one with fewer"
    moved = DTensorSpec(spec.mesh, (Replicate(),), tensor_meta=spec.tensor_meta)
    if not _adapter.redistribute_cost(spec, moved) > 0 or _adapter.redistribute_cost(moved, spec) != 0:
        return "its costs of redistribution are others"
    return ""


def try_call() -> str:
    """Call an op that exists for this test only, with a DTensor; return what is wrong with the result, or nothing."""
    _define_times()
    overload = torch.ops.oneop_self_test.times.default
    dispatcher = DTensor._op_dispatcher
    propagator = dispatcher.sharding_propagator
    propagator.register_op_strategy(overload, _same_placements, _adapter.RuntimeSchemaInfo(100, ["by"]))
    spec = _spec()
    part = torch.arange(4.0).reshape(2, 2)
    tensor: Any = DTensor(part, spec, requires_grad=False)  # type: ignore[no-untyped-call]
    try:
        with without_modes():
            for path in ("strategy", "handler"):
                if path == "handler":
                    dispatcher._custom_op_handlers[overload] = _handle
                for factor in (3, 5):
                    result = overload(tensor, by=factor)
                    if not isinstance(result, DTensor) or result.placements != spec.placements:
                        return f"a call by the {path} does not give a DTensor that lies as it was told"
                    if not torch.equal(result._local_tensor, part * factor):
                        return f"a call by the {path} has another result"
    finally:
        dispatcher._custom_op_handlers.pop(overload, None)
        propagator.op_strategy_funcs.pop(overload, None)
    return ""


@functools.cache
def _define_times() -> torch.library.Library:
    """Define the op, and keep it: torch 2.11 crashes if one of the same name is called after the first one is gone."""
    library: Any = torch.library.Library("oneop_self_test", "FRAGMENT")  # type: ignore[no-untyped-call]
    library.define("times(Tensor x, *, int by=2) -> Tensor")
    library.impl("times", lambda x, by=2: x * by, "CompositeExplicitAutograd")
    return library  # type: ignore[no-any-return]


def _spec() -> DTensorSpec:
    mesh = DeviceMesh("cpu", torch.arange(2), _init_backend=False, _rank=0)
    return DTensorSpec(mesh, (Shard(0),), tensor_meta=TensorMeta(torch.Size((4, 2)), (2, 1), torch.float32))


def _same_placements(schema: OpSchema) -> OpStrategy:
    strategy: Any = schema.args_schema[0]
    spec = strategy.strategies[0].output_spec
    mesh = schema.get_mesh_from_args(validate=False)
    taken = DTensorSpec(mesh, spec.placements, tensor_meta=spec.tensor_meta)
    output = DTensorSpec(mesh, spec.placements)
    return OpStrategy([OpSpec(output_specs=output, input_specs=[taken], redistribute_cost=[[0.0]])])


def _handle(op_call: Any, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Run a call as `dtensor.running` does."""
    dispatcher = DTensor._op_dispatcher
    info: Any = dispatcher.unwrap_to_op_info(op_call, args, kwargs)
    sharding = dispatcher.sharding_propagator.propagate_op_sharding_non_cached(info.schema)
    return dispatcher.wrap(op_call(*info.local_args, **info.local_kwargs), sharding.output_spec)
