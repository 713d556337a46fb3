"""The tanh form of gelu, as one op."""

from pathlib import Path

import torch

import oneop

HERE = Path(__file__).parent
BUILT = HERE / "fast_gelu.so"  # in a wheel
library = oneop.load(BUILT) if BUILT.is_file() else oneop.load("fast_gelu", [HERE / "fast_gelu.cpp"])

fast_gelu = oneop.ops.fast_gelu


@fast_gelu.register_grad
def grad(ctx, dy):
    c, k = 0.7978845608028654, 0.044715
    t = torch.tanh(c * (ctx.x + k * ctx.x**3))
    return dy * (0.5 * (1 + t) + 0.5 * ctx.x * (1 - t * t) * c * (1 + 3 * k * ctx.x**2))


__all__ = ["fast_gelu"]
