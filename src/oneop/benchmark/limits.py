"""What the machine can do at most, measured on it: copying memory, and multiplying matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable

import torch

from oneop.benchmark.timing import measure


def copy_function(nbytes: int, device: str) -> functools.partial[torch.Tensor]:
    """Return a function that moves so many bytes in all, read and written, by `copy_`."""
    source = torch.zeros(max(nbytes // 8, 1), device=device)  # float32, as most inputs are
    return functools.partial(torch.empty_like(source).copy_, source)


@functools.cache
def flops_per_second(device: str, dtype: torch.dtype = torch.float32, size: int = 512) -> float:
    """Return the floating-point operations per second of a matrix product."""
    x = torch.rand(size, size, device=device, dtype=dtype)
    out = torch.empty_like(x)
    wait = torch.cuda.synchronize if device != "cpu" else None
    timing = measure({"mm": lambda: torch.mm(x, x, out=out)}, seconds=0.1, synchronize=wait)["mm"]
    return 2 * size**3 / timing.median


def count_flops(function: Callable[[], object]) -> int:
    """Return the operations that torch counts in a call: of its own ops products alone, of others what they declare."""
    from torch.utils.flop_counter import FlopCounterMode

    try:
        with FlopCounterMode(display=False) as counter:
            function()
    except Exception:
        return 0
    return int(counter.get_total_flops())
