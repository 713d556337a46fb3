"""gallery_cuda: the CUDA kernels of examples/gallery beside torch's, eager and compiled, and the copy bandwidth.

Times are medians by CUDA events, over inputs too large for the cache, without the host's time. The share of the copy's
bandwidth is (bytes that have to be read and written) / time, over that of y.copy_(x). Needs a GPU.
"""

from __future__ import annotations

import argparse
import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch._functorch.config as functorch_config
import torch.nn.functional as F

from benchmarks._events import race_events
from benchmarks._gallery_ways import BUILTIN, COMPILED, COMPOSED, GALLERY, OURS
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Timing, find, tell

AHEAD = 2_000_000  # cycles, about a millisecond: longer than the host takes for any of these calls
TOKENS, WIDTH, VOCABULARY = 65_536, 4096, 128_256

Tensors = list[torch.Tensor]


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An op, inputs for a dtype, torch's ways to do the same, and how many bytes must be moved."""

    folder: str
    name: str
    inputs: Callable[[torch.dtype], Tensors]
    forward: Callable[[Tensors], float] | None  # bytes; None: it is not the memory that limits it
    backward: Callable[[Tensors], float] | None = None
    attrs: dict[str, Any] = field(default_factory=dict)
    builtin: Callable[..., Any] | None = None
    composed: Callable[..., Any] | None = None  # instead of the reference, where that takes a detour
    num_results: int = 1  # that gradients come back to
    note: str = ""
    dtypes: tuple[torch.dtype, ...] = (torch.bfloat16, torch.float32)


def _bytes(*tensors: torch.Tensor) -> float:
    return float(sum(tensor.numel() * tensor.element_size() for tensor in tensors))


def _randn(*shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=dtype)


def _wide(dtype: torch.dtype) -> torch.dtype:
    return torch.float64 if dtype == torch.float64 else torch.float32


def _angles(count: int, half: int) -> Tensors:
    angles = torch.arange(count, device="cuda")[:, None] / 10_000 ** (torch.arange(half, device="cuda") / half)
    return [angles.cos(), angles.sin()]


def _rotary(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    a, b = x.chunk(2, -1)
    c, s = cosine[:, None], sine[:, None]
    return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)


def _loss(logits: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits, target, reduction="none")


def _segment_sum(x: torch.Tensor, index: torch.Tensor, segments: int) -> torch.Tensor:
    return x.new_zeros(segments, x.shape[1]).index_add(0, index, x)


def _gate(logits: torch.Tensor, k: int) -> tuple[torch.Tensor, torch.Tensor]:
    values, experts = torch.topk(logits, k)
    return torch.softmax(values.float(), -1).to(logits.dtype), experts


