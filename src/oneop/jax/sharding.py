"""Calls on arrays that are spread over devices: a sharding rule made of the op's SBP signatures."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
from jax._src import dispatch
from jax.experimental.custom_partitioning import custom_partitioning
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from oneop.errors import OpNotImplementedError
from oneop.hosts.engine import PARTIAL_SUM, SPLIT, engine
from oneop.hosts.gradients import Call
from oneop.jax.primitive import call_p, described, has_effect, local_p, lower_local


@dataclass(frozen=True)
class Factors:
    """Which dimensions of the tensors are split together: one factor for each signature."""

    dims: tuple[tuple[str, ...], ...]  # the factor of each dimension of each tensor
    summed: tuple[tuple[str, ...], ...]  # for each output: factors whose parts are summed
    whole: tuple[str, ...]  # factors that are not split
    num_inputs: int

    @property
    def rule(self) -> str:
        """Return the rule as Shardy reads it."""
        words = [" ".join(names) for names in self.dims]
        return f"{', '.join(words[: self.num_inputs])} -> {', '.join(words[self.num_inputs :])}"


def factors_of(called: Call) -> Factors:
    """Return the factors of a call. A dimension belongs to the first signature that splits it."""
    specs = [spec for group in called.inputs for spec in group]
    num_inputs = len(specs)
    shapes = [shape for shape, _ in [*specs, *called.infer()]]
    dims: list[list[str]] = [[""] * len(shape) for shape in shapes]
    summed: list[list[str]] = [[] for _ in shapes[num_inputs:]]
    signatures = engine().signatures(called.name, called.inputs, called.attrs, called.output_counts, 2)
    for number, signature in enumerate(signatures):
        places = [(t, axis) for t, (kind, axis) in enumerate(signature) if kind == SPLIT]
        partial = [t - num_inputs for t, (kind, _) in enumerate(signature) if kind == PARTIAL_SUM]
        outputs_follow = all(kind in (SPLIT, PARTIAL_SUM) for kind, _ in signature[num_inputs:])
        is_free = all(not dims[t][axis] for t, axis in places)
        one_size = len({shapes[t][axis] for t, axis in places}) == 1
        if not (places and outputs_follow and is_free and one_size) or any(t < 0 for t in partial):
            continue
        for t, axis in places:
            dims[t][axis] = f"f{number}"
        for output in partial:
            summed[output].append(f"f{number}")
    whole = []
    for t, names in enumerate(dims):
        for axis, name in enumerate(names):
            if not name:
                names[axis] = f"w{t}x{axis}"
                whole.append(names[axis])
    return Factors(tuple(map(tuple, dims)), tuple(map(tuple, summed)), tuple(whole), num_inputs)


@dataclass(frozen=True)
class _Placement:
    """The mesh axes of each factor, as the inputs have them."""

    factors: Factors
    axes: dict[str, Any]

    @classmethod
    def of(cls, factors: Factors, shardings: Sequence[Any]) -> _Placement:
        axes: dict[str, Any] = {}
        used: set[str] = set()
        for names, sharding in zip(factors.dims, shardings, strict=False):
            for name, entry in zip(names, getattr(sharding, "spec", ()), strict=False):
                words = set(entry if isinstance(entry, tuple) else (entry,)) - {None}
                if words and name not in axes and name not in factors.whole and not words & used:
                    axes[name] = entry
                    used |= words
        return cls(factors, axes)

    def specs(self, mesh: Any) -> list[NamedSharding]:
        """Return the sharding of each tensor."""
        return [
            NamedSharding(mesh, PartitionSpec(*(self.axes.get(name) for name in names))) for names in self.factors.dims
        ]

    def has_copies(self, mesh: Any) -> bool:
        """Tell whether several devices have the same part of the call."""
        used = [entry if isinstance(entry, tuple) else (entry,) for entry in self.axes.values()]
        return bool(math.prod(mesh.shape[axis] for entry in used for axis in entry) != mesh.size)


def partitioned(called: Call, params: dict[str, Any]) -> Callable[..., list[Any]]:
    """Return the call as a function of arrays that XLA may split between devices."""
    factors = factors_of(called)
    count = factors.num_inputs
    is_random = engine().op_info(called.name)["random"]

    @custom_partitioning  # type: ignore[untyped-decorator]
    def call(*arrays: Any) -> list[Any]:
        outputs: list[Any] = local_p.bind(*arrays, **params)
        return outputs

    def partition(mesh: Any, arguments: Any, _results: Any) -> Any:
        placement = _Placement.of(factors, [argument.sharding for argument in arguments])
        specs = placement.specs(mesh)
        if is_random and placement.has_copies(mesh):
            raise _refusal(called.name, "is random, and some devices would have copies of a part")

        def local(*arrays: Any) -> list[Any]:
            outputs = local_p.bind(*arrays, **params)
            for i, names in enumerate(factors.summed):
                for axes in (placement.axes[name] for name in names if name in placement.axes):
                    outputs[i] = jax.lax.psum(outputs[i], axes)
            return list(outputs)

        return mesh, local, list(specs[count:]), tuple(specs[:count])

    def infer(mesh: Any, arguments: Any, _results: Any) -> Any:
        placement = _Placement.of(factors, [argument.sharding for argument in arguments])
        return list(placement.specs(mesh)[count:])

    kept = {name for names in factors.dims[count:] for name in names}  # another output is split by it: no reduction
    reduced = tuple(sorted({name for names in factors.summed for name in names} - kept))
    call.def_partition(
        partition,
        infer_sharding_from_operands=infer,
        sharding_rule=factors.rule,
        reduction_factors=reduced,
        need_replication_factors=factors.whole,
    )
    return call  # type: ignore[no-any-return]


def _lower(ctx: Any, *operands: Any, on_cuda: bool = False, **params: Any) -> Any:
    num_devices = getattr(ctx.module_context.axis_context, "num_devices", 1) or 1
    if num_devices == 1:
        return lower_local(ctx, *operands, on_cuda=on_cuda, **params)
    name = params["name"]
    info = engine().op_info(name)
    if has_effect(name):
        raise _refusal(name, "does more than give outputs")
    if not info["has_sbp"]:
        if info["random"]:
            raise _refusal(name, "is random and has no SBP signatures")
        return lower_local(ctx, *operands, on_cuda=on_cuda, **params)
    return mlir.lower_fun(partitioned(described(ctx.avals_in, params), params), multiple_results=True)(ctx, *operands)


def _refusal(name: str, reason: str) -> OpNotImplementedError:
    return OpNotImplementedError(
        f'op "{name}" {reason}: in a program over several devices JAX would not say which of them call it\n'
        f"  call it in jax.shard_map, where each device does"
    )


mlir.register_lowering(call_p, _lower, platform="cpu")
mlir.register_lowering(call_p, functools.partial(_lower, on_cuda=True), platform="cuda")
# custom_partitioning needs the devices while it is lowered, and jit hands them out only to programs that contain one of
# these. There is no public name for the set.
dispatch.prim_requires_devices_during_lowering.add(call_p)
