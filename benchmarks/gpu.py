"""gpu: CUDA kernels beside torch's own and the copy bandwidth, calls, CUDA graphs, and building. Needs a GPU.

Times of kernels are medians by CUDA events, over inputs too large for the cache.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

import oneop
from benchmarks._events import race_events
from benchmarks._peers import ROOT
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Contender, Timing, race

OURS = "oneop"
BUILTIN = "torch built-in"
COPY = "y.copy_(x)"


def measure(options: argparse.Namespace) -> Section:
    section = Section(name="gpu", title="CUDA kernels on a GPU")
    if not torch.cuda.is_available():
        section.notes.append("no CUDA device: nothing measured")
        return section
    section.notes.append(f"{torch.cuda.get_device_name()}, torch {torch.__version__}")
    count = 1 << (26 if options.quick else 29)
    for dtype in (torch.float32, torch.bfloat16):
        _elementwise(section, dtype, count)
    for dtype in (torch.float32, torch.bfloat16):
        for cols in (1024, 4096, 16384):
            _rows(section, dtype, (1 << 27) // cols, cols)
    _calls(section, options)
    _jobs(section, options)
    if not options.quick:
        _builds(section)
    return section


# --- kernels --------------------------------------------------------------------------------------------------------


def _elementwise(section: Section, dtype: torch.dtype, n: int) -> None:
    op = _leaky_relu()
    x, dy = (torch.randn(n, device="cuda", dtype=dtype) for _ in range(2))
    y = torch.empty_like(x)
    forward = race_events(
        {
            COPY: lambda: y.copy_(x),
            OURS: lambda: op(x, alpha=0.2),
            BUILTIN: lambda: F.leaky_relu(x, 0.2),
        }
    )
    # Backward reads two arrays and writes one: 1.5 times the bytes of a copy.
    backward = race_events(
        {
            COPY: lambda: y.copy_(x),
            OURS: lambda: oneop.ops.leaky_relu_grad(x, dy, alpha=0.2),
            BUILTIN: lambda: torch.ops.aten.leaky_relu_backward(dy, x, 0.2, False),
        }
    )
    name = str(dtype).removeprefix("torch.")
    for what, times, traffic in (("forward", forward, 1.0), ("backward", backward, 1.5)):
        table = Table(
            title=f"leaky_relu {what}, {name}, 2^{n.bit_length() - 1}", timings=times, base=BUILTIN, by_median=True
        )
        section.tables.append(table)
        ratio = table.ratio(COPY, OURS)
        section.bars.append(
            Bar(
                text=f"leaky_relu {what}, {name}, to copy bandwidth",
                limit=0.97,
                found=ratio * traffic if ratio else None,
                at_least=True,
            )
        )


def _rows(section: Section, dtype: torch.dtype, rows: int, cols: int) -> None:
    ops = _row_ops()
    x, dy = (torch.randn(rows, cols, device="cuda", dtype=dtype) for _ in range(2))
    gamma, beta = (torch.randn(cols, device="cuda", dtype=dtype) for _ in range(2))
    y = torch.softmax(x, -1)
    mean, rstd = torch.ops.aten.native_layer_norm(x, [cols], gamma, beta, 1e-5)[1:]
    own_mean, own_std = ops.row_layer_norm(x, gamma, beta)[1:]
    pairs: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
        "softmax forward": (lambda: ops.row_softmax(x), lambda: torch.softmax(x, -1)),
        "softmax backward": (
            lambda: oneop.ops.row_softmax_grad(y, dy),
            lambda: torch.ops.aten._softmax_backward_data(dy, y, -1, dtype),
        ),
        "layer norm forward": (
            lambda: ops.row_layer_norm(x, gamma, beta),
            lambda: torch.ops.aten.native_layer_norm(x, [cols], gamma, beta, 1e-5),
        ),
        "layer norm backward": (
            lambda: oneop.ops.row_layer_norm_grad(x, gamma, own_mean, own_std, dy),
            lambda: torch.ops.aten.native_layer_norm_backward(
                dy, x, [cols], mean, rstd, gamma, beta, [True, True, True]
            ),
        ),
    }
    name = str(dtype).removeprefix("torch.")
    for what, (ours, theirs) in pairs.items():
        table = Table(
            title=f"{what}, {name}, {rows} x {cols}",
            timings=race_events({OURS: ours, BUILTIN: theirs}),
            base=BUILTIN,
            by_median=True,
        )
        section.tables.append(table)
        section.bars.append(
            Bar(
                text=f"{what}, {name}, {cols} columns, speed to the built-in",
                limit=0.95,
                found=table.ratio(BUILTIN, OURS),
                at_least=True,
            )
        )


# --- calls and jobs -------------------------------------------------------------------------------------------------


def _calls(section: Section, options: argparse.Namespace) -> None:
    """The host's time for a call: many calls are put into the stream, and it is not waited for."""
    op = _leaky_relu()
    x = torch.randn(8, device="cuda")
    contenders = [
        Contender(name=OURS, statement="f(x, alpha=0.2)", names={"f": op, "x": x}),
        Contender(name=BUILTIN, statement="f(x, 0.2)", names={"f": F.leaky_relu, "x": x}),
    ]
    table = Table(title="host time of a call, n = 8", timings=race(contenders, seconds=4, rounds=9), base=BUILTIN)
    section.tables.append(table)
    section.bars.append(Bar(text="host time of a call, n=8", limit=0.8, found=table.ratio(OURS, BUILTIN)))


