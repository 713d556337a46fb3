"""Results side by side: equal bit by bit, or as close as their dtype allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from oneop.testing.explore import Broken

#: How far results of a dtype may be apart, relative to the largest value around.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
TOLERANCE |= {torch.complex128: 1e-9, torch.complex64: 2e-5}


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Tell whether two tensors have the same bytes; all NaN are alike."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if torch.equal(one, other):
        return True
    return bool(torch.allclose(one, other, rtol=0, atol=0, equal_nan=True)) if one.dtype.is_floating_point else False


def assert_same(
    expected: Sequence[torch.Tensor], found: Sequence[torch.Tensor], what: str, names: Sequence[str]
) -> None:
    """Raise `Broken` unless all tensors are equal; `what` says what was done."""
    for name, one, other in zip(names, expected, found, strict=False):
        if one.dtype != other.dtype:
            raise Broken(f"{what}: {name} is {describe(other)}, expected {describe(one)}")
        if not same_bits(one, other):
            raise Broken(f"{what}: {difference(name, one, other)}")


def assert_close(
    expected: Sequence[torch.Tensor],
    found: Sequence[torch.Tensor],
    what: str,
    names: Sequence[str],
    *,
    rtol: float | None = None,
    atol: float | None = None,
    scale: float = 0.0,
    check_dtype: bool = True,
) -> None:
    """Raise `Broken` unless all tensors are close. `scale` is the size of the inputs, which rounding goes by too."""
    if len(expected) != len(found):
        raise Broken(f"{what}: {len(expected)} results on one side, {len(found)} on the other")
    for name, one, other in zip(names, expected, found, strict=False):
        if one.shape != other.shape or (check_dtype and one.dtype != other.dtype):
            raise Broken(f"{what}: {name} is {describe(other)}, expected {describe(one)}")
        if not is_close(one, other, rtol=rtol, atol=atol, scale=scale):
            raise Broken(f"{what}: {difference(name, one, other)}")


def is_close(
    expected: torch.Tensor, found: torch.Tensor, *, rtol: float | None, atol: float | None, scale: float
) -> bool:
    """Tell whether two tensors of one shape are as close as the less exact of their dtypes allows."""
    if same_bits(expected, found):
        return True
    bound = max(TOLERANCE.get(expected.dtype, 0.0), TOLERANCE.get(found.dtype, 0.0))
    if bound == 0.0 and rtol is None and atol is None:
        return bool(torch.equal(expected.to(torch.float64), found.to(torch.float64)))
    wide = torch.complex128 if expected.is_complex() else torch.float64
    one, other = expected.to(wide), found.to(wide)
    finite = one.abs()[torch.isfinite(one)]
    largest = float(finite.max()) if finite.numel() else 0.0
    return bool(
        torch.allclose(
            other,
            one,
            rtol=bound if rtol is None else rtol,
            atol=bound * max(largest, scale) if atol is None else atol,
            equal_nan=True,
        )
    )


def largest_value(tensors: Sequence[torch.Tensor]) -> float:
    """Return the largest finite magnitude among floating tensors."""
    largest = 0.0
    for tensor in tensors:
        if tensor.dtype.is_floating_point and tensor.numel():
            values = tensor.abs()[torch.isfinite(tensor)]
            largest = max(largest, float(values.max()) if values.numel() else 0.0)
    return largest


def describe(tensor: torch.Tensor) -> str:
    """Return `float32[2, 3]`."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def difference(name: str, expected: torch.Tensor, found: torch.Tensor) -> str:
    """Say where two tensors differ most: `y[0, 2] is 1.5, expected 1.0 (3 of 6 elements differ)`."""
    if expected.shape != found.shape:
        return f"{name} is {describe(found)}, expected {describe(expected)}"
    wide = torch.complex128 if expected.is_complex() else torch.float64
    one, other = expected.detach().cpu().to(wide).flatten(), found.detach().cpu().to(wide).flatten()
    apart = ~((one == other) | (one.isnan() & other.isnan()))
    gaps = torch.where(apart, (one - other).abs().nan_to_num(nan=math.inf, posinf=math.inf), 0.0)
    place = int(gaps.argmax())
    index = [int(i) for i in torch.unravel_index(torch.tensor(place), expected.shape)] if expected.ndim else []
    at = f"{name}[{', '.join(map(str, index))}]" if index else name
    values = [number(tensor.flatten()[place].item()) for tensor in (found, expected)]
    count = f"{int(apart.sum())} of {expected.numel()} elements differ"
    return f"{at} is {values[0]}, expected {values[1]} ({count})"


def number(value: complex | float | int | bool) -> str:
    """Return a number with as many digits as matter."""
    return f"{value:.9g}" if isinstance(value, float) else str(value)
