"""jobs: planned jobs beside torch eager, torch.compile, AOTInductor and jax, numpy in to numpy out. One thread."""

from __future__ import annotations

import argparse
import functools
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import oneop
from benchmarks._jax import jax_chain
from benchmarks._peers import ALPHA, our_library
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Contender, race

tp = oneop.typing
OURS = "oneop job"
EAGER = "torch eager"
COMPILE = "torch.compile"
AOTI = "AOTInductor"
JAX = "jax.jit with jax.ffi"
BY_HAND = "numpy by hand"
PEERS = (EAGER, COMPILE, AOTI, JAX)


def measure(options: argparse.Namespace) -> Section:
    torch.set_num_threads(1)
    section = Section(name="jobs", title="planned jobs, numpy in to numpy out, one thread")
    section.notes.append(
        "torch's peers call the same C++ op of oneop; jax, where installed, the same loop through jax.ffi"
    )
    chains = {}
    for n in (8, 100_000):
        for length in (1, 20, 200):
            chains[n, length] = _chain_table(n, length, options)
            section.tables.append(chains[n, length])
    numpy_chains = {(n, length): _numpy_table(n, length, options) for n in (8, 100_000) for length in (1, 20)}
    section.tables += numpy_chains.values()
    steps = {name: _train_table(name, options) for name in ("SGD", "Adam")}
    section.tables += steps.values()
    section.notes += [f"planning the {name} step took {_planning_seconds(name):.2f} s" for name in steps]
    single, twenty = chains[8, 1], chains[8, 20]
    for peer in PEERS:
        section.bars.append(Bar(text=f"one-op job, n=8, to {peer}", limit=0.1, found=single.ratio(OURS, peer)))
        section.bars.append(
            Bar(text=f"each further op, n=8, to {peer}", limit=0.6, found=_further(single, twenty, OURS, peer))
        )
    ours = _further_seconds(single, twenty, OURS)
    section.bars.append(Bar(text="each further op, n=8", limit=0.15, found=ours * 1e6 if ours else None, unit="us"))
    section.bars += [
        Bar(text=f"numpy-kernel job, n={n}, {length} ops, to numpy", limit=1.3, found=table.ratio(OURS, BY_HAND))
        for (n, length), table in numpy_chains.items()
    ]
    for name, table in steps.items():
        section.bars.append(
            Bar(
                text=f"MLP train step, {name}, torch eager to ours",
                limit=2.2,
                found=table.ratio(EAGER, OURS),
                at_least=True,
            )
        )
        section.bars.append(Bar(text=f"MLP train step, {name}, to {AOTI}", limit=1.0, found=table.ratio(OURS, AOTI)))
    return section


# --- chains of one op -----------------------------------------------------------------------------------------------


def _chain_table(n: int, length: int, options: argparse.Namespace) -> Table:
    op = our_library().leaky_relu

    def chain(x: torch.Tensor) -> torch.Tensor:
        for _ in range(length):
            x = op(x, alpha=ALPHA)
        return x

    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((n,), dtype=oneop.float32)) -> tp.Numpy:  # type: ignore[valid-type]
        return chain(x)

    x = np.random.default_rng(0).standard_normal(n, dtype=np.float32)
    runners: dict[str, Callable[[np.ndarray], Any]] = {OURS: job, EAGER: _on_numpy(chain)}
    if length <= 20 and not options.quick:
        runners[COMPILE] = _on_numpy(torch.compile(chain, fullgraph=True))
        runners[AOTI] = _on_numpy(_aot_compile(chain, (torch.from_numpy(x),)))
    in_jax = jax_chain(length)
    if in_jax is not None:
        runners[JAX] = in_jax
    for run in runners.values():
        np.testing.assert_allclose(run(x), job(x), rtol=1e-6)
    contenders = [Contender(name=name, statement="f(x)", names={"f": run, "x": x}) for name, run in runners.items()]
    seconds = (0.6 if options.quick else 3.0) * len(contenders)
    return Table(title=f"n = {n}, {length} ops", timings=race(contenders, seconds=seconds, rounds=9), base=EAGER)


