"""An op whose kernel is a loop that numba compiles."""

import importlib.util
import sys

import torch

import oneop

if importlib.util.find_spec("numba") is None:
    sys.exit(print("this example needs numba: pip install numba"))

running_max = oneop.define("running_max(Tensor x) -> (Tensor value, Tensor index)", differentiable=False)


@running_max.register_infer
def infer(x):
    return x, x.like(dtype=torch.int64)


@running_max.register_check
def check(x):
    return x.ndim == 1 or f"x has {x.ndim} axes, expected 1"


@running_max.register_kernel("cpu", language="numba")
def kernel(x, out):
    value, index = out
    best = 0
    for i in range(x.size):
        if x[i] > x[best]:
            best = i
        value[i] = x[best]
        index[i] = best


x = torch.randn(10)
value, index = running_max(x)
print(value, index)
torch.testing.assert_close(value, torch.cummax(x, 0).values)
