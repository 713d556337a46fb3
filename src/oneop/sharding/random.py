"""Random ops: each shard draws numbers of its own, and devices that have the same shard draw the same.

What is needed is that all ranks are seeded alike. A number is drawn from the device's generator, the same on all ranks;
it and the number of the shard make the seed with which the kernel runs. So the generators stay alike.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from oneop.registry import OpDef

if TYPE_CHECKING:
    from torch.distributed.tensor.placement_types import Placement


def is_random(op: OpDef) -> bool:
    """Tell whether an op was defined with `random=True`, or has a seed as an attribute."""
    from oneop.authoring.book import definition_of

    page = definition_of(op.name)
    return bool(page is not None and page.random) or _takes_seed(op)


def _takes_seed(op: OpDef) -> bool:
    return any(attr.name == "seed" and attr.type in ("int32", "int64") for attr in op.attrs)


@contextlib.contextmanager
def own_numbers(
    op: OpDef,
    placements: Sequence[Placement],
    mesh_shape: Sequence[int],
    coordinate: Sequence[int],
    args: Sequence[Any],
    attrs: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """Give the attributes with which this shard draws numbers of its own; inside the block torch's generator does."""
    if not is_random(op):
        yield {}
        return
    shard = 0
    for placement, size, index in zip(placements, mesh_shape, coordinate, strict=True):
        if placement.is_shard():
            shard = shard * size + index
    if _takes_seed(op):
        default = next((int(attr.default) for attr in op.attrs if attr.name == "seed" and attr.has_default), 0)
        seed = int(attrs.get("seed", default))
        yield {"seed": _mixed(seed, shard) if shard else seed}
        return
    generator = _generator_of(args)
    drawn = int(torch.randint(2**62, (), generator=generator, device=generator.device))
    state = generator.get_state()
    generator.manual_seed(_mixed(drawn, shard))
    try:
        yield {}
    finally:
        generator.set_state(state)


def _generator_of(args: Sequence[Any]) -> torch.Generator:
    tensors = (item[0] if isinstance(item, (list, tuple)) and item else item for item in args)
    device = next((tensor.device for tensor in tensors if isinstance(tensor, torch.Tensor)), torch.device("cpu"))
    return torch.cuda.default_generators[device.index or 0] if device.type == "cuda" else torch.default_generator


def _mixed(seed: int, shard: int) -> int:
    """Return a number of 31 bits that differs for each pair (splitmix's finishing steps)."""
    mask = 2**64 - 1
    mixed = (seed + (shard + 1) * 0x9E3779B97F4A7C15) & mask
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & mask
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & mask
    return (mixed ^ (mixed >> 31)) & (2**31 - 1)
