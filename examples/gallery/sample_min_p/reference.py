"""Drawing a token with torch. `oneop check` and `oneop bench` take this file."""

from pathlib import Path

import torch

import oneop
import oneop.testing

HERE = Path(__file__).parent
library = oneop.load("gallery_sample_min_p", oneop.usable_sources(HERE / "op.cpp", HERE / "op.cu"))

SHAPES = [(4, 5), (2, 3, 7), (1, 33), (3,), (0, 4), (11, 1001)]


@oneop.testing.reference(
    "sample_min_p",
    shapes=[[s, s] for s in SHAPES],
    values={"noise": (0.01, 3.0)},
    attrs={"temperature": [1.0, 0.5], "min_p": [0.05, 0.3]},
)
def sample_min_p(logits, noise, temperature=1.0, min_p=0.05):
    wide = logits.to(noise.dtype)
    lowest = wide.amax(-1, keepdim=True) + torch.log(noise.new_tensor(min_p)) * temperature
    scores = wide / temperature - torch.log(noise)
    return torch.where((wide >= lowest) & ~scores.isnan(), scores, -float("inf")).argmax(-1)
