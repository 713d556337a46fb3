"""Random ops: each shard draws numbers of its own, and devices that have the same shard draw the same.

All ranks must be seeded alike. The overload `part` of a random op (csrc/torch_host/compute/part_call.cpp) draws a
number from the device's generator, the same on all ranks; it and the number of the shard make the seed with which the
kernel runs. So the generators stay alike, and a compiled graph draws as eager calls do.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from oneop.registry import OpDef
from oneop.sbp import SPLIT, Sbp


def is_random(op: OpDef) -> bool:
    """Tell whether an op was defined with `random=True`. Nothing else makes it random, whatever its attributes.

    A kernel in C++ that draws asks where it runs, as OneFlow's do.
    """
    from oneop.authoring.book import definition_of

    page = definition_of(op.name)
    return bool(page is not None and page.random)


@contextmanager
def own_numbers(device: torch.device, shard: int) -> Iterator[None]:
    """Let a composition draw the numbers of the kernel of this shard; see csrc/torch_host/compute/part_call.cpp."""
    generator: Any = torch.default_generator
    if device.type == "cuda":
        generator = torch.cuda.default_generators[device.index or 0]
    drawn = int(torch.randint(1 << 62, (), generator=generator, device=device))
    state = generator.get_state()
    generator.manual_seed(_mixed(drawn, shard))
    try:
        yield
    finally:
        generator.set_state(state)


def shard_of(mesh_shape: tuple[int, ...], coordinate: tuple[int, ...], output: tuple[Sbp, ...]) -> int:
    """Return the number of the shard of the first output; equal on devices that have the same shard."""
    shard = 0
    for sbp, size, position in zip(output, mesh_shape, coordinate, strict=True):
        if sbp.kind == SPLIT:
            shard = shard * size + position
    return shard


def _mixed(seed: int, shard: int) -> int:
    """Return the same number as `mixed` in csrc/torch_host/compute/part_call.cpp."""
    mask = (1 << 64) - 1
    word = (seed + (shard + 1) * 0x9E3779B97F4A7C15) & mask
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return (word ^ (word >> 31)) & 0x7FFFFFFF
