"""How far a result may be from the reference: bounds that follow from the dtype, the inputs and the reference itself.

A result is right if it is the exact result of inputs that are each off by a few roundings. So the reference runs in
float64 on the inputs, and again on inputs that are nudged by roundings of the dtype under test. What the nudges do to
an element (its spread) is the measure of its error: large where a sum cancels or a comparison tips over, small
elsewhere. Three things are added, all in units of the dtype's `eps`:

- roundings of the result itself, `OWN` times its size;
- roundings of intermediate values, which are taken to be as large as the largest result or spread, `FLOOR` times;
- where the reference in the dtype under test is farther off than that, twice its own error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from oneop.testing.sbp_tolerance import nudged

#: Roundings of the result, of intermediate values, and how much more than a nudge of three roundings may show.
OWN, FLOOR, SPREAD = 16.0, 4.0, 8.0
#: Without a reference the op's own float64 results are the measure, and nothing says how large intermediate values are.
FLOOR_ALONE = 64.0
NUDGES, NUDGES_OF_LARGE, LARGE = 6, 1, 50_000

NARROW = (torch.float32, torch.float16, torch.bfloat16)
#: Sums of these are kept in float32 until they are done, so that their roundings do not grow.
LOW = (torch.float16, torch.bfloat16)
Function = Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor]]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """What one result should be, and how far each element may be off; `limit` is None for exact dtypes.

    `allowed` are other results that are as right: that of the reference in the dtype under test, and for integers
    those of nudged inputs. `spread` is what nudges did, `growth` that of roundings in sums.
    """

    expected: torch.Tensor
    limit: torch.Tensor | None
    allowed: tuple[torch.Tensor, ...] = ()
    spread: torch.Tensor | None = None
    growth: float = 1.0


def working_dtype(tensors: Sequence[torch.Tensor]) -> torch.dtype | None:
    """Return the least exact floating dtype among inputs, or None."""
    dtypes = [tensor.dtype.to_real() for tensor in tensors if tensor.is_floating_point() or tensor.is_complex()]
    return max(dtypes, key=lambda dtype: torch.finfo(dtype).eps, default=None)


def widened(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy, with the same numbers in float64 or complex128; integers as they are."""
    return tensor.detach().to(widened_dtype(tensor.dtype), copy=True)


def widened_dtype(dtype: torch.dtype) -> torch.dtype:
    """Return float64, complex128, or the dtype itself if it is one of integers."""
    return torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else dtype


def bounds_of(
    wide: Function, tensors: Sequence[torch.Tensor], own: Sequence[torch.Tensor] | None, *, length: int
) -> list[Bound]:
    """Return bounds for the results of inputs.

    Args:
        wide: the reference, a function of float64 inputs. It may raise; so does this.
        tensors: the inputs, in the dtype under test.
        own: results of the reference for these inputs as they are, where it has some.
        length: how many terms a result may be the sum of; roundings of a sum grow with its square root.
    """
    dtype = working_dtype(tensors)
    expected = list(wide([widened(tensor) for tensor in tensors]))
    if dtype is None:
        return [Bound(expected=result, limit=None) for result in expected]
    count = NUDGES if sum(tensor.numel() for tensor in tensors) <= LARGE else NUDGES_OF_LARGE
    nudges = [
        [widened(_nudged(tensor, dtype, number, place)) for place, tensor in enumerate(tensors)]
        for number in range(1, count + 1)
    ]
    near = [list(wide(inputs)) for inputs in nudges]
    floor = FLOOR if own is not None else FLOOR_ALONE
    bounds = []
    for place, result in enumerate(expected):
        others = [results[place] for results in near if len(results) == len(expected)]
        reference = own[place] if own is not None and len(own) == len(expected) else None
        growth = 1.0 if dtype in LOW else math.sqrt(max(length, 1))
        bounds.append(_bound(result, others, reference, dtype, floor, growth))
    return bounds


def _nudged(tensor: torch.Tensor, dtype: torch.dtype, number: int, seed: int) -> torch.Tensor:
    """Return a tensor nudged by roundings of a dtype, which may be less exact than its own."""
    if not tensor.is_floating_point() or tensor.dtype == dtype:
        return nudged(tensor, number, seed)
    generator = torch.Generator().manual_seed(1000 * number + seed)
    steps = torch.randint(-3, 4, tensor.shape, generator=generator)
    return tensor + tensor * (steps * torch.finfo(dtype).eps).to(tensor)


@torch.no_grad()
def _bound(
    expected: torch.Tensor,
    near: Sequence[torch.Tensor],
    own: torch.Tensor | None,
    dtype: torch.dtype,
    floor: float,
    growth: float,
) -> Bound:
    same_shape = [other for other in near if other.shape == expected.shape]
    own = own if own is not None and own.shape == expected.shape else None
    if not (expected.is_floating_point() or expected.is_complex()):
        return Bound(expected=expected, limit=None, allowed=(*same_shape, *([own] if own is not None else [])))
    # A result may have a million elements: what has no passes to spare is done in place.
    size = _finite(expected.abs().double())
    spread = torch.zeros_like(size)
    for other in same_shape:
        torch.maximum(spread, _finite((other - expected).abs().double()), out=spread)
    limit = _limit(size, spread, own, expected, dtype, floor, growth)
    allowed = () if own is None else (own,)
    return Bound(expected=expected, limit=limit, allowed=allowed, spread=spread, growth=growth)


