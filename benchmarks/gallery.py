"""gallery: the ops of examples/gallery against torch, eager and compiled by inductor; one thread, then all.

inductor compiles C++ for each op, which takes minutes: --no-cpp leaves it out. On a machine with a GPU the CUDA kernels
are measured too, as by `gallery_cuda` alone.
"""

from __future__ import annotations

import argparse
import os
import runpy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F

from benchmarks import gallery_cuda
from benchmarks._gallery_ways import BUILTIN, COMPILED, COMPOSED, GALLERY, OURS
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Contender, race

TOKENS, WIDTH, VOCABULARY = 512, 2048, 32_000


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An op, its inputs, and torch's ways to do the same; the reference is one of them."""

    folder: str
    name: str
    inputs: Callable[[], list[torch.Tensor]]
    attrs: dict[str, Any] = field(default_factory=dict)
    builtin: Callable[..., Any] | None = None  # torch's own op, where it has one
    composed: Callable[..., Any] | None = None  # instead of the reference, where that takes a detour
    backward: bool = False


def _adam_builtin() -> Callable[..., Any]:
    step = torch.tensor(2.0)

    def run(p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor, lr: float) -> None:
        torch._fused_adamw_(
            [p], [g], [m], [v], [], [step],
            lr=lr, beta1=0.9, beta2=0.999, weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False,
        )  # fmt: skip

    return run


