"""The router with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_moe_gate", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SHAPES = [(4, 5), (2, 3, 8), (1, 33), (0, 4), (67, 100)]


@oneop.testing.reference("moe_gate", shapes=[[s] for s in SHAPES], attrs={"k": [1, 2, 4]})
def moe_gate(logits, k, renormalize=True):
    wide = logits if logits.dtype == torch.float64 else logits.float()
    order = torch.sort(wide, dim=-1, descending=True, stable=True).indices[..., :k]
    weights = torch.softmax(wide, -1).gather(-1, order)
    if renormalize:
        weights = weights / weights.sum(-1, keepdim=True)
    return weights.to(logits.dtype), order


@oneop.testing.reference("moe_gate_grad", shapes=[[s, *[(*s[:-1], 2)] * 3] for s in SHAPES], values={"experts": (0, 3)})
def moe_gate_grad(logits, weights, experts, dweights, renormalize):
    inner = (weights * dweights).sum(-1, keepdim=True)
    if renormalize:
        return torch.zeros_like(logits).scatter_add(-1, experts, weights * (dweights - inner))
    return (-inner * torch.softmax(logits, -1)).scatter_add(-1, experts, weights * dweights)
