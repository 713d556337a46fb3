"""RMSNorm with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_rms_norm", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SHAPES = [[(4, 8), (8,)], [(3, 2, 5), (5,)], [(1, 33), (33,)], [(7,), (7,)], [(0, 4), (4,)], [(67, 100), (100,)]]


@oneop.testing.reference("rms_norm", shapes=SHAPES, attrs={"eps": [1e-6, 0.5]})
def rms_norm(x, w, eps=1e-6):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * w


@oneop.testing.reference("rms_norm_grad", shapes=[[*call, call[0]] for call in SHAPES], attrs={"eps": [1e-6, 0.5]})
def rms_norm_grad(x, w, dy, eps):
    r = torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)
    t = dy * w
    dx = r * (t - x * (t * x).mean(-1, keepdim=True) * r * r)
    return dx, (dy * x * r).reshape(-1, w.numel()).sum(0)
