"""Tensors for checks: the same in every run, exact in every dtype, and away from the places where functions have kinks.

Floating values are odd multiples of 1/64 between -4 and 4. Eight bits hold them, so float64 and bfloat16 have the same
ones; none is 0, 1 or 0.5, so a numerical derivative does not step over the usual kinks; and as long as there are
enough of them, no two in a tensor are equal. Other fills have all bits of the mantissa, or other magnitudes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from oneop.testing.edges.numbers import EDGES, floats_at_edges, integers_at_edges
from oneop.testing.kept_values import KeptValues

LAYOUTS = ("contiguous", "transposed", "strided", "padded", "offset", "expanded", "reversed")
#: Of these fills all values are equal.
_CONSTANTS = {"zeros": 0.0, "equal": 1.5, "lowest": -math.inf, "highest": math.inf}
FILLS = (
    "plain",
    "positive",
    "special",
    "full",
    "large",
    "tiny",
    "huge",
    "extreme",
    "shifted",
    "wide",
    "long",
    *EDGES,
    *_CONSTANTS,
)
#: Of these fills an op may refuse the values, and a reference overflow where the op does not.
UNUSUAL_FILLS = ("large", "tiny", "huge", "extreme", "shifted", "wide", "long", "thresholds", "low", "high")
#: Of these fills every other value has another magnitude: from, to. Between them are values as in "full".
_MAGNITUDES = {"large": (8.0, 1000.0), "tiny": (1e-6, 1e-3), "huge": (1e4, 1e12)}
#: The same for "extreme", by dtype: their squares are beyond the dtype, their quotients and sums are not.
_EXTREME = {torch.float32: (1e20, 1e25), torch.bfloat16: (1e20, 1e25), torch.float16: (300.0, 3e4)}
_EXTREME_DOUBLE = (1e155, 1e200)
#: For "shifted", what is added: the squares of these numbers have no digits left for the spread.
_SHIFTS = {torch.float16: 32.0, torch.bfloat16: 32.0}
_SHIFT = 8192.0
_INTEGERS = {
    "large": 50_000,  # its square does not fit into 32 bits
    "wide": 2**40,  # more than the 24 bits of float32 and than 32; sums of some stay below 2^53
    "long": 2**55,  # more than the 53 bits of float64; sums of a hundred fit into 64
    "huge": 2**62,
}
_GRID = 256
_OFFSETS = (3, 1, 2, 4, 5, 8, 16)  # elements; vectors of some widths are not aligned there
OFFSETS = len(_OFFSETS)
_SPECIAL = (math.nan, math.inf, -math.inf, 0.0, -0.0)
_kept = KeptValues(160 << 20)


@dataclass(frozen=True)
class TensorCase:
    """A tensor as data: `make()` gives the same one each time."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    layout: str = "contiguous"
    fill: str = "plain"
    seed: int = 0
    lane: tuple[int, int] = (0, 1)
    bounds: tuple[float, float] | None = None
    among: tuple[float, ...] = ()

    def make(self, device: str = "cpu") -> torch.Tensor:
        """Return the tensor."""
        return tensor(
            self.shape,
            self.dtype,
            layout=self.layout,
            fill=self.fill,
            seed=self.seed,
            lane=self.lane,
            bounds=self.bounds,
            among=self.among,
            device=device,
        )

    def __str__(self) -> str:
        """Return `float32[2, 3]`, with what is special."""
        notes = [note for note in (self.layout, self.fill) if note not in ("contiguous", "plain")]
        text = f"{str(self.dtype).removeprefix('torch.')}{list(self.shape)}"
        return f"{text} {' '.join(notes)}" if notes else text

    def code(self, function: str = "tensor", device: str = "cpu") -> str:
        """Return the expression that makes the tensor, or with "tensor_case" this recipe."""
        arguments = [f"{self.shape}", f"{self.dtype}"]
        if self.layout != "contiguous":
            arguments.append(f"layout={self.layout!r}")
        if self.fill != "plain":
            arguments.append(f"fill={self.fill!r}")
        if self.seed:
            arguments.append(f"seed={self.seed}")
        if self.lane != (0, 1):
            arguments.append(f"lane={self.lane}")
        if self.bounds is not None:
            arguments.append(f"bounds={self.bounds}")
        if self.among:
            arguments.append(f"among={self.among}")
        if device != "cpu":
            arguments.append(f"device={device!r}")
        return f"{function}({', '.join(arguments)})"