def _int8_linear(x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    """By torch's own product of int8."""
    wide = x.float()
    step = wide.abs().amax(-1, keepdim=True) / 127
    q = torch.round(wide / step).to(torch.int8)
    return (torch._int_mm(q, w.t()).float() * (step * scale)).to(x.dtype)


def _dequantised(x: torch.Tensor, w: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return F.linear(x, w.to(x.dtype) * scale.to(x.dtype)[:, None])


def _adam_builtin(p: torch.Tensor, g: torch.Tensor, m: torch.Tensor, v: torch.Tensor, lr: float) -> None:
    torch._fused_adamw_(
        [p], [g], [m], [v], [], [torch.ones((), device="cuda")],
        lr=lr, beta1=0.9, beta2=0.999, weight_decay=0.01, eps=1e-8, amsgrad=False, maximize=False,
    )  # fmt: skip


def _sample(logits: torch.Tensor, noise: torch.Tensor) -> torch.Tensor:
    p = torch.softmax(logits.float(), -1)
    return torch.where(p >= 0.05 * p.amax(-1, keepdim=True), p / noise, 0.0).argmax(-1)


def _conv(x: torch.Tensor, w: torch.Tensor, bias: torch.Tensor, silu: bool) -> torch.Tensor:
    y = F.conv1d(F.pad(x, (w.shape[1] - 1, 0)), w[:, None], bias, groups=w.shape[0])
    return F.silu(y) if silu else y


def _pages(dtype: torch.dtype) -> Tensors:
    """128 sequences of up to 1024 tokens."""
    table = torch.randint(8192, (128, 64), device="cuda")
    return [_randn(8192, 16, 8, 128, dtype=dtype), table, torch.randint(512, 1025, (128,), device="cuda")]


def _moments(dtype: torch.dtype) -> Tensors:
    count = 1 << 28
    return [
        *(_randn(count, dtype=dtype) for _ in range(2)),
        *(torch.zeros(count, device="cuda", dtype=_wide(dtype)) for _ in range(2)),
    ]


def _int8(m: int, n: int, k: int) -> Callable[[torch.dtype], Tensors]:
    def make(dtype: torch.dtype) -> Tensors:
        w = torch.randint(-127, 128, (n, k), device="cuda").to(torch.int8)
        return [_randn(m, k, dtype=dtype), w, torch.rand(n, device="cuda") / 64]

    return make


ENTRIES = (
    Entry(
        folder="rms_norm",
        name="rms_norm",
        inputs=lambda d: [_randn(TOKENS, WIDTH, dtype=d), _randn(WIDTH, dtype=d)],
        builtin=lambda x, w: F.rms_norm(x, w.shape, w, 1e-6),
        forward=lambda t: 2 * _bytes(t[0]),
        backward=lambda t: 3 * _bytes(t[0]),
    ),
    Entry(
        folder="add_layer_norm",
        name="add_layer_norm",
        inputs=lambda d: (
            [_randn(TOKENS, WIDTH, dtype=d) for _ in range(2)] + [_randn(WIDTH, dtype=d) for _ in range(2)]
        ),
        forward=lambda t: 4 * _bytes(t[0]),
        backward=lambda t: 4 * _bytes(t[0]),
        num_results=2,
    ),
    Entry(
        folder="swiglu",
        name="swiglu",
        inputs=lambda d: [_randn(TOKENS, 2 * WIDTH, dtype=d)],
        forward=lambda t: 1.5 * _bytes(t[0]),
        backward=lambda t: 2.5 * _bytes(t[0]),
    ),
    Entry(
        folder="rotary",
        name="rotary",
        inputs=lambda d: [_randn(16, 4096, 32, 128, dtype=d), *_angles(4096, 64)],
        composed=_rotary,
        forward=lambda t: 2 * _bytes(t[0]),
        backward=lambda t: 2 * _bytes(t[0]),
    ),
    Entry(
        folder="cross_entropy",
        name="cross_entropy",
        inputs=lambda d: [_randn(4096, VOCABULARY, dtype=d), torch.randint(VOCABULARY, (4096,), device="cuda")],
        composed=_loss,
        forward=lambda t: _bytes(t[0]),
        backward=lambda t: 2 * _bytes(t[0]),
    ),
    Entry(
        folder="adam_step",
        name="adam_step",
        inputs=_moments,
        attrs={"lr": 1e-3},
        builtin=_adam_builtin,
        forward=lambda t: 2 * _bytes(t[0], t[2], t[3]) + _bytes(t[1]),
    ),
    Entry(
        folder="paged_gather",
        name="paged_gather",
        inputs=_pages,
        attrs={"length": 1024},
        forward=lambda t: (float(t[2].sum()) + 1024 * 128) * t[0][0, 0].numel() * t[0].element_size(),
    ),
    Entry(
        folder="moe_gate",
        name="moe_gate",
        inputs=lambda d: [_randn(1 << 21, 64, dtype=d)],
        attrs={"k": 4},
        composed=_gate,
        forward=lambda t: _bytes(t[0]) + 4 * len(t[0]) * (t[0].element_size() + 8),
        backward=lambda t: _bytes(t[0]) + 4 * len(t[0]) * (2 * t[0].element_size() + 8),
        note="limited by its comparisons",
    ),
    Entry(
        folder="segment_reduce",
        name="segment_sum",
        inputs=lambda d: [_randn(1 << 21, 256, dtype=d), torch.randint(1 << 17, (1 << 21,), device="cuda")],
        attrs={"segments": 1 << 17},
        composed=_segment_sum,
        forward=lambda t: _bytes(*t) + (1 << 17) * 256 * t[0].element_size(),
        backward=lambda t: _bytes(*t) + (1 << 17) * 256 * t[0].element_size(),
        note="sorts the index; torch adds by atomics, in another order each time",
    ),
    Entry(
        folder="sample_min_p",
        name="sample_min_p",
        inputs=lambda d: [
            _randn(2048, VOCABULARY, dtype=d),
            torch.empty(2048, VOCABULARY, device="cuda", dtype=_wide(d)).exponential_(),
        ],
        composed=_sample,
        forward=lambda t: _bytes(*t),
        note="long rows are read twice",
    ),
    Entry(
        folder="causal_conv1d",
        name="causal_conv1d",
        inputs=lambda d: [_randn(8, 4096, 8192, dtype=d), _randn(4096, 4, dtype=d), _randn(4096, dtype=d)],
        attrs={"silu": True},
        composed=_conv,
        forward=lambda t: 2 * _bytes(t[0]),
        backward=lambda t: 3 * _bytes(t[0]),
    ),
    Entry(
        folder="int8_linear",
        name="int8_linear",
        inputs=_int8(8192, 8192, 8192),
        builtin=_int8_linear,
        composed=_dequantised,
        forward=None,
        note="8192 x 8192 x 8192",
        dtypes=(torch.bfloat16,),
    ),
    Entry(
        folder="int8_linear",
        name="int8_linear",
        inputs=_int8(32, 32_768, 8192),
        builtin=_int8_linear,
        composed=_dequantised,
        forward=lambda t: _bytes(*t) + 32 * 32_768 * t[0].element_size(),
        note="32 rows of x: the weights are what is read",
        dtypes=(torch.bfloat16,),
    ),
)


def measure(options: argparse.Namespace) -> Section:
    """Race each op, forward and backward; all bars are information."""
    section = Section(name="gallery_cuda", title="examples/gallery on a GPU")
    add(section, options)
    return section


def add(section: Section, options: argparse.Namespace) -> None:
    """Put what is measured on the GPU into a section, where there is one."""
    if not torch.cuda.is_available():
        section.notes.append("no CUDA device: nothing measured there")
        return
    section.notes.append(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    # Graphs are walked back several times, which compiled ones refuse where they give memory away.
    functorch_config.donated_buffer = False
    for entry in ENTRIES:
        for dtype in entry.dtypes[:1] if options.quick else entry.dtypes:
            for direction in ("forward", "backward") if entry.backward else ("forward",):
                _race(section, entry, dtype, direction, options)
                torch.cuda.empty_cache()


def _race(section: Section, entry: Entry, dtype: torch.dtype, direction: str, options: argparse.Namespace) -> None:
    torch.manual_seed(0)
    inputs = entry.inputs(dtype)
    title = f"{entry.name} {direction}, {str(dtype).removeprefix('torch.')}"
    title += f" ({entry.note})" if entry.note else ""
    tell(f"  {title} ...")
    ways = _ways(entry, direction, inputs, compiles=options.cpp)
    # A copy of as many bytes as the first input has, at least of those that no cache holds.
    source = torch.empty(1 << 29, device="cuda", dtype=torch.int8)
    target = torch.empty_like(source)
    copied = "y.copy_(x)"
    timings = race_events(
        {copied: lambda: target.copy_(source), **ways}, rounds=9 if options.quick else 15, ahead=AHEAD
    )
    copy, ours = find(timings, copied), find(timings, OURS)
    if copy is None or ours is None:
        return
    peers = [timing for timing in timings if timing.name not in (copied, OURS)]
    best = min(peers, key=lambda timing: timing.median, default=ours)
    table = Table(title=title, timings=timings, base=best.name, by_median=True)
    section.tables.append(table)
    count = entry.forward if direction == "forward" else entry.backward
    share = None
    if count is not None:
        share = (count(inputs) / ours.median) / (2 * _bytes(source) / copy.median)
        section.bars.append(Bar(text=f"{title}, to copy bandwidth", limit=0.9, found=share, at_least=True))
    section.bars.append(
        Bar(
            text=f"{title}, speed to {best.name}",
            limit=0.9,
            found=best.median / ours.median,
            at_least=True,
        )
    )
    _tell(ours, best, share, _trillions(entry, inputs, ours))


def _tell(ours: Timing, best: Timing, share: float | None, trillions: float | None) -> None:
    """Print the result at once: a run may be cut short."""
    text = f"    {ours.median * 1e6:.0f} us, {best.median / ours.median:.2f} times the speed of {best.name}"
    text += "" if share is None else f", {share:.2f} of the copy's bandwidth"
    tell(text + ("" if trillions is None else f", {trillions:.0f} trillion operations a second"))


def _trillions(entry: Entry, inputs: Tensors, ours: Timing) -> float | None:
    if entry.name != "int8_linear":
        return None
    return 2.0 * inputs[0].numel() * len(inputs[1]) / ours.median / 1e12


def _ways(entry: Entry, direction: str, inputs: Tensors, *, compiles: bool) -> dict[str, Callable[[], Any]]:
    """Return what to time of each contender; one that fails is left out, and told."""
    program = runpy.run_path(str(GALLERY / entry.folder / "reference.py"))
    composed = entry.composed or program[entry.name]
    functions = {OURS: getattr(program["library"], entry.name), COMPOSED: composed}
    if entry.builtin is not None:
        functions[BUILTIN] = entry.builtin
    if compiles:
        torch.compiler.reset()
        functions[COMPILED] = torch.compile(composed, dynamic=False)
    ways: dict[str, Callable[[], Any]] = {}
    for name, function in functions.items():
        try:
            way = _way(function, direction, entry, inputs)
            way()
            torch.cuda.synchronize()
        except Exception as error:
            if name == OURS:
                raise
            tell(f"    {name} fails: {str(error).splitlines()[0][:100]}")
            continue
        ways[name] = way
    return ways


def _way(
    function: Callable[..., Any], direction: str, entry: Entry, inputs: Tensors
) -> Callable[[], torch.Tensor | Sequence[torch.Tensor]]:
    if direction == "forward":
        return lambda: function(*inputs, **entry.attrs)
    own = [tensor.detach() for tensor in inputs]
    wanted = own[:1] if entry.folder == "rotary" else [tensor for tensor in own if tensor.is_floating_point()]
    for tensor in wanted:
        tensor.requires_grad_()
    results = function(*own, **entry.attrs)
    results = ([results] if isinstance(results, torch.Tensor) else list(results))[: entry.num_results]
    back = [torch.randn_like(result) for result in results]
    return lambda: torch.autograd.grad(results, wanted, back, retain_graph=True)
