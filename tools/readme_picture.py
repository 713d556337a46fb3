"""The picture of the README: the plan page of a small job, without its table, as one SVG file.

python -m tools.readme_picture docs/plan.svg
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

import oneop
from oneop import typing as tp

COLOURS = {"kernel": "#3079cc", "torch": "#5f8420", "python": "#c8524f", "cpu": "#8c6db4", "copy": "#808080"}
STYLE = (
    "text { font: 11px monospace; fill: #222 } .title { font: bold 15px sans-serif } "
    ".axis { stroke: #666 } "
    ".edge { fill: none; stroke: #888; opacity: .6 } .buffer { stroke: #fff; stroke-width: .5; opacity: .85 } "
    + " ".join(f".{name} {{ fill: {colour} }}" for name, colour in COLOURS.items())
)


def make_page() -> str:
    """Return the plan page of a job: two layers with an op between them, and a softmax."""
    swish = oneop.define("picture_swish(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    swish.register_kernel("cpu", dtypes=torch.float32)(lambda x: x * (1 + np.tanh(x / 2)) / 2)

    @oneop.global_function(name="predict")
    def predict(
        x: tp.Numpy.Placeholder((64, 32), dtype=oneop.float32),
        w1: tp.Numpy.Placeholder((32, 128), dtype=oneop.float32),
        w2: tp.Numpy.Placeholder((128, 10), dtype=oneop.float32),
    ) -> tp.Numpy:
        hidden = swish(x @ w1)
        gate = torch.sigmoid(hidden)
        return torch.softmax((hidden * gate) @ w2, dim=-1)

    with tempfile.TemporaryDirectory() as folder:
        return predict.plan().to_html(Path(folder) / "plan.html").read_text()


def picture_of(page: str) -> str:
    """Return the graph and the memory of a plan page as one SVG, on white."""
    parts = {}
    for name in ("graph", "memory"):
        [(attributes, body)] = re.findall(rf'<svg id="{name}"([^>]*)>(.*?)</svg>', page, re.DOTALL)
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', attributes)
        assert box is not None
        body = re.sub(r"<title>.*?</title>", "", body, flags=re.DOTALL)  # they name files of this machine
        parts[name] = (float(box[1]), float(box[2]), body)
    graph_width, graph_height, graph = parts["graph"]
    width, height, memory = parts["memory"]
    top, bound, first, last = (
        re.findall(rf'<span class="{name}">(.*?)</span>', page, re.DOTALL)[0].replace("\n", "")
        for name in ("top", "bound", "first", "last")
    )
    scale = 0.6
    left, right, low = 430, 430 + width * scale, 60 + height * scale
    tall = max(40 + graph_height, low + 30)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1010 {tall:.0f}" role="img">\n<style>{STYLE}</style>\n'
        f'<rect width="1010" height="{tall:.0f}" fill="#fff"/>\n'
        '<text class="title" x="20" y="24">Steps of a job</text>'
        '<text class="title" x="430" y="24">Their memory: steps to the right, addresses upwards</text>\n'
        f'<svg x="10" y="30" width="{graph_width}" height="{graph_height}">{graph}</svg>\n'
        f'<text x="{left}" y="50">{top}</text><text x="{right:.0f}" y="50" text-anchor="end">{bound}</text>\n'
        f'<g transform="translate({left} 60) scale({scale})">{memory}</g>\n'
        f'<text x="{left}" y="{low + 18:.0f}">{first}</text>'
        f'<text x="{right:.0f}" y="{low + 18:.0f}" text-anchor="end">{last}</text>\n</svg>\n'
    )


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(picture_of(make_page()))