def tensor(
    shape: Sequence[int],
    dtype: torch.dtype,
    *,
    layout: str = "contiguous",
    fill: str = "plain",
    seed: int = 0,
    lane: tuple[int, int] = (0, 1),
    bounds: tuple[float, float] | None = None,
    among: Sequence[float] = (),
    device: str = "cpu",
) -> torch.Tensor:
    """Return a tensor for a check; the same arguments give the same one in every process.

    Args:
        shape: its shape.
        dtype: its dtype.
        layout: "contiguous", "transposed", "strided", "padded" (rows are parts of longer ones), "offset" (starts inside
            its memory), "expanded" (stride 0) or "reversed" (the first axis is the innermost).
        fill: "plain", "positive", "special" (NaN, infinities and zeros among the values), "full" (all bits of the
            mantissa), "large", "tiny", "huge" or "extreme" (every other magnitude is 8 to 1000, 1e-6 to 1e-3, 1e4 to
            1e12, or so large that its square is beyond the dtype; large integers are up to 50,000, huge ones up to
            2^62), "wide" (integers up to 2^40), "long" (up to 2^55), "shifted" (far from zero, beside which they differ
            little), "zeros", "equal", "lowest" (-inf) or "highest" (inf); "ties" (quarters and halves, many of them
            equal), "thresholds" (numbers at which functions change), "low" and "high" (rows far below and above zero)
            or "masked" (rows of masks and integers that are all 0, and all 1).
        seed: another number, other values.
        lane: (k, n) takes the k-th of n disjoint sets of values, so that several inputs never have one in common.
        bounds: lowest and highest value, in place of those above.
        among: more numbers for "ties" and "thresholds".
        device: where it is; the values are the same everywhere.
    """
    shape, among = tuple(shape), tuple(among)

    def values(memory_shape: tuple[int, ...]) -> torch.Tensor:
        key = (memory_shape, dtype, fill, seed, lane, bounds, among)
        if torch._C._len_torch_dispatch_stack():
            return _values(*key).to(device)  # under a mode these are other tensors, such as fake ones
        return _kept.take(key, lambda: _values(*key)).to(device)

    if layout == "transposed" and len(shape) >= 2:
        return values((*shape[:-2], shape[-1], shape[-2])).transpose(-1, -2)
    if layout == "strided" and shape:
        return values((*shape[:-1], 2 * shape[-1]))[..., ::2]
    if layout == "padded" and len(shape) >= 2:
        return values((*shape[:-1], shape[-1] + 3))[..., : shape[-1]]
    if layout == "offset":
        count = math.prod(shape)
        start = _OFFSETS[seed % len(_OFFSETS)]
        return values((count + start,))[start:].view(shape)
    if layout == "reversed" and len(shape) >= 2:
        return values(shape[::-1]).permute(*reversed(range(len(shape))))
    if layout == "expanded" and shape:
        return values((1, *shape[1:])).expand(shape)
    return values(shape)


