"""What oneop does, in a few seconds: build a C++ op, call it, differentiate it, train with it, time it.

    python examples/demo.py

The op is examples/leaky_relu/leaky_relu.cpp. Nothing is written but to the build cache.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import oneop

SOURCE = Path(__file__).parent / "leaky_relu" / "leaky_relu.cpp"
ALPHA = 0.2

Row = tuple[str, str, str]  # what was done, the result, a note


def main() -> None:
    """Run all steps and print one line for each."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rows = [build_it(), load_it(), call_it(), differentiate_it(), train_with_it(), *time_it()]
    print_summary(rows)


def build_it() -> Row:
    library = oneop.build("leaky_relu", [SOURCE])
    if library.cached:
        return ("built", "from the cache", f"{library.build_seconds:.2f} s when it was compiled")
    return ("built", f"{library.build_seconds:.2f} s", "compiled and linked just now")


def load_it() -> Row:
    library = oneop.build("leaky_relu", [SOURCE])
    started = time.perf_counter()
    loaded = oneop.load(library)
    milliseconds = (time.perf_counter() - started) * 1e3
    return ("loaded", f"{milliseconds:.0f} ms", f"{len(loaded.ops)} ops")


def call_it() -> Row:
    x = torch.randn(64, 64)
    assert torch.equal(oneop.ops.leaky_relu(x, alpha=ALPHA), F.leaky_relu(x, ALPHA))
    return ("called", "equal to torch", "64 x 64, float32, bit by bit")


def differentiate_it() -> Row:
    x = torch.randn(4, 4, dtype=torch.float64, requires_grad=True)

    def op(x: Tensor) -> Tensor:
        return oneop.ops.leaky_relu(x, alpha=ALPHA)

    assert torch.autograd.gradcheck(op, x) and torch.autograd.gradgradcheck(op, x)
    return ("differentiated", "gradcheck passes", "gradgradcheck too")


def train_with_it() -> Row:
    """Fit the same small network with our op and with torch's, from the same start."""

    def fit(activation: Callable[[Tensor], Tensor]) -> tuple[float, float]:
        torch.manual_seed(1)
        first, second = nn.Linear(2, 32), nn.Linear(32, 1)
        parameters = [*first.parameters(), *second.parameters()]
        x = torch.rand(256, 2) * 2 - 1
        target = (x[:, :1] * x[:, 1:] > 0).float()
        losses = []
        for _ in range(300):
            loss = F.binary_cross_entropy_with_logits(second(activation(first(x))), target)
            losses.append(loss.item())
            with torch.no_grad():
                for parameter, grad in zip(parameters, torch.autograd.grad(loss, parameters), strict=True):
                    parameter -= grad
        return losses[0], losses[-1]

    before, after = fit(lambda x: oneop.ops.leaky_relu(x, alpha=ALPHA))
    with_torch = fit(lambda x: F.leaky_relu(x, ALPHA))
    assert math.isclose(after, with_torch[1], rel_tol=1e-3)
    return ("trained", f"loss {before:.3f} -> {after:.3f}", f"300 steps; with torch's own op {with_torch[1]:.3f}")


def time_it() -> list[Row]:
    """Measure what a call costs beside torch's own op, on a small tensor."""
    ours = oneop.ops.leaky_relu
    plain, needing_grad = torch.randn(8), torch.randn(8, requires_grad=True)
    rows = []
    for title, x in [("call, no grad", plain), ("call, with grad", needing_grad)]:
        own, builtin = best_times([lambda x=x: ours(x, alpha=ALPHA), lambda x=x: F.leaky_relu(x, ALPHA)])
        rows.append(
            (title, f"{own / builtin:.2f} x built-in", f"{own * 1e6:.2f} us, torch {builtin * 1e6:.2f} us, 8 elements")
        )
    return rows


def best_times(functions: Sequence[Callable[[], object]], rounds: int = 40, calls: int = 500) -> list[float]:
    """Return the best seconds per call of each, measured in turns so that all see the same machine."""
    best = [math.inf] * len(functions)
    for _ in range(rounds):
        for i, function in enumerate(functions):
            started = time.perf_counter()
            for _ in range(calls):
                function()
            best[i] = min(best[i], (time.perf_counter() - started) / calls)
    return best


def print_summary(rows: Sequence[Row]) -> None:
    title = f"oneop {oneop.__version__}, torch {torch.__version__}: leaky_relu.cpp"
    try:
        from rich.console import Console
        from rich.table import Table
    except ImportError:
        widths = [max(len(row[i]) for row in rows) for i in range(2)]
        print(title)
        for what, result, note in rows:
            print(f"  {what:{widths[0]}}  {result:{widths[1]}}  {note}")
        return
    table = Table(title=title, title_justify="left", show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(style="green")
    table.add_column(style="dim")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main()