def smooth_limit(bound: Bound, own: torch.Tensor | None, jumps: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Return the limit of a bound as if nothing were where the results jump: a jump is no large intermediate value."""
    assert bound.spread is not None
    size = _finite(bound.expected.abs().double())
    spread = torch.where(jumps, 0.0, bound.spread)
    own = None if own is None or own.shape != size.shape else torch.where(jumps, bound.expected, own.to(bound.expected))
    return _limit(size, spread, own, bound.expected, dtype, FLOOR, bound.growth)


def _limit(
    size: torch.Tensor,
    spread: torch.Tensor,
    own: torch.Tensor | None,
    expected: torch.Tensor,
    dtype: torch.dtype,
    floor: float,
    growth: float,
) -> torch.Tensor:
    """Return how far elements of some sizes and spreads may be off; `size` is changed."""
    eps, tiny = torch.finfo(dtype).eps, torch.finfo(dtype).smallest_normal
    largest = max(float(size.max()), float(spread.max()) / eps) if size.numel() else 0.0
    limit = size.mul_(OWN * eps).add_(spread, alpha=SPREAD * growth).add_(floor * eps * growth * largest + tiny)
    if own is not None and limit.numel():
        off = _finite((own.to(expected.dtype) - expected).abs().double())
        limit = limit * max(1.0, 2 * float((off / limit).max()))
    return limit


def _finite(tensor: torch.Tensor) -> torch.Tensor:
    """Return a new tensor of sizes with 0 for those that are no number, in place."""
    return tensor.nan_to_num_(nan=0.0, posinf=0.0, neginf=0.0)


@torch.no_grad()
def within(bound: Bound, actual: torch.Tensor, *, finite_only: bool = False) -> torch.Tensor:
    """Tell for each element whether it is right; with `finite_only`, also where the reference is not finite."""
    right = _matches(bound.expected, actual, bound.limit)
    if bool(right.all()):
        return right
    if finite_only and bound.limit is not None:
        right = right | ~bound.expected.isfinite()
    for other in bound.allowed:
        right = right | _matches(other, actual, bound.limit)
    return right


def _matches(expected: torch.Tensor, actual: torch.Tensor, limit: torch.Tensor | None) -> torch.Tensor:
    if limit is None:
        return expected == actual if not actual.is_floating_point() else _equal(expected.to(actual.dtype), actual)
    wide = torch.complex128 if expected.is_complex() or actual.is_complex() else torch.float64
    left, right = expected.to(wide), actual.to(wide)
    right_enough = (left - right).abs() <= limit
    if bool(right_enough.all()):
        return right_enough
    right_enough |= _equal(left, right)
    if actual.is_floating_point() and actual.dtype in NARROW and not expected.is_complex():
        # Beyond the largest number of the dtype, infinity is right; just below it too, by rounding.
        end = torch.finfo(actual.dtype).max
        beyond = left.abs() + limit >= end
        right_enough = right_enough | (beyond & actual.isinf() & (actual.sign() == left.sign()))
    return right_enough


def _equal(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
    return (left == right) | (left.isnan() & right.isnan())


@dataclass(kw_only=True)
class Statistics:
    """Errors of floating results, in units of eps times the size of the result."""

    count: int = 0
    largest: float = 0.0
    histogram: list[int] | None = None
    #: Upper ends of the histogram's classes.
    ENDS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, math.inf)

    @torch.no_grad()
    def add(self, bound: Bound, actual: torch.Tensor, dtype: torch.dtype) -> None:
        """Count the errors of one result."""
        if bound.limit is None or not actual.numel():
            return
        expected = bound.expected.to(actual.device)
        off = (actual.to(expected.dtype) - expected).abs().double()
        unit = expected.abs().double().mul_(torch.finfo(dtype).eps)
        judged = off.isfinite().logical_and_(unit > torch.finfo(dtype).smallest_normal)
        errors = off.div_(unit)
        errors = errors.flatten() if bool(judged.all()) else errors[judged]
        if not errors.numel():
            return
        self.count += errors.numel()
        self.largest = max(self.largest, float(errors.max()))
        ends = torch.tensor(self.ENDS[:-1], dtype=torch.float64)
        counts = torch.bucketize(errors.cpu(), ends).bincount(minlength=len(self.ENDS)).tolist()
        self.histogram = [a + b for a, b in zip(self.histogram or [0] * len(self.ENDS), counts, strict=True)]

    def __str__(self) -> str:
        """Return `at most 1.2 eps, 99% within 0.5`."""
        return f"at most {self.largest:.2g} eps, 99% within {self.p99:.2g},"

    def to_json(self) -> dict[str, object]:
        """Return it as JSON can hold it."""
        classes = [f"<= {end:g}" for end in self.ENDS[:-1]] + ["more"]
        return {
            "results": self.count,
            "max_eps": self.largest,
            "p99_eps": self.p99,
            "histogram": dict(zip(classes, self.histogram or [], strict=False)),
        }

    @property
    def p99(self) -> float:
        """The upper end of the class in which 99 of 100 errors are."""
        seen = 0
        for end, number in zip(self.ENDS, self.histogram or [], strict=False):
            seen += number
            if seen >= 0.99 * self.count:
                return min(end, self.largest)
        return self.largest
