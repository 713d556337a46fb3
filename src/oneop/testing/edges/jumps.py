"""What a result must be where the reference jumps: at ties of rounding, at thresholds, at the edges of bins.

Elsewhere results of inputs that are nudged by roundings are right too. At a jump that would take both sides for right,
and the sides are what `>` and `>=`, or rounding to even and away from zero, differ in. So where inputs lie exactly on a
jump, the result for these very inputs is asked for, unless it hangs on roundings: see roundings.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from oneop.testing.accuracy import FLOOR, OWN, SPREAD, Bound, smooth_limit, widened, working_dtype
from oneop.testing.edges.roundings import CHOICE, Roundings

#: A nudge so small moves a result by this part of it at a jump alone.
_NUDGE, _LEAST, _JUMP = 1e-13, 1e-30, 1e-6
_RUNS, _CHOICES, _STEPS_OFF = 4, 2, 2
#: By how much attributes are off that a float may hold in place of a double.
ATTRIBUTE_FACTORS = (1.0, 1 + 2.0**-22, 1 - 2.0**-22)
Results = Sequence[torch.Tensor]
#: The reference as a function of float64 inputs, and of a factor of attributes that have no short binary form.
Reference = Callable[[Results, float], Results]


def sharpened(bounds: Sequence[Bound], reference: Reference, tensors: Results, own: Results | None) -> list[Bound]:
    """Return bounds that leave no choice at jumps.

    Args:
        bounds: what holds elsewhere.
        reference: the reference.
        tensors: the inputs, in the dtype under test.
        own: its results for them as they are, where it has some: it decides for itself what its roundings leave open.
    """
    exact = [widened(tensor) for tensor in tensors]
    dtype = working_dtype(tensors)
    if dtype is None:
        return list(bounds)
    try:
        rounded = [_rounded_run(reference, exact, dtype, number) for number in range(_RUNS + 1)]
        beside = [
            reference([_moved(tensor, number, place) for place, tensor in enumerate(exact)], 1.0)
            for number in range(_RUNS + 1)
        ]
        rounded += [reference([tensor.clone() for tensor in exact], by) for by in ATTRIBUTE_FACTORS[1:]]
        if dtype == torch.float64 and all(torch.equal(tensor.float().double(), tensor) for tensor in _floats(exact)):
            rounded.append(reference([t.float() if t.is_floating_point() else t for t in exact], 1.0))
    except Exception:
        return list(bounds)  # it makes choices that torch leaves open, or is no function of torch's ops alone
    if any(len(results) != len(bounds) for results in (*rounded, *beside)):
        return list(bounds)
    sharp = []
    for place, bound in enumerate(bounds):
        reference_own = own[place] if own is not None and len(own) == len(bounds) else None
        near, far = ([results[place] for results in runs] for runs in (beside, rounded))
        sharp.append(_sharpened(bound, near, far, reference_own, dtype))
    return sharp


def _floats(tensors: Results) -> list[torch.Tensor]:
    return [tensor for tensor in tensors if tensor.is_floating_point()]


def with_steps_off(bounds: Sequence[Bound], reference: Reference, tensors: Results) -> list[Bound]:
    """Return bounds that allow what roundings in the steps of the reference do, in its tables and angles too."""
    exact = [widened(tensor) for tensor in tensors]
    dtype = working_dtype(tensors)
    if dtype is None:
        return list(bounds)
    try:
        runs = [_rounded_run(reference, exact, dtype, number) for number in range(1, _STEPS_OFF + 1)]
    except Exception:
        return list(bounds)
    wider = []
    for place, bound in enumerate(bounds):
        others = [run[place] for run in runs if run[place].shape == bound.expected.shape]
        if bound.limit is None:
            wider.append(bound)
            continue
        spread = torch.zeros_like(bound.limit)
        for other in others:
            torch.maximum(spread, _sizes((other - bound.expected).abs().double()), out=spread)
        wider.append(replace(bound, limit=bound.limit + SPREAD * spread))
    return wider


def left_open(reference: Reference, tensors: Results) -> list[bool]:
    """Tell which results hang on what torch leaves open: which of equal numbers it takes, or an integer overflow."""
    exact = [widened(tensor) for tensor in tensors]
    dtype = working_dtype(tensors) or torch.float64
    runs: list[list[torch.Tensor]] = []
    is_blurred = not all(tensor.is_floating_point() for tensor in tensors)  # integers cannot be made different
    try:
        for number in range(_CHOICES + 1):
            with torch.no_grad(), Roundings(dtype, number, choices_only=number > 0) as roundings:
                runs.append(list(reference([tensor.clone() for tensor in exact], 1.0)))
            if roundings.overflows:
                return [True] * len(runs[0])
            if not roundings.chooses:
                return [False] * len(runs[0])
            is_blurred |= roundings.chooses_infinities
    except Exception:
        return []
    return [
        any(_differ(result, run[place]) for run in runs[1:]) or (is_blurred and not result.is_floating_point())
        for place, result in enumerate(runs[0])
    ]


def _differ(result: torch.Tensor, other: torch.Tensor) -> bool:
    if not result.is_floating_point():
        return not torch.equal(result, other)
    return not bool(torch.allclose(result, other, rtol=1e3 * CHOICE, atol=1e3 * CHOICE, equal_nan=True))


def _rounded_run(reference: Reference, exact: Results, dtype: torch.dtype, number: int) -> Results:
    with torch.no_grad(), Roundings(dtype, number) as roundings:
        results = list(reference([tensor.clone() for tensor in exact], 1.0))
    if roundings.chooses or roundings.overflows:
        raise _Open
    return results


class _Open(Exception):
    """Torch says of no choice which it is, so results are not known to the last step."""


def _moved(tensor: torch.Tensor, number: int, place: int) -> torch.Tensor:
    """Return all numbers a little larger or smaller, in every input or in every other one, or some of both."""
    if not tensor.is_floating_point():
        return tensor.clone()
    if number < _RUNS:
        by: torch.Tensor | int = (1, -1, (-1) ** place, -((-1) ** place))[number]
    else:
        generator = torch.Generator().manual_seed(100 * number + place)
        by = (torch.randint(0, 2, tensor.shape, generator=generator) * 2 - 1).to(tensor.device)
    return tensor + by * (tensor.abs() * _NUDGE + _LEAST)


@torch.no_grad()
def _sharpened(bound: Bound, beside: Results, rounded: Results, own: torch.Tensor | None, dtype: torch.dtype) -> Bound:
    expected = bound.expected
    if any(other.shape != expected.shape for other in (*beside, *rounded)) or expected.is_complex():
        return bound
    if bound.limit is None:
        hangs = _any([other.to(expected.dtype) != expected for other in rounded], expected)
        allowed = tuple(torch.where(hangs, other, expected) for other in (*bound.allowed, *rounded))
        kept = (own,) if own is not None and own.shape == expected.shape else ()
        return replace(bound, allowed=(*allowed, *kept))
    away, spread = torch.zeros_like(expected), torch.zeros_like(expected)
    for other in beside:
        torch.maximum(away, _sizes(other.double() - expected), out=away)
    for other in rounded:
        torch.maximum(spread, _sizes(other.double() - expected), out=spread)
    size = _sizes(expected)
    eps = torch.finfo(dtype).eps
    largest = float(size.max()) if size.numel() else 0.0
    sharp = OWN * eps * size + SPREAD * spread + FLOOR * eps * largest
    is_jump = away > _JUMP * size
    known = is_jump & expected.isfinite() & (sharp < away / 4)
    jumps_by_roundings = spread > _JUMP**0.5 * torch.maximum(size, bound.limit)
    limit = smooth_limit(bound, own, is_jump | jumps_by_roundings, dtype)
    return replace(
        bound, limit=torch.where(known, sharp, torch.where(is_jump | jumps_by_roundings, bound.limit, limit))
    )


def _sizes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.abs().nan_to_num_(0.0, 0.0, 0.0)


def _any(flags: Results, like: torch.Tensor) -> torch.Tensor:
    any_flag = torch.zeros_like(like, dtype=torch.bool)
    for flag in flags:
        any_flag |= flag
    return any_flag
