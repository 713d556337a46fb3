"""A causal convolution with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch
import torch.nn.functional as F

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_causal_conv1d", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SIZES = [(2, 3, 5, 4), (1, 2, 9, 3), (3, 1, 1, 2), (2, 3, 7, 1), (1, 2, 3, 6), (0, 2, 4, 3), (3, 17, 101, 4)]
CALLS = [[(b, c, t), (c, k), (c,)] for b, c, t, k in SIZES]


@oneop.testing.reference("causal_conv1d", shapes=CALLS)
def causal_conv1d(x, w, bias, silu=False):
    y = F.conv1d(F.pad(x, (w.shape[1] - 1, 0)), w[:, None], bias, groups=w.shape[0])
    return F.silu(y) if silu else y


@oneop.testing.reference("causal_conv1d_grad", shapes=[[*call, call[0]] for call in CALLS])
def causal_conv1d_grad(x, w, bias, dy, silu):
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    inputs = [tensor.detach().to(wide).requires_grad_() for tensor in (x, w, bias)]
    with torch.enable_grad():
        gradients = torch.autograd.grad(causal_conv1d(*inputs, silu), inputs, dy.to(wide))
    return tuple(gradient.to(x.dtype) for gradient in gradients)
