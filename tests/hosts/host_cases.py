"""Calls of ops that every host makes: numpy arrays in, the same bits out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from oneop._build.library import Library, build

ROOT = Path(__file__).parents[2]
SOURCES = {
    "leaky_relu": ROOT / "examples/leaky_relu/leaky_relu.cpp",
    "op_h": ROOT / "tests/op_h/ops.cpp",
    "forms": ROOT / "tests/op_h/forms.cpp",
    "arguments": ROOT / "tests/core/sources/arguments.cpp",
    "kernels": ROOT / "tests/core/sources/kernels.cpp",
    "relu": ROOT / "tests/core/sources/relu.cpp",
    "host_ops": ROOT / "tests/engine/host_ops.cpp",
    **{path.parent.name: path for path in sorted((ROOT / "examples/gallery").glob("*/op.cpp"))},
}


@functools.cache
def library(name: str) -> Library:
    return build(f"hosts_{name}", [SOURCES[name]])


Inputs = Callable[[np.random.Generator, int, int], list[Any]]


@dataclass(frozen=True, kw_only=True)
class Case:
    """An op, and inputs for it: make(generator, rows, columns), in float64 where their dtype is open."""

    library: str
    op: str
    make: Inputs
    attrs: dict[str, Any] = field(default_factory=dict)
    dtypes: tuple[str, ...] = ("float32",)
    is_differentiable: bool = False
    is_in_place: bool = False

    def inputs(self, seed: int, rows: int, columns: int, dtype: str) -> list[Any]:
        import ml_dtypes

        made = self.make(np.random.default_rng(seed), rows, columns)
        wanted = np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)

        def typed(x: Any) -> Any:
            if isinstance(x, list):
                return [typed(item) for item in x]
            return x.astype(wanted) if x is not None and x.dtype == np.float64 else x

        return typed(made)


def normal(*shapes: str) -> Inputs:
    """Arrays of normal numbers: "rn" has rows and columns, "n" columns only."""

    def make(g: np.random.Generator, rows: int, columns: int) -> list[Any]:
        sizes = {"r": rows, "n": columns, "2": 2, "3": 3}
        return [g.standard_normal([sizes[letter] for letter in shape]) for shape in shapes]

    return make


def listed(g: np.random.Generator, rows: int, columns: int) -> list[Any]:
    return [[g.standard_normal((rows, columns)) for _ in range(2)], g.standard_normal((rows, columns))]


WIDE = ("float32", "float64")
MANY = (*WIDE, "float16", "bfloat16")
#: bool[], lists of a fixed length, scalars.
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("oh_bools", {"on": [True, False, True]}),
    ("oh_bools", {"on": [], "more": [True]}),
    ("oh_pairs", {}),
    ("oh_pairs", {"k": 3, "f": 2, "b": [False, True], "s": ["", "a"], "o": [1, 2]}),
    ("oh_pairs", {"k": [3, 4], "f": [0.25, 2.0], "o": 1}),
    *(
        ("oh_scalar", {"k": k, "j": j})
        for k, j in [(2, 2.0), (2.0, 2), (True, None), (1, False), (1.0, 1j), (2 + 1j, 0)]
    ),
    ("oh_scalar", {}),
]
CASES = [
    *(Case(library="forms", op=op, make=normal("rn"), attrs=attrs, is_differentiable=True) for op, attrs in FORMS),
    Case(
        library="leaky_relu",
        op="leaky_relu",
        make=normal("rn"),
        attrs={"alpha": 0.2},
        dtypes=WIDE,
        is_differentiable=True,
    ),
    Case(library="leaky_relu", op="leaky_relu_parallel", make=normal("rn"), dtypes=WIDE, is_differentiable=True),
    Case(library="op_h", op="oph_swish", make=normal("rn"), attrs={"beta": 2}, dtypes=MANY, is_differentiable=True),
    Case(library="op_h", op="oph_binary", make=normal("rn", "rn"), attrs={"kind": "max", "scale": 3.0}, dtypes=WIDE),
    Case(
        library="op_h",
        op="oph_choose",
        make=lambda g, r, n: [g.random((r, n)) > 0.5, g.standard_normal((r, n)), g.standard_normal((r, n))],
        dtypes=WIDE,
    ),
    Case(library="op_h", op="oph_frexp", make=normal("rn")),
    Case(library="op_h", op="oph_half_plus", make=lambda g, r, n: [g.integers(-9, 9, (r, n))]),
    Case(library="op_h", op="oph_half_plus", make=lambda g, r, n: [g.integers(0, 9, (r, n)).astype(np.uint8)]),
    Case(library="op_h", op="oph_softmax", make=normal("rn"), dtypes=(*WIDE, "bfloat16"), is_differentiable=True),
    Case(
        library="op_h",
        op="oph_matmul",
        make=normal("rn", "n3"),
        attrs={"scale": 0.5},
        dtypes=WIDE,
        is_differentiable=True,
    ),
    Case(library="op_h", op="oph_transpose", make=normal("rn"), dtypes=WIDE, is_differentiable=True),
    Case(library="op_h", op="oph_total", make=listed, attrs={"weights": [2, -1]}, dtypes=WIDE, is_differentiable=True),
    Case(
        library="op_h",
        op="oph_total",
        make=lambda g, r, n: [[g.standard_normal((r, n)), g.standard_normal((r, n))], None],
        is_differentiable=True,
    ),
    Case(
        library="op_h",
        op="oph_gather",
        make=lambda g, r, n: [g.standard_normal(n), g.integers(0, n, (r,))],
        attrs={"check": False},
    ),
    Case(library="op_h", op="oph_gated", make=normal("rn", "rn"), dtypes=WIDE, is_differentiable=True),
    Case(
        library="op_h",
        op="oh_clip",
        make=normal("rn"),
        attrs={"low": -0.5, "high": None, "times": 3},
        dtypes=(*WIDE, "float16"),
        is_differentiable=True,
    ),
    Case(library="op_h", op="oph_add_", make=normal("rn", "rn"), attrs={"alpha": 2.0}, is_in_place=True),
    Case(
        library="arguments",
        op="t_add_n",
        make=lambda g, r, n: [listed(g, r, n)[0]],
        dtypes=WIDE,
        is_differentiable=True,
    ),
    Case(
        library="arguments",
        op="t_affine",
        make=lambda g, r, n: [g.standard_normal((r, n)), None, g.standard_normal((r, n))],
    ),
    Case(library="arguments", op="t_parts", make=normal("rn"), dtypes=WIDE, is_differentiable=True),
    Case(
        library="arguments",
        op="t_multiples",
        make=normal("rn"),
        attrs={"output_counts": [3, 1]},
        dtypes=WIDE,
        is_differentiable=True,
    ),
    Case(library="arguments", op="t_range", make=lambda g, r, n: [], attrs={"shape": (2, 3), "step": 0.25}),
    Case(library="arguments", op="t_accumulate", make=normal("rn", "rn"), is_in_place=True),
    Case(
        library="arguments",
        op="t_attrs",
        make=normal("n"),
        attrs={
            **{"i32": 7, "i64": -(2**40), "b": False, "f": 0.25, "d": 1.5, "s": "grün", "shape": [4], "i32s": [3]},
            **{"i64s": [], "fs": [2.5], "shapes": [(1, 2), ()], "ss": ["x", ""]},
        },
    ),
    Case(library="host_ops", op="host_sine", make=normal("rn"), is_differentiable=True),
    Case(
        library="rms_norm",
        op="rms_norm",
        make=normal("rn", "n"),
        attrs={"eps": 1e-3},
        dtypes=MANY,
        is_differentiable=True,
    ),
    Case(
        library="add_layer_norm",
        op="add_layer_norm",
        make=normal("rn", "rn", "n", "n"),
        dtypes=MANY,
        is_differentiable=True,
    ),
    Case(
        library="swiglu",
        op="swiglu",
        make=lambda g, r, n: [g.standard_normal((r, 2 * n))],
        dtypes=MANY,
        is_differentiable=True,
    ),
    Case(
        library="cross_entropy",
        op="cross_entropy",
        make=lambda g, r, n: [g.standard_normal((r, n)), g.integers(0, n, r)],
        dtypes=MANY,
        is_differentiable=True,
    ),
    Case(
        library="segment_reduce",
        op="segment_sum",
        make=lambda g, r, n: [g.standard_normal((r, n)), g.integers(0, 5, r)],
        attrs={"segments": 6},
        dtypes=MANY,
        is_differentiable=True,
    ),
    Case(library="moe_gate", op="moe_gate", make=normal("rn"), attrs={"k": 1}, dtypes=MANY, is_differentiable=True),
    Case(
        library="causal_conv1d",
        op="causal_conv1d",
        make=lambda g, r, n: [g.standard_normal((r, 3, n)), g.standard_normal((3, 2)), g.standard_normal(3)],
        attrs={"silu": True},
        dtypes=MANY,
        is_differentiable=True,
    ),
]


def same_bits(one: Any, other: Any) -> bool:
    """Whether two arrays have one dtype, one shape and the same bytes."""
    a, b = np.asarray(one), np.asarray(other)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def name_of(case: Case) -> str:
    return case.op