def _on_numpy(function: Callable[[torch.Tensor], torch.Tensor]) -> Callable[[np.ndarray], np.ndarray]:
    def run(x: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            return function(torch.from_numpy(x)).numpy()

    return run


def _aot_compile(function: Callable[..., Any], examples: tuple[torch.Tensor, ...]) -> Callable[..., Any]:
    class Module(torch.nn.Module):
        def forward(self, *inputs: torch.Tensor) -> Any:
            return function(*inputs)

    folder = tempfile.mkdtemp(prefix="oneop_bench_")
    exported = torch.export.export(Module(), examples)
    package = torch._inductor.aoti_compile_and_package(exported, package_path=f"{folder}/model.pt2")
    return torch._inductor.aoti_load_package(package)


def _further_seconds(single: Table, twenty: Table, name: str) -> float | None:
    best = {id(table): {timing.name: timing.best for timing in table.timings} for table in (single, twenty)}
    first, last = best[id(single)].get(name), best[id(twenty)].get(name)
    return None if first is None or last is None else max(last - first, 0.0) / 19


def _further(single: Table, twenty: Table, name: str, peer: str) -> float | None:
    ours, theirs = _further_seconds(single, twenty, name), _further_seconds(single, twenty, peer)
    return None if ours is None or not theirs else ours / theirs


def _numpy_table(n: int, length: int, options: argparse.Namespace) -> Table:
    """A chain of an op whose kernel is a numpy function, beside calls of that function."""
    op = _numpy_op()

    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((n,), dtype=oneop.float32)) -> tp.Numpy:  # type: ignore[valid-type]
        for _ in range(length):
            x = op(x, alpha=ALPHA)
        return x

    def by_hand(x: np.ndarray) -> np.ndarray:
        for _ in range(length):
            out = np.empty_like(x)
            _leaky_relu(x, out, ALPHA)
            x = out
        return x

    x = np.random.default_rng(0).standard_normal(n, dtype=np.float32)
    np.testing.assert_array_equal(job(x), by_hand(x))
    runners = {OURS: job, BY_HAND: by_hand}
    contenders = [Contender(name=name, statement="f(x)", names={"f": run, "x": x}) for name, run in runners.items()]
    seconds = (0.6 if options.quick else 3.0) * len(contenders)
    return Table(
        title=f"numpy kernel, n = {n}, {length} ops",
        timings=race(contenders, seconds=seconds, rounds=9),
        base=BY_HAND,
    )


def _leaky_relu(x: np.ndarray, out: np.ndarray, alpha: float) -> None:
    np.multiply(x, alpha, out=out)
    np.maximum(x, out, out=out)


