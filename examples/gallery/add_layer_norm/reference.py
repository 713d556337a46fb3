"""A residual and LayerNorm with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_add_layer_norm", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SHAPES = [(4, 8), (3, 2, 5), (1, 33), (7,), (0, 4), (67, 100)]
ATTRS = {"eps": [1e-5, 0.5]}


@oneop.testing.reference("add_layer_norm", shapes=[[s, s, s[-1:], s[-1:]] for s in SHAPES], attrs=ATTRS)
def add_layer_norm(x, residual, w, b, eps=1e-5):
    h = x + residual
    return torch.nn.functional.layer_norm(h, w.shape, w, b, eps), h


@oneop.testing.reference("add_layer_norm_grad", shapes=[[s, s[-1:], s, s] for s in SHAPES], attrs=ATTRS)
def add_layer_norm_grad(h, w, dy, dh, eps):
    centred = h - h.mean(-1, keepdim=True)
    r = torch.rsqrt(centred.square().mean(-1, keepdim=True) + eps)
    t, z = dy * w, centred * r
    dx = dh + r * (t - t.mean(-1, keepdim=True) - z * (t * z).mean(-1, keepdim=True))
    return dx, (dy * z).reshape(-1, w.numel()).sum(0), dy.reshape(-1, w.numel()).sum(0)
