"""Cross entropy with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_cross_entropy", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SHAPES = [(4, 5), (2, 3, 7), (1, 33), (3,), (0, 4), (37, 600)]
BOUNDS = {"target": (0, 2)}
ATTRS = {"ignore_index": [-100, 1]}


@oneop.testing.reference("cross_entropy", shapes=[[s, s[:-1]] for s in SHAPES], values=BOUNDS, attrs=ATTRS)
def cross_entropy(logits, target, ignore_index=-100):
    wide = logits if logits.dtype == torch.float64 else logits.float()
    rows = wide.reshape(-1, wide.shape[-1])
    loss = torch.nn.functional.cross_entropy(rows, target.reshape(-1), reduction="none", ignore_index=ignore_index)
    return loss.view(target.shape), torch.logsumexp(wide, -1)


@oneop.testing.reference("cross_entropy_grad", shapes=[[s, *[s[:-1]] * 4] for s in SHAPES], values=BOUNDS, attrs=ATTRS)
def cross_entropy_grad(logits, target, lse, dloss, dlse, ignore_index):
    is_kept = target != ignore_index
    own = torch.where(is_kept, dloss, 0)[..., None]
    hot = torch.nn.functional.one_hot(torch.where(is_kept, target, 0), logits.shape[-1])
    p = torch.exp(logits.to(lse.dtype) - lse[..., None])
    return (p * (own + dlse[..., None]) - torch.where(hot > 0, own, 0)).to(logits.dtype)
