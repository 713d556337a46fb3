"""A step of AdamW with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_adam_step", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SHAPES = [(4, 5), (1,), (33,), (0, 3), (61, 113)]


@oneop.testing.reference(
    "adam_step",
    shapes=[[s] * 4 for s in SHAPES],
    attrs={"lr": [0.1, 1e-3], "beta1": [0.5], "beta2": [0.75], "eps": [1e-3], "weight_decay": [0.25], "step": [1, 7]},
    values={"v": (0, 2)},
)
def adam_step(p, g, m, v, lr, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01, step=1):
    wide, gradient = p.to(m.dtype), g.to(m.dtype)
    m.mul_(beta1).add_(gradient, alpha=1 - beta1)
    v.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    root = v.sqrt() / (1 - beta2**step) ** 0.5 + eps
    p.copy_(wide * (1 - lr * weight_decay) - lr / (1 - beta1**step) * m / root)
