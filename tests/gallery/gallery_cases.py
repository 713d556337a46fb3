"""Calls of the ops in examples/gallery: for each op, inputs of sizes that a test chooses."""

from __future__ import annotations

import functools
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

GALLERY = Path(__file__).parents[2] / "examples" / "gallery"
WIDE = (torch.float32, torch.float64)
ALL = (*WIDE, torch.float16, torch.bfloat16)

Call = tuple[list[torch.Tensor], dict[str, Any]]


@functools.cache
def program(folder: str) -> dict[str, Any]:
    """Run reference.py of a folder, which builds its ops; return its names."""
    return runpy.run_path(str(GALLERY / folder / "reference.py"))


@dataclass(frozen=True, kw_only=True)
class Case:
    """An op, and inputs for it: make(generator, rows, columns, dtype)."""

    folder: str
    name: str
    make: Callable[[torch.Generator, int, int, torch.dtype], Call]
    dtypes: tuple[torch.dtype, ...] = ALL
    is_differentiable: bool = True
    is_exact: bool = False  # its results do not get closer in float64, because it rounds on the way
    is_in_place: bool = False

    @property
    def op(self) -> Any:
        return getattr(program(self.folder)["library"], self.name)

    def expected(self, inputs: list[torch.Tensor], attrs: dict[str, Any]) -> list[torch.Tensor]:
        """What the reference gives, worked out in float64."""
        wide = [t.double() if t.is_floating_point() and not self.is_exact else t for t in inputs]
        return self.results(program(self.folder)[self.name], wide, attrs)

    def results(self, function: Any, inputs: list[torch.Tensor], attrs: dict[str, Any]) -> list[torch.Tensor]:
        """Call a function, and return what comes out, or the inputs that it changed."""
        if self.is_in_place:
            inputs = [tensor.clone() for tensor in inputs]
            function(*inputs, **attrs)
            return inputs
        outputs = function(*inputs, **attrs)
        return [outputs] if isinstance(outputs, torch.Tensor) else list(outputs)


def angle_dtype(dtype: torch.dtype) -> torch.dtype:
    return dtype if dtype in WIDE else torch.float32


def randn(g: torch.Generator, *shape: int, dtype: torch.dtype) -> torch.Tensor:
    return torch.randn(*shape, generator=g, dtype=torch.float64).to(dtype)


def randint(g: torch.Generator, below: int, *shape: int) -> torch.Tensor:
    return torch.randint(below, shape, generator=g)


def rms_norm(g, rows, n, dtype) -> Call:
    return [randn(g, rows, n, dtype=dtype), randn(g, n, dtype=dtype)], {"eps": 1e-3}


def add_layer_norm(g, rows, n, dtype) -> Call:
    shapes = [(rows, 2, n), (rows, 2, n), (n,), (n,)]
    return [randn(g, *shape, dtype=dtype) for shape in shapes], {"eps": 1e-2}


def swiglu(g, rows, n, dtype) -> Call:
    return [randn(g, rows, 2 * n, dtype=dtype)], {}


def rotary(g, rows, n, dtype) -> Call:
    angles = torch.rand(rows, n, generator=g, dtype=torch.float64) * 6
    turns = [angles.cos().to(angle_dtype(dtype)), angles.sin().to(angle_dtype(dtype))]
    return [randn(g, 2, rows, 3, 2 * n, dtype=dtype), *turns], {"interleaved": n % 2 == 0}


def cross_entropy(g, rows, n, dtype) -> Call:
    return [randn(g, rows, n, dtype=dtype), randint(g, n, rows)], {"ignore_index": 0}


def segment(g, rows, n, dtype) -> Call:
    return [randn(g, rows, n, dtype=dtype), randint(g, 5, rows)], {"segments": 6}


def moe_gate(g, rows, n, dtype) -> Call:
    return [randn(g, rows, n, dtype=dtype)], {"k": min(n, 3), "renormalize": rows % 2 == 0}


def int8_linear(g, rows, n, dtype) -> Call:
    w = (randint(g, 255, 7, n) - 127).to(torch.int8)
    return [randn(g, rows, n, dtype=dtype), w, torch.rand(7, generator=g) / 64], {}


def causal_conv1d(g, rows, n, dtype) -> Call:
    shapes = [(rows, 3, n), (3, 1 + n % 5), (3,)]
    return [randn(g, *shape, dtype=dtype) for shape in shapes], {"silu": rows % 2 == 0}


def paged_gather(g, rows, n, dtype) -> Call:
    cache = randn(g, 6, 4, 2, n, dtype=dtype)
    return [cache, randint(g, 6, rows, 3), randint(g, 11, rows)], {"length": 10}


def adam_step(g, rows, n, dtype) -> Call:
    moments = [randn(g, rows, n, dtype=angle_dtype(dtype)) for _ in range(2)]
    return [randn(g, rows, n, dtype=dtype), randn(g, rows, n, dtype=dtype), moments[0], moments[1].square()], {
        "lr": 0.1,
        "weight_decay": 0.1,
        "step": 3,
    }


def sample_min_p(g, rows, n, dtype) -> Call:
    noise = torch.empty(rows, n, dtype=angle_dtype(dtype)).exponential_(generator=g)
    return [randn(g, rows, n, dtype=dtype), noise], {"temperature": 0.75, "min_p": 0.1}


CASES = [
    Case(folder="rms_norm", name="rms_norm", make=rms_norm),
    Case(folder="add_layer_norm", name="add_layer_norm", make=add_layer_norm),
    Case(folder="swiglu", name="swiglu", make=swiglu),
    Case(folder="rotary", name="rotary", make=rotary),
    Case(folder="cross_entropy", name="cross_entropy", make=cross_entropy),
    Case(folder="segment_reduce", name="segment_sum", make=segment),
    Case(folder="segment_reduce", name="segment_max", make=segment, dtypes=WIDE),
    Case(folder="moe_gate", name="moe_gate", make=moe_gate),
    Case(
        folder="int8_linear",
        name="int8_linear",
        make=int8_linear,
        dtypes=(torch.float32, torch.float16, torch.bfloat16),
        is_differentiable=False,
        is_exact=True,
    ),
    Case(folder="causal_conv1d", name="causal_conv1d", make=causal_conv1d),
    Case(folder="paged_gather", name="paged_gather", make=paged_gather, is_differentiable=False),
    Case(folder="adam_step", name="adam_step", make=adam_step, is_differentiable=False, is_in_place=True),
    Case(folder="sample_min_p", name="sample_min_p", make=sample_min_p, is_differentiable=False),
]