def _jobs(section: Section, options: argparse.Namespace) -> None:
    op = _leaky_relu()

    def chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(20):
            x = op(x, alpha=0.2)
        return x

    def builtin_chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(20):
            x = F.leaky_relu(x, 0.2)
        return x

    x = torch.randn(8, device="cuda")
    job = oneop.compile_job(chain, (x,))
    compiled = torch.compile(chain, mode="reduce-overhead", fullgraph=True)

    runners = {
        "oneop job": job,
        "torch eager, built-in op": builtin_chain,
        "torch eager, our op": chain,
        "reduce-overhead, our op": compiled,
    }
    with torch.inference_mode():
        for run in runners.values():
            for _ in range(5):
                run(x)

        def fifty(f: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[], None]:
            def run() -> None:
                for _ in range(50):
                    f(x)

            return run

        timings = [
            Timing(name=timing.name, samples=tuple(sample / 50 for sample in timing.samples))
            for timing in race_events({name: fifty(run) for name, run in runners.items()})
        ]
    table = Table(
        title="20 ops, n = 8, one after the other", timings=timings, base="torch eager, built-in op", by_median=True
    )
    section.notes.append(f"the job: {str(job.plan()).splitlines()[1]}")
    section.tables.append(table)
    section.bars += [
        Bar(
            text="20-op job, torch eager to ours",
            limit=5,
            found=table.ratio("torch eager, built-in op", "oneop job"),
            at_least=True,
        ),
        Bar(text="20-op job to reduce-overhead", limit=1, found=table.ratio("oneop job", "reduce-overhead, our op")),
    ]


# --- building -------------------------------------------------------------------------------------------------------

_KERNEL = """
#include "oneflow/core/device/cuda_util.h"
#include "oneflow/core/framework/framework.h"
namespace oneflow {
__global__ void Scale(int n, const float* x, float* y) { CUDA_1D_KERNEL_LOOP(i, n) { y[i] = FACTOR * x[i]; } }
REGISTER_USER_OP("bench_gpu_scale").Input("x").Output("y")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    });
class ScaleKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    RUN_CUDA_KERNEL(Scale, ctx->device_ctx(), x->shape().elem_cnt(), x->shape().elem_cnt(), x->dptr<float>(),
                    ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>());
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("bench_gpu_scale").SetCreateFn<ScaleKernel>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCUDA);
}  // namespace oneflow
"""

_TORCH_KERNEL = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>
__global__ void Scale(int n, const float* x, float* y) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) { y[i] = FACTOR * x[i]; }
}
torch::Tensor scale(torch::Tensor x) {
  auto y = torch::empty_like(x);
  Scale<<<(x.numel() + 511) / 512, 512, 0, c10::cuda::getCurrentCUDAStream()>>>(
      x.numel(), x.data_ptr<float>(), y.data_ptr<float>());
  return y;
}
PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
"""


def _builds(section: Section) -> None:
    """From an edit of a .cu file to the result of the first call."""
    from torch.utils.cpp_extension import load

    x = torch.ones(8, device="cuda")
    folder = Path(tempfile.mkdtemp(prefix="oneop_bench_"))
    stamp = time.time_ns() % 1_000_000

    def ours(round_number: int) -> None:
        source = folder / "scale.cu"
        source.write_text(_KERNEL.replace("FACTOR", f"{stamp + round_number}.0f"))
        oneop.load("bench_gpu_scale", [source]).bench_gpu_scale(x).cpu()

    def theirs(round_number: int) -> None:
        source = folder / "torch_scale.cu"
        source.write_text(_TORCH_KERNEL.replace("FACTOR", f"{stamp + round_number}.0f"))
        load(name=f"oneop_bench_scale_{round_number}", sources=[str(source)]).scale(x).cpu()

    times = {OURS: [_seconds(ours, i) for i in range(4)][1:], "cpp_extension.load": [_seconds(theirs, 0)]}
    table = Table(
        title="edit of a one-kernel .cu to the first result",
        timings=[Timing(name=name, samples=tuple(samples)) for name, samples in times.items()],
        base="cpp_extension.load",
        unit="s",
    )
    section.tables.append(table)
    section.bars.append(
        Bar(
            text="edit to first call of a .cu, cpp_extension to ours",
            limit=8,
            found=table.ratio("cpp_extension.load", OURS),
            at_least=True,
        )
    )


def _seconds(run: Callable[[int], None], argument: int) -> float:
    start = time.perf_counter()
    run(argument)
    return time.perf_counter() - start


def _leaky_relu() -> Any:
    sources = [ROOT / "examples/leaky_relu/leaky_relu.cpp", ROOT / "examples/leaky_relu/leaky_relu.cu"]
    return oneop.load("leaky_relu", sources).leaky_relu


def _row_ops() -> Any:
    return oneop.load("cuda_rows", [ROOT / "examples/cuda_rows" / name for name in ("softmax.cu", "layer_norm.cu")])
