"""Ops as functions of jax arrays, with the gradients that their libraries register."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from oneop._build.library import Library
from oneop.errors import ArgumentError, OpNotImplementedError
from oneop.hosts.engine import editions, engine, load_ops
from oneop.hosts.frameworks import Namespace
from oneop.hosts.gradients import Gradient
from oneop.jax.primitive import call_p, described, dtype_of, params_of, register_target, varying_axes

JAX = Namespace(jax.numpy, dtype_of)


class _Static:
    """A gradient among residuals: no array, so part of the tree's structure."""

    def __init__(self, gradient: Gradient, num_before: int) -> None:
        self.gradient = gradient
        self.num_before = num_before


jax.tree_util.register_pytree_node(_Static, lambda static: ((), static), lambda static, _: static)


@functools.lru_cache(maxsize=4096)
def function_of(
    name: str,
    attrs: bytes,
    input_counts: tuple[int, ...],
    output_counts: tuple[int, ...],
    edition: str,
    in_shard_map: bool = False,
) -> Callable[..., list[Any]]:
    """Return a call as a differentiable function of its arrays: one for each combination, so that jit knows it.

    `in_shard_map`: there JAX does not say which inputs need a gradient, so all that can have one get it. The arrays
    differ over the same axes of the mesh, see `_alike`.
    """
    params = {**params_of(name, attrs, input_counts, output_counts), "edition": edition}

    @jax.custom_vjp  # type: ignore[untyped-decorator]
    def call(*arrays: Any) -> list[Any]:
        outputs: list[Any] = call_p.bind(*arrays, **params)
        return outputs

    def forward(*primals: Any) -> tuple[list[Any], Any]:
        if in_shard_map:
            arrays = list(primals)
            needs = [jax.numpy.issubdtype(array.dtype, jax.numpy.inexact) for array in arrays]
        else:
            arrays = [primal.value for primal in primals]
            needs = [primal.perturbed for primal in primals]
        gradient = Gradient.of(described(arrays, params), needs)
        outputs = call(*arrays)  # not the primitive: its own derivative may be asked for
        blobs = [*arrays, *outputs]
        return outputs, (_Static(gradient, len(blobs)), {blob: blobs[blob] for blob in gradient.saved})

    def backward(residuals: Any, cotangents: Sequence[Any]) -> tuple[Any, ...]:
        static, saved = residuals
        grads = [_cotangent(cotangent) for cotangent in cotangents]
        results = static.gradient.run(saved, static.num_before, grads, _run_step, JAX)
        axes = _axes_of([grad for grad in grads if grad is not None]) if in_shard_map else frozenset()
        return tuple(None if grad is None else _varying(grad, axes) for grad in results)

    call.defvjp(forward, backward, symbolic_zeros=not in_shard_map)
    return call  # type: ignore[no-any-return]


def _axes_of(arrays: Sequence[Any]) -> frozenset[Any]:
    return frozenset[Any]().union(*(varying_axes(jax.typeof(array)) for array in arrays))


def _varying(array: Any, axes: frozenset[Any]) -> Any:
    """Return the array as one that differs over these axes of the mesh; its gradient is then summed over them."""
    missing = tuple(sorted(axes - varying_axes(jax.typeof(array))))
    if not missing:
        return array
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(array, missing, to="varying")
    return jax.lax.pvary(array, missing)


def _traced(key: tuple[str, bytes, tuple[int, ...], tuple[int, ...], str], arrays: Sequence[Any]) -> list[Any]:
    """Call an op within a program that is traced."""
    if not jax.sharding.get_abstract_mesh().manual_axes:
        return function_of(*key)(*arrays)
    axes = _axes_of(arrays)
    return function_of(*key, in_shard_map=True)(*(_varying(array, axes) for array in arrays))


def _cotangent(cotangent: Any) -> Any:
    if cotangent.dtype == jax.dtypes.float0:
        return None
    if isinstance(cotangent, jax.custom_derivatives.SymbolicZero):
        return jax.numpy.zeros(cotangent.shape, cotangent.dtype)
    return cotangent


def _run_step(name: str, inputs: list[list[Any]], attrs: bytes, output_counts: Sequence[int]) -> list[Any]:
    counts = tuple(map(len, inputs))
    key = (name, attrs, counts, tuple(output_counts), editions.get(name, ""))
    return _traced(key, [array for group in inputs for array in group])


@functools.cache
def _array_type() -> type:
    """Return the class of arrays with data. isinstance(x, jax.Array) is slow, and true of tracers too."""
    return type(jax.numpy.zeros(()))


def _shaped(outputs: Sequence[Any], returns_tuple: bool) -> Any:
    return outputs[0] if len(outputs) == 1 and not returns_tuple else tuple(outputs)


