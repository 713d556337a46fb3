"""A gather of pages with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_paged_gather", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

CALLS = [
    [(3, 4, 2, 5), (2, 3), (2,)],
    [(4, 2, 1, 1), (1, 4), (1,)],
    [(3, 16, 3, 64), (5, 1), (5,)],
    [(3, 4, 2, 0), (2, 3), (2,)],
    [(3, 8, 2, 3), (0, 2), (0,)],
]


@oneop.testing.reference(
    "paged_gather", shapes=CALLS, attrs={"length": [7, 8, 3]}, values={"table": (0, 2), "lengths": (0, 3)}
)
def paged_gather(cache, table, lengths, length):
    y = cache[table].flatten(1, 2)[:, :length]
    is_kept = torch.arange(length, device=lengths.device) < lengths[:, None]
    return torch.where(is_kept[..., None, None], y, 0)
