"""The library of test_drawing.py and test_functor_types.py, with the ops that its functors call."""

import functools
from pathlib import Path

import numpy as np
import torch

import oneop

FOLDER = Path(__file__).parent


@functools.cache
def load():
    library = oneop.load("fn_drawing", [FOLDER / "drawing.cpp"], functional=[FOLDER / "drawing.yaml"])
    floats = (torch.float32, torch.float64)
    full = oneop.define("fr_full(*, int[] size) -> Tensor y", differentiable=False)
    full.register_infer(lambda size: oneop.TensorSpec(tuple(size), torch.float32))
    full.register_kernel("cpu")(lambda size: np.ones(size, np.float32))
    parts = oneop.define("fr_parts(Tensor x) -> (Tensor y, Tensor index)")
    parts.register_infer(lambda x: (oneop.TensorSpec(x.shape, x.dtype), oneop.TensorSpec(x.shape, torch.int64)))
    parts.register_kernel("cpu", dtypes={"x": floats})(lambda x: (x * 1, np.argsort(x)))
    to_int = oneop.define("fr_to_int(Tensor x) -> Tensor y")
    to_int.register_infer(lambda x: oneop.TensorSpec(x.shape, torch.int64))
    to_int.register_kernel("cpu", dtypes={"x": floats})(lambda x: x.astype(np.int64))
    for name in ("fr_null_grad", "fr_drawn_grad"):
        oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise").register_kernel("cpu")(lambda x: x * 1)
    return library