@functools.lru_cache(maxsize=4096)
def _program(
    name: str,
    attrs: bytes,
    input_counts: tuple[int, ...],
    output_counts: tuple[int, ...],
    edition: str,
    returns_tuple: bool,
) -> Callable[..., Any]:
    """Return the compiled program of calls on arrays with data."""
    call = function_of(name, attrs, input_counts, output_counts, edition)

    @jax.jit  # type: ignore[untyped-decorator]
    def program(*arrays: Any) -> Any:
        return _shaped(call(*arrays), returns_tuple)

    return program  # type: ignore[no-any-return]


class _General:
    """Calls of an op on jax arrays in the general way. Attributes are static: each value is a program of its own."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name
        self.kept: Any = None  # what users call: it hands calls that repeat on to their programs
        self.num_kept = -1  # how many arrays are handed on
        self._read()

    def _read(self) -> None:
        """Read the op's definition. Raises `OpNotImplementedError` if it is none for arrays of JAX."""
        name = self.__name__
        edition = editions.get(name, "")
        info = engine().op_info(name)
        changed = [arg["name"] for arg in info["inputs"] if arg["is_mutable"]]
        if changed:
            raise OpNotImplementedError(
                f'op "{name}" changes its input "{changed[0]}", and arrays of JAX do not change\n'
                f"  define an op that returns the new value as an output"
            )
        dynamic = [arg["name"] for arg in info["outputs"] if arg["dynamic_axes"]]
        if dynamic:
            raise OpNotImplementedError(
                f'op "{name}": the size of its output "{dynamic[0]}" depends on data, and arrays of JAX have fixed '
                f"sizes\n  define an op that fills an array of the largest size and returns the count"
            )
        self.__doc__ = info["doc"]
        self.inputs = [arg["name"] for arg in info["inputs"]]
        self._returns_tuple = any(arg["is_optional"] or arg["count_is_minimum"] for arg in info["outputs"])
        self._edition = edition

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the op, and note the program for calls like this one. Raises as the call on torch's tensors does."""
        edition = editions.get(self.__name__, "")
        if edition != self._edition:  # the library was loaded again
            self._read()
        tensors, attrs, counts = engine().bind(self.__name__, args, kwargs)
        arrays = [self._array(i, tensor) for i, group in enumerate(tensors) for tensor in group]
        key = (self.__name__, attrs, tuple(map(len, tensors)), tuple(counts), edition)
        if any(type(array) is not _array_type() for array in arrays):  # traced
            return _shaped(_traced(key, arrays), self._returns_tuple)
        program = _program(*key, self._returns_tuple)
        if len(args) == len(self.inputs) == self.num_kept and all(type(arg) is _array_type() for arg in args):
            self.kept.keep(edition, kwargs, program)
        return program(*arrays)

    def __repr__(self) -> str:
        """Name it."""
        return f"<oneop op {self.__name__} on jax arrays>"

    def _array(self, number: int, tensor: Any) -> Any:
        if isinstance(tensor, jax.Array):
            return tensor
        if isinstance(tensor, (np.ndarray, np.generic)):
            return jax.numpy.asarray(tensor)
        place = engine().op_info(self.__name__)["source"]
        raise ArgumentError(
            f'op "{self.__name__}", input "{self.inputs[number]}": '
            f"expected a jax.Array, found {type(tensor).__name__}\n"
            f"  defined at {place['file']}:{place['line']}"
        )


class _Ops:
    """Every op that is loaded, as an attribute: `oneop.jax.ops.myrelu`."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the op of this name. Raises `OpNotFoundError`, with the nearest name."""
        if name.startswith("__"):
            raise AttributeError(name)
        return _op_of(engine().resolve(name))

    def __dir__(self) -> list[str]:
        """List the ops."""
        names: list[str] = engine().op_names()
        return names


def _op_of(name: str) -> Callable[..., Any]:
    return _op(name, editions.get(name, ""))


@functools.lru_cache(maxsize=4096)
def _op(name: str, edition: str) -> Callable[..., Any]:
    register_target()
    general = _General(name)
    kept = engine().keep_calls(general, _array_type(), len(general.inputs), name, editions)
    kept.__dict__.update(__name__=name, __qualname__=name, __doc__=general.__doc__)
    general.kept = kept
    general.num_kept = len(general.inputs)
    return kept  # type: ignore[no-any-return]


ops = _Ops()


class JaxLibrary:
    """What a library brought: its ops are attributes."""

    def __init__(self, ops_of: tuple[str, ...], package: str) -> None:
        self.ops = ops_of
        self.package = package

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the op of this name if it belongs to the library."""
        if name.startswith("__") or name in ("ops", "package"):
            raise AttributeError(name)
        whole = f"{self.package}__{name}" if self.package else name
        if whole not in self.ops:
            raise AttributeError(f'this library has no op "{name}"; it has: {", ".join(self.ops)}')
        return _op_of(whole)


def load(library: Library | str | os.PathLike[str], *, package: str = "") -> JaxLibrary:
    """Load an op library: what `oneop.build` returned, or the path of a shared object."""
    names = load_ops(library, package)
    register_target()  # programs that jax.export brings from elsewhere ask for no op
    return JaxLibrary(names, package)
