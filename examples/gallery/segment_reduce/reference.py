"""Sums and maxima of segments with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_segment_reduce", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SIZES = [(4, 3), (9, 1), (1, 5), (0, 4), (3, 0), (301, 67)]
CALLS = [[s, s[:1]] for s in SIZES]
ATTRS = {"segments": [3, 7]}
BOUNDS = {"index": (0, 2)}


@oneop.testing.reference("segment_sum", shapes=CALLS, attrs=ATTRS, values=BOUNDS)
def segment_sum(x, index, segments):
    wide = x if x.dtype == torch.float64 else x.float()
    return wide.new_zeros(segments, x.shape[1]).index_add(0, index, wide).to(x.dtype)


@oneop.testing.reference(
    "segment_gather", shapes=[[(3, s[1]), s[:1]] for s in SIZES], attrs={"segments": [3]}, values=BOUNDS
)
def segment_gather(y, index, segments):
    return y[index]


@oneop.testing.reference("segment_max", shapes=CALLS, attrs=ATTRS, values=BOUNDS)
def segment_max(x, index, segments):
    n, d = x.shape
    columns = index[:, None].expand(n, d)
    y = x.new_zeros(segments, d).scatter_reduce(0, columns, x, "amax", include_self=False)
    best = y[index]
    is_best = (x == best) | (x.isnan() & best.isnan())
    rows = torch.where(is_best, torch.arange(n, device=x.device)[:, None], n)
    first = torch.full((segments, d), n, device=x.device).scatter_reduce(0, columns, rows, "amin")
    return y, torch.where(first == n, -1, first)


@oneop.testing.reference(
    "segment_max_grad",
    shapes=[[s[:1], (3, s[1]), (3, s[1])] for s in SIZES],
    values={**BOUNDS, "row": (-1, 8)},
)
def segment_max_grad(index, row, dy):
    return torch.where(row[index] == torch.arange(len(index), device=dy.device)[:, None], dy[index], 0)
