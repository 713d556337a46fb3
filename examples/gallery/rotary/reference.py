"""Rotary embedding with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_rotary", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SHAPES = [(2, 3, 4, 6), (1, 5, 3, 2), (3, 1, 1, 34), (0, 3, 2, 4), (2, 0, 2, 4), (2, 17, 20, 64)]
CALLS = [[s, (s[1], s[3] // 2), (s[1], s[3] // 2)] for s in SHAPES]


@oneop.testing.reference("rotary", shapes=CALLS)
def rotary(x, cosine, sine, interleaved=False):
    wide = x.to(cosine.dtype)
    c, s = cosine[:, None], sine[:, None]
    if interleaved:
        a, b = wide[..., ::2], wide[..., 1::2]
        return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2).to(x.dtype)
    a, b = wide.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)


@oneop.testing.reference("rotary_back", shapes=CALLS)
def rotary_back(x, cosine, sine, interleaved=False):
    return rotary(x, cosine, -sine, interleaved)