@functools.cache
def _numpy_op() -> Any:
    op = oneop.define("bench_numpy_leaky_relu(Tensor x, *, float alpha) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=[torch.float32])(_leaky_relu)
    return op


# --- a train step ---------------------------------------------------------------------------------------------------

BATCH, INPUTS, HIDDEN, CLASSES = 32, 64, 128, 10
SHAPES = {"w1": (HIDDEN, INPUTS), "b1": (HIDDEN,), "w2": (CLASSES, HIDDEN), "b2": (CLASSES,)}


def _loss(x: torch.Tensor, t: torch.Tensor, w1: Any, b1: Any, w2: Any, b2: Any) -> torch.Tensor:
    hidden = our_library().leaky_relu(F.linear(x, w1, b1), alpha=ALPHA)
    return F.cross_entropy(F.linear(hidden, w2, b2), t)


def _make_job(optimizer: str) -> Any:
    oneop.clear_default_session()

    @oneop.global_function(type="train")
    def step(
        x: tp.Numpy.Placeholder((BATCH, INPUTS)),  # type: ignore[valid-type]
        t: tp.Numpy.Placeholder((BATCH,), dtype=oneop.int64),  # type: ignore[valid-type]
    ) -> tp.Numpy:
        init = oneop.random_normal_initializer(stddev=0.1)
        loss = _loss(x, t, *[oneop.get_variable(name, shape, initializer=init) for name, shape in SHAPES.items()])
        made = oneop.optimizer.SGD(0.01, momentum=0) if optimizer == "SGD" else oneop.optimizer.Adam(1e-3)
        made.minimize(loss)
        return loss

    return step


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.standard_normal((BATCH, INPUTS), dtype=np.float32), rng.integers(0, CLASSES, BATCH)


def _planning_seconds(optimizer: str) -> float:
    job = _make_job(optimizer)
    start = time.perf_counter()
    job(*_data())
    return time.perf_counter() - start


def _train_table(optimizer: str, options: argparse.Namespace) -> Table:
    job = _make_job(optimizer)
    x, t = _data()
    job(x, t)
    weights = [torch.randn(shape).mul_(0.1).requires_grad_() for shape in SHAPES.values()]
    torch_optimizer: torch.optim.Optimizer = (
        torch.optim.SGD(weights, 0.01) if optimizer == "SGD" else torch.optim.Adam(weights, 1e-3)
    )

    def eager(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        loss = _loss(torch.from_numpy(x), torch.from_numpy(t), *weights)
        torch_optimizer.zero_grad()
        loss.backward()
        torch_optimizer.step()
        return loss.detach().numpy()

    runners: dict[str, Callable[..., Any]] = {OURS: job, EAGER: eager}
    if not options.quick:
        runners[AOTI] = _aot_train_step(optimizer)
    contenders = [
        Contender(name=name, statement="f(x, t)", names={"f": run, "x": x, "t": t}) for name, run in runners.items()
    ]
    seconds = (1.0 if options.quick else 4.0) * len(contenders)
    return Table(
        title=f"MLP {INPUTS}-{HIDDEN}-{CLASSES}, batch {BATCH}, one {optimizer} step",
        timings=race(contenders, seconds=seconds, rounds=9),
        base=EAGER,
    )


def _aot_train_step(optimizer: str) -> Callable[..., Any]:
    """The same step as one graph for AOTInductor: new weights and state are results, and fed back."""
    from torch.func import grad_and_value

    def step(x: Any, t: Any, weights: list[Any], means: list[Any], squares: list[Any], count: Any) -> Any:
        grads, loss = grad_and_value(lambda w: _loss(x, t, *w))(weights)
        if optimizer == "SGD":
            return loss, [w - 0.01 * g for w, g in zip(weights, grads, strict=True)], means, squares, count
        count = count + 1
        means = [0.9 * m + 0.1 * g for m, g in zip(means, grads, strict=True)]
        squares = [0.999 * s + 0.001 * g * g for s, g in zip(squares, grads, strict=True)]
        scale = torch.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        new = [w - 1e-3 * scale * m / (s.sqrt() + 1e-8) for w, m, s in zip(weights, means, squares, strict=True)]
        return loss, new, means, squares, count

    weights = [torch.randn(shape) * 0.1 for shape in SHAPES.values()]
    zeros = [torch.zeros(shape) for shape in SHAPES.values()] if optimizer == "Adam" else []
    x, t = (torch.from_numpy(value) for value in _data())
    state: list[Any] = [weights, zeros, [z.clone() for z in zeros], torch.zeros(())]
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(step, tracing_mode="fake")(x, t, *state)
    compiled = _aot_compile(graph, (x, t, *state))

    def run(x: np.ndarray, t: np.ndarray) -> np.ndarray:
        with torch.inference_mode():
            loss, *state[:] = compiled(torch.from_numpy(x), torch.from_numpy(t), *state)
            return loss.numpy()

    return run
