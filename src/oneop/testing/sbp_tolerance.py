"""By how much results may differ: each element by what rounding its own inputs can do to it, and not more.

A limit relative to the largest element hides errors in the others; one relative to the element itself raises a false
alarm where a sum cancels. So the op runs again on parts that are changed by a rounding error, and what that does to an
element is the measure of its error.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

#: Roundings add up in long sums. For low precision results are rounded once, from sums that are kept in higher ones.
_FACTOR = {torch.float64: 32.0, torch.float32: 24.0, torch.float16: 3.0, torch.bfloat16: 3.0}


def nudged(tensor: torch.Tensor, number: int, seed: int) -> torch.Tensor:
    """Return a tensor whose elements are changed by about a rounding error each; itself for number 0."""
    if not number or not tensor.is_floating_point() or not tensor.numel():
        return tensor
    generator = torch.Generator().manual_seed(1000 * number + seed)
    steps = torch.randint(-3, 4, tensor.shape, generator=generator)  # several sizes: equal ones cancel where values do
    return tensor + tensor * (steps * torch.finfo(tensor.dtype).eps).to(tensor)


def limits(
    gathered: torch.Tensor, near: Sequence[torch.Tensor], summands: Sequence[torch.Tensor], rtol: float | None
) -> torch.Tensor | None:
    """Return for each element how far it may be off; None for exact dtypes.

    `near` are results of nudged runs; `summands` are added up by whoever gathers, which rounds too.
    """
    if not (gathered.is_floating_point() or gathered.is_complex()):
        return None
    base = gathered.abs().to(torch.float64)
    if rtol is not None:
        return rtol * base + rtol * sum(
            (summand.abs().to(torch.float64) for summand in summands), torch.zeros_like(base)
        )
    dtype = {torch.complex64: torch.float32, torch.complex128: torch.float64}.get(gathered.dtype, gathered.dtype)
    step = torch.finfo(dtype).eps
    spread = step * base
    if near:  # the second largest: one run in which an element jumps (rounding, a comparison) does not excuse it
        moved = torch.stack([(neighbour - gathered).abs().to(torch.float64).nan_to_num() for neighbour in near])
        spread = torch.maximum(spread, moved.sort(0).values[max(len(near) - 2, 0)])
    spread = spread + step * sum((summand.abs().to(torch.float64) for summand in summands), torch.zeros_like(base)) / 4
    return _FACTOR.get(dtype, 3.0) * spread.nan_to_num(posinf=0.0) + torch.finfo(dtype).tiny


def difference(gathered: torch.Tensor, whole: torch.Tensor, limit: torch.Tensor | None) -> str | None:
    """Return how two tensors differ by more than the limit, or None. Without a limit they must be equal."""
    if not whole.numel():
        return None
    equal = (gathered == whole) | ((gathered != gathered) & (whole != whole))
    if limit is None:
        wrong = int((~equal).sum())
        return f"differs from the whole in {wrong} of {whole.numel()} elements" if wrong else None
    gap = (gathered - whole).abs().to(torch.float64).nan_to_num(nan=float("inf"), posinf=float("inf"))
    bad = ~equal & (gap > limit)
    return f"differs from the whole by up to {float(gap[bad].max()):.3g}" if bool(bad.any()) else None
