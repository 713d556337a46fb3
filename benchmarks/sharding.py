"""sharding: calls with DTensors, and planning for many ranks. One process: only this rank of the group is real."""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist

import oneop
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Contender, Timing, race, take_turns

LAYERS, WIDTH, HEADS, LENGTH = 24, 32, 8, 4
RANKS = (8, 64, 1024)
OURS, BUILTIN = "oneop op", "F.leaky_relu"
HIT = "a call that is known, leaky_relu(x, 0.2), local n = 8, no grad"
FIRST = "the first call with some placements and shapes"

OP = r"""
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("bench_sharded_leaky_relu").Input("x").Output("y").Attr<float>("alpha", 0.01f).NoGrad()
    .SetTensorDescInferFn(user_op::TensorDescInferFnUtil::Unchanged)
    .SetGetSbpFn(user_op::GetSbpFnUtil::SplitForEachAxis<user_op::SbpContext>);
class Kernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    const float alpha = ctx->Attr<float>("alpha");
    const float* in = x->dptr<float>();
    float* out = y->mut_dptr<float>();
    FOR_RANGE(int64_t, i, 0, x->shape().elem_cnt()) { out[i] = in[i] > 0 ? in[i] : alpha * in[i]; }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("bench_sharded_leaky_relu").SetCreateFn<Kernel>();
}
"""


def measure(options: argparse.Namespace) -> Section:
    torch.set_num_threads(1)
    section = Section(name="sharding", title="ops on DTensors, no communication")
    ours = oneop.load_inline("bench_sharding", OP).bench_sharded_leaky_relu
    seconds, rounds = (2.0, 100) if options.quick else (8.0, 400)
    with fake_ranks(4):
        section.tables += [_hit_table(ours, seconds, rounds), _first_table(ours, 5 if options.quick else 25)]
    times = _scale(section, 2 if options.quick else 5)
    hit, first = section.tables[0], section.tables[1]
    planned = next(timing.best for timing in first.timings if timing.name == OURS)
    section.bars = [
        Bar(text="call with a DTensor, to built-in", limit=1.1, found=hit.ratio(OURS, BUILTIN)),
        Bar(text="first call with a DTensor", limit=5.0, found=planned * 1e3, unit="ms"),
        Bar(text="planning for 1024 ranks, to 8 ranks", limit=1.25, found=times[1024] / times[8]),
    ]
    return section


@contextmanager
def fake_ranks(count: int) -> Iterator[None]:
    """Make a process group of which only this rank is real."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=count, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def _dtensor(shape: tuple[int, ...], mesh: Any, *placements: Any) -> Any:
    from torch.distributed.tensor import DTensor

    return DTensor.from_local(torch.randn(shape), mesh, placements, run_check=False)


def _hit_table(ours: Any, seconds: float, rounds: int) -> Table:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Shard

    x = _dtensor((8,), init_device_mesh("cpu", (4,)), Shard(0))
    names = {"x": x, "ours": ours, "builtin": torch.nn.functional.leaky_relu, "neg": torch.neg}
    contenders = [
        Contender(name=BUILTIN, statement="builtin(x, 0.2)", names=names),
        Contender(name=OURS, statement="ours(x, alpha=0.2)", names=names),
        Contender(name="torch.neg", statement="neg(x)", names=names),
    ]
    with torch.no_grad():
        return Table(title=HIT, timings=race(contenders, seconds=seconds, rounds=rounds), base=BUILTIN)


def _first_table(ours: Any, rounds: int) -> Table:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, Shard

    line, grid = init_device_mesh("cpu", (4,)), init_device_mesh("cpu", (2, 2))

    def first(call: Any, x: Any) -> float:
        torch._C._clear_DTensor_sharding_propagator_cache()  # type: ignore[attr-defined]
        started = time.perf_counter()
        call(x)
        return time.perf_counter() - started

    calls = {BUILTIN: lambda x: torch.nn.functional.leaky_relu(x, 0.2), OURS: lambda x: ours(x, alpha=0.2)}
    tensors = {"": _dtensor((8, 8), line, Shard(0)), ", grid": _dtensor((8, 8), grid, Shard(0), Replicate())}
    with torch.no_grad():
        timings = take_turns(
            {
                f"{name}{where}": lambda call=call, x=x: first(call, x)
                for where, x in tensors.items()
                for name, call in calls.items()
            },
            rounds=rounds,
        )
    return Table(title=FIRST, timings=list(timings.values()), base=BUILTIN, unit="ms")


def _scale(section: Section, rounds: int) -> dict[int, float]:
    """Forward and backward of a deep block, planned again and known, on ever larger meshes. Returns planning times."""
    block = _example()
    planned: dict[int, float] = {}
    timings = []
    for ranks in RANKS:
        with fake_ranks(ranks):
            cold, warm, placements = _run_block(block, ranks, rounds)
        planned[ranks] = min(cold) - min(warm)
        timings.append(Timing(name=f"{ranks} ranks, planned again", samples=tuple(cold)))
        timings.append(Timing(name=f"{ranks} ranks, known", samples=tuple(warm)))
        section.notes.append(f"{ranks} ranks: planning {planned[ranks] * 1e3:.0f} ms; {placements}")
    title = f"forward and backward of {LAYERS} layers, data x tensor parallel (ranks / 4 x 4)"
    section.tables.append(
        Table(
            title=title, timings=timings, base=f"{RANKS[0]} ranks, known", unit="ms", note="the same work on each rank"
        )
    )
    return planned


def _run_block(block: ModuleType, ranks: int, rounds: int) -> tuple[list[float], list[float], str]:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import DTensor, Replicate, Shard

    from oneop.sharding.planning import placements_text

    mesh = init_device_mesh("cpu", (ranks // 4, 4))
    split = {name: Shard(1) for name in ("wq", "wk", "wv", "w1")} | {"wo": Shard(0), "w2": Shard(0)}

    def parameter(name: str, whole: torch.Tensor) -> Any:
        place = split.get(name, Replicate())
        part = whole.chunk(4, place.dim)[0].contiguous() if isinstance(place, Shard) else whole
        return DTensor.from_local(part, mesh, [Replicate(), place], run_check=False).requires_grad_()

    layers = [
        {name: parameter(name, whole) for name, whole in block.parameters(WIDTH, torch.float32).items()}
        for _ in range(LAYERS)
    ]
    x = DTensor.from_local(torch.randn(2, LENGTH, WIDTH), mesh, [Shard(0), Replicate()], run_check=False)

    def step() -> tuple[float, Any]:
        started = time.perf_counter()
        y = x
        for p in layers:
            y = block.block(y, p, HEADS)
        y.sum().backward()
        return time.perf_counter() - started, y

    cold, warm = [], []
    y = x
    step()
    for _ in range(rounds):
        torch._C._clear_DTensor_sharding_propagator_cache()  # type: ignore[attr-defined]
        DTensor._op_dispatcher.sharding_propagator.propagate_op_sharding.cache_clear()  # type: ignore[no-untyped-call]
        cold.append(step()[0])
        seconds, y = step()
        warm.append(seconds)
    shown = {"y": y, **{f"gradient of {name}": layers[0][name].grad for name in ("wq", "wo", "norm1")}}
    return cold, warm, ", ".join(f"{name} {placements_text(t.placements)}" for name, t in shown.items())


def _example() -> ModuleType:
    """Return the block of examples/tensor_parallel."""
    path = Path(__file__).parents[1] / "examples" / "tensor_parallel" / "block.py"
    spec = importlib.util.spec_from_file_location("tensor_parallel_block", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
