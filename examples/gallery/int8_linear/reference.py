"""A quantised linear layer with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_int8_linear", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SIZES = [(4, 8, 6), (1, 33, 5), (5, 1, 1), (0, 3, 4), (3, 4, 0), (67, 100, 37)]


@oneop.testing.reference("int8_linear", shapes=[[(m, k), (n, k), (n,)] for m, k, n in SIZES], values={"w": (-127, 127)})
def int8_linear(x, w, scale):
    wide = x.float()
    largest = wide.abs().amax(-1, keepdim=True)
    step = largest / 127
    step = torch.where(step < 1e-37, 0, step)
    q = torch.where(step > 0, torch.round(wide / step), 0)
    y = (q.double() @ w.double().T).float() * (step * scale)
    return torch.where(largest < float("inf"), y, float("nan")).to(x.dtype)
