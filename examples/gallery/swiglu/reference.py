"""SwiGLU with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch
from torch.nn.functional import silu

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_swiglu", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SHAPES = [(4, 6), (3, 2, 10), (1, 66), (0, 4), (3, 0), (67, 200)]


@oneop.testing.reference("swiglu", shapes=[[s] for s in SHAPES])
def swiglu(x):
    gate, value = x.chunk(2, -1)
    return silu(gate) * value


@oneop.testing.reference("swiglu_grad", shapes=[[s, (*s[:-1], s[-1] // 2)] for s in SHAPES])
def swiglu_grad(x, dy):
    gate, value = x.chunk(2, -1)
    s = torch.sigmoid(gate)
    return torch.cat([dy * value * s * (1 + gate * (1 - s)), dy * gate * s], -1)