def _gate(logits: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    values, experts = torch.topk(logits, k)
    return torch.softmax(values, -1), experts


def _linear(x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return F.linear(x, w.float() * scale[:, None])


def _positions(count: int, half: int) -> list[torch.Tensor]:
    angles = torch.arange(count)[:, None] / 10_000 ** (torch.arange(half) / half)
    return [angles.cos(), angles.sin()]


def _loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, target, reduction="none")


def _sample(logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    p = torch.softmax(logits, -1)
    return torch.where(p >= 0.05 * p.amax(-1, keepdim=True), p / noise, 0.0).argmax(-1)


def _randn(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


ENTRIES = (
    Entry(
        folder="rms_norm",
        name="rms_norm",
        inputs=lambda: [_randn(TOKENS, WIDTH), _randn(WIDTH)],
        builtin=lambda x, w: F.rms_norm(x, w.shape, w, 1e-6),
        backward=True,
    ),
    Entry(
        folder="add_layer_norm",
        name="add_layer_norm",
        inputs=lambda: [_randn(TOKENS, WIDTH), _randn(TOKENS, WIDTH), _randn(WIDTH), _randn(WIDTH)],
        backward=True,
    ),
    Entry(folder="swiglu", name="swiglu", inputs=lambda: [_randn(TOKENS, 2 * WIDTH)], backward=True),
    Entry(
        folder="rotary",
        name="rotary",
        inputs=lambda: [_randn(1, TOKENS, 16, 128), *_positions(TOKENS, 64)],
        backward=True,
    ),
    Entry(
        folder="cross_entropy",
        name="cross_entropy",
        inputs=lambda: [_randn(64, VOCABULARY), torch.randint(VOCABULARY, (64,))],
        composed=_loss,
        backward=True,
    ),
    Entry(
        folder="segment_reduce",
        name="segment_sum",
        inputs=lambda: [_randn(20_000, 64), torch.randint(2_000, (20_000,))],
        attrs={"segments": 2_000},
        backward=True,
    ),
    Entry(
        folder="moe_gate",
        name="moe_gate",
        inputs=lambda: [_randn(4096, 64)],
        attrs={"k": 4},
        composed=_gate,
        backward=True,
    ),
    Entry(
        folder="int8_linear",
        name="int8_linear",
        inputs=lambda: [_randn(64, WIDTH), torch.randint(-127, 128, (WIDTH, WIDTH)).to(torch.int8), torch.rand(WIDTH)],
        composed=_linear,
    ),
    Entry(
        folder="causal_conv1d",
        name="causal_conv1d",
        inputs=lambda: [_randn(1, 1024, 1024), _randn(1024, 4), _randn(1024)],
        attrs={"silu": True},
        backward=True,
    ),
    Entry(
        folder="paged_gather",
        name="paged_gather",
        inputs=lambda: [_randn(256, 16, 8, 64), torch.randint(256, (8, 16)), torch.randint(100, 257, (8,))],
        attrs={"length": 256},
    ),
    Entry(
        folder="adam_step",
        name="adam_step",
        inputs=lambda: [_randn(1_000_000), _randn(1_000_000), torch.zeros(1_000_000), torch.zeros(1_000_000)],
        attrs={"lr": 1e-3},
        builtin=_adam_builtin(),
    ),
    Entry(
        folder="sample_min_p",
        name="sample_min_p",
        inputs=lambda: [_randn(16, VOCABULARY), torch.empty(16, VOCABULARY).exponential_()],
        composed=_sample,
    ),
)


def _first(result: Any) -> torch.Tensor:
    tensor: torch.Tensor = result[0] if isinstance(result, tuple) else result
    return tensor


def _with_backward(function: Callable[..., Any]) -> Callable[..., Any]:
    """A step of training: forward, and the gradients of all floating inputs that ask for one."""

    def run(*inputs: torch.Tensor, **attrs: Any) -> None:
        result = _first(function(*inputs, **attrs))
        wanted = [tensor for tensor in inputs if tensor.requires_grad]
        torch.autograd.grad(result, wanted, torch.ones_like(result))

    return run


def _contenders(entry: Entry, direction: str, *, compiles: bool) -> list[Contender]:
    program = runpy.run_path(str(GALLERY / entry.folder / "reference.py"))
    composed = entry.composed or program[entry.name]
    ways = {OURS: getattr(program["library"], entry.name), COMPOSED: composed}
    if entry.builtin is not None:
        ways[BUILTIN] = entry.builtin
    if compiles:
        ways[COMPILED] = torch.compile(composed, dynamic=False)
    inputs = entry.inputs()
    if direction == "training":
        ways = {name: _with_backward(way) for name, way in ways.items()}
        wanted = inputs[:1] if entry.folder == "rotary" else inputs
        for tensor in wanted:
            tensor.requires_grad_(tensor.is_floating_point())
    return [
        Contender(name=name, statement="f(*inputs, **attrs)", names={"f": way, "inputs": inputs, "attrs": entry.attrs})
        for name, way in ways.items()
    ]


def measure(options: argparse.Namespace) -> Section:
    """Race each op; the bar is at most 1.11 of the least time of torch's ways: 0.9 of the best speed."""
    section = Section(name="gallery", title="examples/gallery, float32")
    threads = torch.get_num_threads()
    for count in dict.fromkeys((1, len(os.sched_getaffinity(0)))):
        torch.set_num_threads(count)
        torch.compiler.reset()
        for entry in ENTRIES:
            for direction in ("forward", "training") if entry.backward else ("forward",):
                timings = race(
                    _contenders(entry, direction, compiles=options.cpp),
                    seconds=0.8 if options.quick else 4.0,
                    rounds=7 if options.quick else 21,
                )
                best = min((timing for timing in timings if timing.name != OURS), key=lambda timing: timing.best)
                title = f"{entry.name}, {direction}, {count} thread{'s' * (count > 1)}"
                table = Table(title=title, timings=timings, base=best.name)
                section.tables.append(table)
                section.bars.append(
                    Bar(text=f"{title}, over {best.name}", limit=1.11, found=table.ratio(OURS, best.name))
                )
    torch.set_num_threads(threads)
    section.notes.append("training: forward and the gradients of all inputs that have one")
    if torch.cuda.is_available() and options.only and "gallery_cuda" not in options.only:
        gallery_cuda.add(section, options)
    return section
