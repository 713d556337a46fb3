"""A chain of C++ ops in jax: jax.jit around jax.ffi. Absent where jax is not installed."""

from __future__ import annotations

import ctypes
import functools
import os
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import ALPHA, SOURCES


def jax_chain(length: int) -> Callable[[np.ndarray], np.ndarray] | None:
    """Return `length` calls of our kernel, compiled by jax; numpy in, numpy out. None without jax."""
    op = jax_op()
    if op is None:
        return None
    import jax

    @jax.jit
    def chain(x: Any) -> Any:
        for _ in range(length):
            x = op(x)
        return x

    return lambda x: np.asarray(chain(x))


@functools.cache
def jax_op() -> Callable[[Any], Any] | None:
    """Return the kernel behind a handler of its own, as jax.ffi's tutorial has it; None without jax."""
    try:
        import jax
        import jax.ffi
    except ImportError:
        return None
    library = str(Path(tempfile.mkdtemp(prefix="oneop_bench_")) / "leaky_relu_jax.so")
    flags = ["-O3", "-march=native", "-fno-math-errno", "-fno-trapping-math", "-std=c++17", "-shared", "-fPIC"]
    command = [os.environ.get("CXX", "g++"), *flags, f"-I{jax.ffi.include_dir()}"]
    subprocess.run([*command, str(SOURCES / "leaky_relu_jax.cpp"), "-o", library], check=True)
    handler = ctypes.CDLL(library).leaky_relu_handler
    jax.ffi.register_ffi_target("oneop_bench_leaky_relu", jax.ffi.pycapsule(handler), platform="cpu")

    def op(x: Any) -> Any:
        result = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.ffi.ffi_call("oneop_bench_leaky_relu", result)(x, alpha=np.float32(ALPHA))

    return op
