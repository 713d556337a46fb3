"""Calls of hosts beside torch at n=8, against the framework's own op in the same run: `python -m benchmarks.hosts`."""

from __future__ import annotations

import functools
import importlib.util
import statistics
import timeit
from collections.abc import Callable
from typing import Any

import numpy as np

import oneop
from benchmarks import ALPHA
from benchmarks._jax import jax_op

SOURCE = "examples/leaky_relu/leaky_relu.cpp"
ROUNDS = 15
CALLS = 5_000


def ratio(subject: Callable[[], Any], peer: Callable[[], Any]) -> tuple[float, float, float]:
    """Return nanoseconds of both, and the median of their ratios in alternating turns."""
    turns = []
    for _ in range(ROUNDS):
        turns.append((timeit.timeit(subject, number=CALLS), timeit.timeit(peer, number=CALLS)))
    nanoseconds = [min(column) / CALLS * 1e9 for column in zip(*turns, strict=True)]
    return *nanoseconds, statistics.median(ours / theirs for ours, theirs in turns)  # type: ignore[return-value]


def numpy_calls() -> None:
    """Print calls on numpy arrays."""
    relu = oneop.numpy.load(oneop.build("leaky_relu", [SOURCE])).leaky_relu
    x = np.arange(8, dtype=np.float32)
    for text, subject in {"op(x)": lambda: relu(x), "op(x, alpha=...)": lambda: relu(x, alpha=ALPHA)}.items():
        report("numpy", text, "np.negative(x)", *ratio(subject, lambda: np.negative(x)), bar=2.0)


def jax_calls() -> None:
    """Print calls on jax arrays: under jit against a handler written by hand, eager against an op of jax's own."""
    import jax

    handler = jax_op()
    assert handler is not None
    relu = oneop.jax.load(oneop.build("leaky_relu", [SOURCE])).leaky_relu
    x = jax.numpy.arange(8, dtype=jax.numpy.float32)
    ours, theirs = jax.jit(lambda x: relu(x, alpha=ALPHA)), jax.jit(handler)
    assert np.array_equal(ours(x), theirs(x))
    calls = {"op(x, alpha=...)": lambda: relu(x, alpha=ALPHA), "op(x)": lambda: relu(x)}

    def wait(call: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: call(x).block_until_ready()

    report("jax", "jit(op)(x)", "jit(handler)(x)", *ratio(wait(ours), wait(theirs)), bar=1.1)
    chain = [jax.jit(lambda x, f=f: functools.reduce(lambda y, _: f(y), range(50), x)) for f in (ours, theirs)]
    report("jax", "jit of 50 calls", "of the handler", *ratio(wait(chain[0]), wait(chain[1])), bar=1.1)
    for text, call in calls.items():
        report("jax", text, "jax.numpy.sin(x)", *ratio(call, lambda: jax.numpy.sin(x)), bar=1.2)


def onnx_calls() -> None:
    """Print runs of models in ONNX Runtime: nodes of an op against nodes of ONNX's own op that does the same."""
    import onnxruntime
    from onnx import helper

    options = oneop.onnx.session_options([oneop.build("leaky_relu", [SOURCE])], num_threads=1)
    options.intra_op_num_threads = 1
    x = np.arange(8, dtype=np.float32)

    def runs(length: int, op: str, domain: str, alpha: object) -> Callable[[], Any]:
        nodes = [
            helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], domain=domain, alpha=alpha, name=f"n{i}")
            for i in range(length)
        ]
        ends = [helper.make_tensor_value_info(f"v{i}", 1, x.shape) for i in (0, length)]
        graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("oneop", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
        session = onnxruntime.InferenceSession(model, options, ["CPUExecutionProvider"])
        return lambda: session.run(None, {"v0": x})

    for length, text in {1: "run of a node", 50: "run of 50 nodes"}.items():
        ours, theirs = runs(length, "leaky_relu", "oneop", repr(ALPHA)), runs(length, "LeakyRelu", "", ALPHA)
        report("onnx", text, "of LeakyRelu", *ratio(ours, theirs), bar=None)


def report(host: str, text: str, peer: str, ours: float, theirs: float, times: float, bar: float | None) -> None:
    """Print a line."""
    goal = "" if bar is None else f" (bar {bar:.2f}x)"
    print(f"{host:6} {text:18} {ours:8.0f} ns   {peer:18} {theirs:8.0f} ns   {times:.2f}x{goal}", flush=True)


def main() -> None:
    """Print a line for each call of the hosts that are installed."""
    numpy_calls()
    if importlib.util.find_spec("jax") is not None:
        jax_calls()
    if all(importlib.util.find_spec(name) for name in ("onnx", "onnxruntime")):
        onnx_calls()


if __name__ == "__main__":
    main()
