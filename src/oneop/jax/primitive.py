"""The primitives behind all ops, and how XLA calls them.

`call_p` is what programs contain. On several devices its lowering goes through `custom_partitioning`, whose parts are
`local_p`: a call on what one device has.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax._src import effects
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jax.sharding import NamedSharding, PartitionSpec

from oneop.errors import ArgumentError, OpNotImplementedError
from oneop.hosts.engine import editions, engine
from oneop.hosts.gradients import Call
from oneop.model.dtypes import BY_NAME

TARGET = "oneop_call"

call_p = Primitive("oneop_call")
call_p.multiple_results = True
local_p = Primitive("oneop_local_call")
local_p.multiple_results = True


class _OpEffect(effects.Effect):  # type: ignore[misc]
    """What an op does beside giving outputs: a call with it is made although nobody reads them."""

    def __str__(self) -> str:
        """Name it, for printed programs."""
        return "oneop"


_EFFECT = _OpEffect()
# Where such calls may stand. There are no public names for the sets.
effects.lowerable_effects.add_type(_OpEffect)
effects.control_flow_allowed_effects.add_type(_OpEffect)
effects.custom_derivatives_allowed_effects.add_type(_OpEffect)
effects.remat_allowed_effects.add_type(_OpEffect)


@functools.cache
def register_target() -> None:
    """Build the handler for the installed jaxlib, and tell XLA about it. Once in a process."""
    from oneop.hosts.build import jax_host_path

    library = ctypes.CDLL(str(jax_host_path()))
    library.oneop_set_runtime.argtypes = [ctypes.c_void_p]
    library.oneop_set_runtime(engine().runtime())
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(library.oneop_xla_call), platform="cpu")
    jax.ffi.register_ffi_target(TARGET, jax.ffi.pycapsule(library.oneop_xla_call_on_cuda), platform="CUDA")


def params_of(name: str, attrs: bytes, input_counts: Sequence[int], output_counts: Sequence[int]) -> dict[str, Any]:
    """Return the parameters of a primitive: all of a call but its arrays."""
    return {
        "name": name,
        "attrs": attrs,
        "input_counts": tuple(input_counts),
        "output_counts": tuple(output_counts),
        "edition": editions.get(name, ""),  # so that programs of a library that was replaced are not used
    }


def described(avals: Sequence[Any], params: dict[str, Any]) -> Call:
    """Return the call on arrays like these, without its data. Raises for arrays that the engine cannot describe."""
    specs = iter([_spec(aval, params["name"]) for aval in avals])
    inputs = tuple(tuple(next(specs) for _ in range(count)) for count in params["input_counts"])
    return Call(params["name"], inputs, params["attrs"], params["output_counts"])


def _spec(aval: Any, op: str) -> tuple[tuple[int, ...], str]:
    shape, dtype = tuple(aval.shape), np.dtype(aval.dtype).name
    if dtype not in BY_NAME:
        raise ArgumentError(f'op "{op}": arrays of dtype {dtype} are not supported')
    if not all(isinstance(length, int) for length in shape):
        raise OpNotImplementedError(
            f'op "{op}": an input has the shape ({", ".join(map(str, shape))}), and inference of op libraries takes '
            f"numbers\n  export a program for each size"
        )
    return shape, dtype


def has_effect(name: str) -> bool:
    """Tell whether calls of the op do more than give outputs. One without outputs is called for that."""
    info = engine().op_info(name)
    return bool(info["side_effect"] or not info["outputs"])


def varying_axes(aval: Any) -> frozenset[Any]:
    """Return the axes of the mesh over which an array differs within `jax.shard_map`."""
    if hasattr(aval, "mat"):  # newer JAX
        return frozenset(aval.mat.varying)
    return frozenset(getattr(aval, "vma", ()))


def _result(avals: Sequence[Any], shape: Sequence[int], dtype: Any) -> Any:
    """Describe an output. It differs over the axes of a mesh as the inputs do, which all differ over the same ones."""
    for aval in avals:
        if varying_axes(aval):
            whole = NamedSharding(aval.sharding.mesh, PartitionSpec(*[None] * len(shape)))
            return aval.update(shape=tuple(shape), dtype=dtype, weak_type=False, sharding=whole)
    return jax.core.ShapedArray(shape, dtype)


def dtype_of(name: str) -> Any:
    """Return jax's dtype of this name: the narrower one where 64 bits are switched off."""
    return jax.dtypes.canonicalize_dtype(jax.numpy.dtype(name))


def _infer(*avals: Any, **params: Any) -> tuple[list[Any], set[Any]]:
    outputs = []
    for shape, dtype in described(avals, params).infer():
        if dtype_of(dtype) != jax.numpy.dtype(dtype):
            raise OpNotImplementedError(
                f'op "{params["name"]}" gives {dtype}, which JAX holds only with 64 bits switched on\n'
                f'  jax.config.update("jax_enable_x64", True)'
            )
        outputs.append(_result(avals, shape, jax.numpy.dtype(dtype)))
    return outputs, {_EFFECT} if has_effect(params["name"]) else set()


def _words(params: dict[str, Any]) -> np.ndarray[Any, Any]:
    """Return the call as the handler reads it: the op's name, counts of inputs and outputs, then attributes.

    One array, since XLA looks each attribute of a handler up by its name at each call.
    """
    name = params["name"].encode()
    padded = np.frombuffer(name.ljust((len(name) + 7) // 8 * 8, b"\0"), np.int64)
    counts = [
        word for numbers in (params["input_counts"], params["output_counts"]) for word in (len(numbers), *numbers)
    ]
    parts = [[len(name)], padded, counts, np.frombuffer(params["attrs"], np.int64)]
    return np.concatenate([np.asarray(part, np.int64) for part in parts])


def lower_local(ctx: Any, *operands: Any, on_cuda: bool = False, **params: Any) -> Any:
    """Lower a call on what one device has: a call of the handler."""
    called = described(ctx.avals_in, params)
    info = engine().op_info(called.name)
    if not on_cuda:
        engine().choose(called.name, called.inputs, called.attrs, called.output_counts)  # or say why there is no kernel
    elif any(arg["on_host"] for arg in info["inputs"]):
        raise OpNotImplementedError(f'op "{called.name}" reads an input in host memory, which XLA does not hand over')
    rule = jax.ffi.ffi_lowering(TARGET, has_side_effect=bool(info["random"]) or has_effect(called.name))
    return rule(ctx, *operands, words=_words(params))


@functools.lru_cache(maxsize=4096)
def _compiled(primitive: Any, **params: Any) -> Any:
    return jax.jit(functools.partial(primitive.bind, **params))


def _run(*arrays: Any, primitive: Any, **params: Any) -> Any:
    """Run a call on arrays with data. A kernel is run by XLA alone, so `jax.disable_jit` ends here."""
    program = _compiled(primitive, **params)
    if not jax.config.jax_disable_jit:
        return program(*arrays)
    with jax.disable_jit(False):
        return program(*arrays)


for _primitive in (call_p, local_p):
    _primitive.def_effectful_abstract_eval(_infer)
    _primitive.def_impl(functools.partial(_run, primitive=_primitive))
# Those of call_p are in sharding.py.
mlir.register_lowering(local_p, lower_local, platform="cpu")
mlir.register_lowering(local_p, functools.partial(lower_local, on_cuda=True), platform="cuda")
