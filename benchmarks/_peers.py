"""leaky_relu in all the ways that torch offers, and ours."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

import oneop
from benchmarks import ALPHA as ALPHA
from benchmarks import SOURCES as SOURCES

ROOT = Path(__file__).resolve().parent.parent

OURS = "oneop"
BUILTIN = "F.leaky_relu"
TORCH_LIBRARY = "TORCH_LIBRARY C++ op"
AUTOGRAD_FUNCTION = "autograd.Function"
CUSTOM_OP = "library.custom_op"


@dataclass(frozen=True, kw_only=True)
class Peer:
    """A leaky_relu and how a call of it is written: `call` has `f` for the function and `x` for the tensor."""

    name: str
    function: Callable[..., Tensor]
    call: str

    def names(self, **tensors: object) -> Mapping[str, object]:
        return {"f": self.function, "torch": torch, **tensors}


def list_peers(*, with_cpp: bool) -> list[Peer]:
    """Return all of them; the C++ op of torch takes about a minute to build the first time."""
    peers = [
        Peer(name=OURS, function=our_library().leaky_relu, call=f"f({{x}}, alpha={ALPHA})"),
        Peer(name=BUILTIN, function=F.leaky_relu, call=f"f({{x}}, {ALPHA})"),
    ]
    if with_cpp:
        peers.append(Peer(name=TORCH_LIBRARY, function=torch_library_op(), call=f"f({{x}}, {ALPHA})"))
    return [
        *peers,
        Peer(name=AUTOGRAD_FUNCTION, function=LeakyRelu.apply, call=f"f({{x}}, {ALPHA})"),
        Peer(name=CUSTOM_OP, function=custom_op, call=f"f({{x}}, {ALPHA})"),
    ]


@functools.cache
def our_library() -> oneop.LoadedLibrary:
    return oneop.load("leaky_relu", [ROOT / "examples/leaky_relu/leaky_relu.cpp"])


@functools.cache
def torch_library_op() -> Callable[..., Tensor]:
    from torch.utils.cpp_extension import load

    load(
        name="oneop_bench_torch_library_op",
        sources=[str(SOURCES / "torch_library_op.cpp")],
        extra_cflags=["-O3", "-fno-math-errno", "-fno-trapping-math", "-march=native"],
    )
    op: Callable[..., Tensor] = torch.ops.oneop_bench.leaky_relu
    return op


class LeakyRelu(torch.autograd.Function):
    """The op from Python, with torch's kernels inside."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, x: Tensor, alpha: float) -> Tensor:
        ctx.save_for_backward(x)
        ctx.alpha = alpha  # type: ignore[attr-defined]
        return torch.ops.aten.leaky_relu.default(x, alpha)

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, dy: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
        return torch.ops.aten.leaky_relu_backward.default(dy, x, ctx.alpha, False), None  # type: ignore[attr-defined]


@torch.library.custom_op("oneop_bench_python::leaky_relu", mutates_args=())
def custom_op(x: Tensor, alpha: float) -> Tensor:
    """The op through torch.library, with torch's kernel inside."""
    return torch.ops.aten.leaky_relu.default(x, alpha)


def _setup_context(ctx: torch.autograd.function.FunctionCtx, inputs: tuple[Tensor, float], output: Tensor) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.alpha = inputs[1]  # type: ignore[attr-defined]


def _backward(ctx: torch.autograd.function.FunctionCtx, dy: Tensor) -> tuple[Tensor, None]:
    (x,) = ctx.saved_tensors  # type: ignore[attr-defined]
    return torch.ops.aten.leaky_relu_backward.default(dy, x, ctx.alpha, False), None  # type: ignore[attr-defined]


custom_op.register_autograd(_backward, setup_context=_setup_context)