def _values(
    shape: tuple[int, ...],
    dtype: torch.dtype,
    fill: str,
    seed: int,
    lane: tuple[int, int],
    bounds: tuple[float, float] | None,
    among: tuple[float, ...],
) -> torch.Tensor:
    count = math.prod(shape)
    generator = torch.Generator().manual_seed(1000 * seed + lane[0])
    if fill in EDGES and not dtype.is_complex:
        if not dtype.is_floating_point:
            return integers_at_edges(fill, shape, dtype, seed=seed, lane=lane, bounds=bounds)
        if fill != "masked":
            numbers = floats_at_edges(fill, shape, seed=seed, lane=lane, dtype=dtype, bounds=bounds, among=among)
            return numbers.to(dtype)
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).to(dtype)
    if not dtype.is_floating_point and not dtype.is_complex:
        low, high = bounds or _integer_bounds(dtype, fill)
        least, most = math.ceil(low), math.floor(high)  # those that lie between the bounds
        return torch.randint(least, max(most, least) + 1, shape, generator=generator).to(dtype)
    numbers = _floats(count, generator, lane, fill, bounds, dtype)
    if fill == "huge" and dtype in (torch.float16,):
        numbers = numbers.clamp(-6e4, 6e4)
    if dtype.is_complex:
        numbers = torch.complex(numbers, _floats(count, generator, lane, "plain", bounds, dtype))
    return numbers.to(dtype).view(shape)


def _floats(
    count: int,
    generator: torch.Generator,
    lane: tuple[int, int],
    fill: str,
    bounds: tuple[float, float] | None,
    dtype: torch.dtype,
) -> torch.Tensor:
    own = torch.arange(lane[0] % lane[1], _GRID, lane[1])
    order = torch.randperm(len(own), generator=generator)
    picks = own[order[:count]] if count <= len(own) else own[torch.randint(len(own), (count,), generator=generator)]
    numbers = (2.0 * picks.double() - (_GRID - 1)) / 64
    if bounds is not None:
        low, high = bounds
        numbers = low + (numbers + 4) / 8 * (high - low)
    elif fill == "positive":
        numbers = numbers.abs()
    if fill in ("full", "wide", "extreme", "shifted", *_MAGNITUDES) and bounds is None:
        # Still on the sides of the grid's cells, so that inputs of several lanes have no value in common.
        numbers = numbers + (torch.rand(count, generator=generator, dtype=torch.float64) - 0.5) / 128
    if fill == "shifted" and bounds is None:
        numbers = numbers + _SHIFTS.get(dtype, _SHIFT)
    if fill in ("extreme", *_MAGNITUDES) and bounds is None:
        low, high = (math.log(end) for end in _MAGNITUDES.get(fill) or _EXTREME.get(dtype.to_real(), _EXTREME_DOUBLE))
        every_other = numbers[::2]
        powers = low + (high - low) * torch.rand(len(every_other), generator=generator, dtype=torch.float64)
        every_other.copy_(every_other.sign() * powers.exp())
    if fill in _CONSTANTS and bounds is None:
        numbers = torch.full_like(numbers, _CONSTANTS[fill])
    if fill == "special" and bounds is None:
        _put_special(numbers, generator)
    return numbers


def _put_special(numbers: torch.Tensor, generator: torch.Generator) -> None:
    """Put NaN, infinities and zeros among the numbers; of one kind or, every third time, of all kinds.

    Where an op reduces rows, a NaN hides what becomes of an infinity beside it.
    """
    step, offset, kind = (int(torch.randint(most, (), generator=generator)) for most in (6, 6, 3 * len(_SPECIAL)))
    values = _SPECIAL if kind % 3 == 0 else _SPECIAL[kind // 3 :][:1]
    places = numbers[offset % (step + 2) :: step + 2]  # their neighbours stay ordinary
    special = torch.tensor(values, dtype=torch.float64)
    places.copy_(special.repeat(-(-len(places) // len(special)))[: len(places)])


def _integer_bounds(dtype: torch.dtype, fill: str) -> tuple[int, int]:
    limits = torch.iinfo(dtype)
    most = _INTEGERS.get(fill)
    if most is None:
        return (-4 if dtype.is_signed else 0), 9
    return max(limits.min, -most), min(limits.max, most) - 1
