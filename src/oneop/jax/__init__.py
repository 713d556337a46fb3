"""Op libraries on jax.Array: eager, under jit, differentiated, batched and sharded.

import oneop.jax

oneop.jax.load("libmyops.so")
y = jax.jit(oneop.jax.ops.myrelu)(x)
dx = jax.grad(lambda x: oneop.jax.ops.myrelu(x, alpha=0.2).sum())(x)
"""

from oneop.errors import MissingDependencyError

try:
    import jax.ffi as _ffi  # noqa: F401
except ModuleNotFoundError as error:
    raise MissingDependencyError(f"oneop.jax needs jax, which is not installed ({error})\n  pip install jax") from None

from oneop.jax import batching as _batching  # their rules are registered
from oneop.jax import sharding as _sharding
from oneop.jax.calls import JaxLibrary as JaxLibrary
from oneop.jax.calls import load as load
from oneop.jax.calls import ops as ops

__all__ = ["JaxLibrary", "load", "ops"]
assert _batching and _sharding
