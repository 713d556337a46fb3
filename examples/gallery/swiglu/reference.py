"""SwiGLU with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch
from torch.nn.functional import silu

import oneop
import oneop.testing

library = oneop.load("gallery_swiglu", [Path(__file__).with_name("op.cpp")])

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
