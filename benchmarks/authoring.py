"""authoring: ops written in Python, and functions of the functional API, beside what they replace. n = 8."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import oneop
from benchmarks._peers import ALPHA, ROOT, our_library
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Contender, Timing, race

NUMPY, CUSTOM_OP = "oneop, numpy kernel", "library.custom_op"
NUMBA, CPP = "oneop, numba kernel", "oneop, C++ kernel"
FUNCTION, OVERLOAD, ENTRY = "oneop._C, C++ functor", "oneop._C, third signature", "oneop.ops"


def measure(options: argparse.Namespace) -> Section:
    torch.set_num_threads(1)
    section = Section(name="authoring", title="ops in Python and functions, n = 8")
    seconds = 1.5 if options.quick else 6.0
    for grad in (False, True):
        table = _numpy_table(grad, seconds)
        section.tables.append(table)
        section.bars.append(Bar(text=f"{table.title}, to custom_op", limit=0.35, found=table.ratio(NUMPY, CUSTOM_OP)))
    if importlib.util.find_spec("numba"):
        table = _numba_table(seconds)
        section.tables.append(table)
        section.bars.append(Bar(text="numba kernel to C++ kernel", limit=1.3, found=table.ratio(NUMBA, CPP)))
    ours, inline = _inductor_kernels()
    section.notes.append(f"Inductor kernels of a composition: {ours} through an op, {inline} written inline")
    section.bars.append(Bar(text="Inductor kernels, op to inline", limit=1.0, found=ours / inline))
    for name, alone, two in _scaling():
        section.bars.append(Bar(text=f"two threads to one, {name}", limit=1.6, found=alone / two, at_least=True))
    table = _function_table(seconds)
    section.tables.append(table)
    section.bars.append(Bar(text="_C to the plain entry", limit=1.15, found=table.ratio(FUNCTION, ENTRY)))
    median = {timing.name: timing.median for timing in table.timings}
    added = (median[OVERLOAD] - median[FUNCTION]) * 1e6
    section.bars.append(Bar(text="third signature instead of the only one", limit=0.3, found=added, unit="us"))
    return section


def _leaky_relu(x: np.ndarray, out: np.ndarray, alpha: float) -> None:
    np.multiply(x, alpha, out=out)
    np.maximum(x, out, out=out)


@functools.cache
def _numpy_op() -> Any:
    op = oneop.define("bench_leaky_numpy(Tensor x, *, float alpha) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=[torch.float32])(_leaky_relu)
    op.register_grad(lambda ctx, dy: torch.where(ctx.x > 0, dy, dy * ctx.alpha))
    return op


@functools.cache
def _custom_op() -> Any:
    @torch.library.custom_op("oneop_bench::leaky_numpy", mutates_args=())
    def op(x: torch.Tensor, alpha: float) -> torch.Tensor:
        y = torch.empty_like(x)
        _leaky_relu(x.detach().numpy(), y.numpy(), alpha)
        return y

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.alpha = inputs[1]

    def backward(ctx: Any, dy: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return torch.where(x > 0, dy, dy * ctx.alpha), None

    op.register_fake(lambda x, alpha: torch.empty_like(x))
    op.register_autograd(backward, setup_context=setup)
    return op


def _numpy_table(grad: bool, seconds: float) -> Table:
    x = torch.randn(8, requires_grad=grad)
    contenders = [
        Contender(name=NUMPY, statement=f"f(x, alpha={ALPHA})", names={"f": _numpy_op(), "x": x}),
        Contender(name=CUSTOM_OP, statement=f"f(x, {ALPHA})", names={"f": _custom_op(), "x": x}),
    ]
    title = f"numpy kernel, {'with' if grad else 'no'} grad"
    return Table(title=title, timings=race(contenders, seconds=seconds, rounds=9), base=CUSTOM_OP)


@functools.cache
def _numba_op() -> Any:
    op = oneop.define("bench_leaky_numba(Tensor x, *, float alpha) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu", dtypes=[torch.float32], language="numba")
    def kernel(x: Any, out: Any, alpha: Any) -> None:
        for i in range(x.size):
            out[i] = x[i] if x[i] > 0 else alpha * x[i]

    return op


def _numba_table(seconds: float) -> Table:
    x = torch.randn(8)
    statement = f"f(x, alpha={ALPHA})"
    contenders = [
        Contender(name=NUMBA, statement=statement, names={"f": _numba_op(), "x": x}),
        Contender(name=CPP, statement=statement, names={"f": our_library().leaky_relu, "x": x}),
    ]
    return Table(title="numba kernel, no grad", timings=race(contenders, seconds=seconds, rounds=9), base=CPP)


def _inductor_kernels() -> tuple[int, int]:
    """Return how many kernels Inductor makes of a small composition, as an op and written inline."""
    from torch._inductor import metrics

    def gate(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.sigmoid(x) * torch.tanh(y) + x

    op = oneop.define("bench_gate(Tensor x, Tensor y) -> Tensor z", infer="elementwise")
    op.register_kernel(language="torch")(gate)
    x, y = torch.randn(1000), torch.randn(1000)
    counts = []
    for f in (op, gate):
        torch._dynamo.reset()
        metrics.reset()
        torch.compile(functools.partial(_around, f), fullgraph=True)(x, y)
        counts.append(metrics.generated_kernel_count)
    return counts[0], counts[1]


def _around(f: Callable[..., torch.Tensor], x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return f(x + 1, y) * 2


def _scaling() -> list[tuple[str, float, float]]:
    """Return the seconds of work done by one thread and shared by two, for kernels that run without the GIL."""
    ops = {"C++": our_library().leaky_relu}
    if importlib.util.find_spec("numba"):
        ops["numba"] = _numba_op()
    x = torch.randn(100_000)
    results = []
    for name, op in ops.items():

        def work(count: int, op: Any = op) -> None:
            for _ in range(count):
                op(x, alpha=ALPHA)

        work(200)
        alone, two = (_best_seconds(functools.partial(_in_threads, work, count)) for count in (1, 2))
        results.append((name, alone, two))
    return results


def _in_threads(work: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=work, args=(2000 // count,)) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _best_seconds(run: Callable[[], None]) -> float:
    samples = []
    for _ in range(5):
        start = time.perf_counter()
        run()
        samples.append(time.perf_counter() - start)
    return min(samples)


def _function_table(seconds: float) -> Table:
    folder = ROOT / "benchmarks/sources"
    oneop.load(oneop.build("bench_functions", [folder / "functions.cpp"], functional=[folder / "functions.yaml"]))
    x = torch.randn(8)
    contenders = [
        Contender(name=ENTRY, statement="f(x, alpha=0.3)", names={"f": oneop.ops.bench_leaky, "x": x}),
        Contender(name=FUNCTION, statement="f(x, 0.3)", names={"f": oneop._C.bench_leaky, "x": x}),
        Contender(name=OVERLOAD, statement="f(x, 0.3)", names={"f": oneop._C.bench_leaky_third, "x": x}),
    ]
    # They differ by little, so many short turns: what the machine does beside hits all alike.
    timings: list[Timing] = race(contenders, seconds=2 * seconds, rounds=300)
    return Table(title="functions, no grad", timings=timings, base=ENTRY, by_median=True)
