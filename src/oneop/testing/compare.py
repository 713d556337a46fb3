"""Results side by side: equal bit by bit, or as close as their dtype allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from oneop.testing.explore import Broken

#: How far results of a dtype may be apart, relative to the largest value around.
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
TOLERANCE |= {torch.complex128: 1e-9, torch.complex64: 2e-5}


def same_bits(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    """Tell whether two tensors have the same bytes; all NaN are alike."""
    if tensor.shape != other.shape or tensor.dtype != other.dtype:
        return False
    if torch.equal(tensor, other):
        return True
    return (
        bool(torch.allclose(tensor, other, rtol=0, atol=0, equal_nan=True)) if tensor.dtype.is_floating_point else False
    )


def assert_same(
    expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor], what: str, names: Sequence[str]
) -> None:
    """Raise `Broken` unless all tensors are equal; `what` says what was done."""
    for name, left, right in zip(names, expected, actual, strict=False):
        if left.dtype != right.dtype:
            raise Broken(f"{what}: {name} is {describe(right)}, expected {describe(left)}")
        if not same_bits(left, right):
            raise Broken(f"{what}: {difference(name, left, right)}")


def assert_same_kind(
    expected: Sequence[torch.Tensor], actual: Sequence[torch.Tensor], what: str, names: Sequence[str]
) -> None:
    """Raise `Broken` unless there are as many tensors, of the same shapes and dtypes."""
    if len(expected) != len(actual):
        raise Broken(f"{what}: {len(expected)} results on one side, {len(actual)} on the other")
    for name, left, right in zip(names, expected, actual, strict=False):
        if left.shape != right.shape or left.dtype != right.dtype:
            raise Broken(f"{what}: {name} is {describe(right)}, expected {describe(left)}")


def assert_close(
    expected: Sequence[torch.Tensor],
    actual: Sequence[torch.Tensor],
    what: str,
    names: Sequence[str],
    *,
    rtol: float | None = None,
    atol: float | None = None,
    scale: float = 0.0,
    check_dtype: bool = True,
) -> None:
    """Raise `Broken` unless all tensors are close. `scale` is the size of the inputs, which rounding goes by too."""
    if len(expected) != len(actual):
        raise Broken(f"{what}: {len(expected)} results on one side, {len(actual)} on the other")
    for name, left, right in zip(names, expected, actual, strict=False):
        if left.shape != right.shape or (check_dtype and left.dtype != right.dtype):
            raise Broken(f"{what}: {name} is {describe(right)}, expected {describe(left)}")
        if not is_close(left, right, rtol=rtol, atol=atol, scale=scale):
            raise Broken(f"{what}: {difference(name, left, right)}")


def is_close(
    expected: torch.Tensor, actual: torch.Tensor, *, rtol: float | None, atol: float | None, scale: float
) -> bool:
    """Tell whether two tensors of one shape are as close as the less exact of their dtypes allows."""
    if same_bits(expected, actual):
        return True
    bound = max(TOLERANCE.get(expected.dtype, 0.0), TOLERANCE.get(actual.dtype, 0.0))
    if bound == 0.0 and rtol is None and atol is None:
        # Integers, not through float64, which has 53 bits. Those of one dtype were compared above.
        return expected.dtype != actual.dtype and bool(torch.equal(expected.to(torch.int64), actual.to(torch.int64)))
    # Complex numbers on one side alone must not lose their imaginary parts here.
    wide = torch.complex128 if expected.is_complex() or actual.is_complex() else torch.float64
    left, right = expected.to(wide), actual.to(wide)
    finite = left.abs()[torch.isfinite(left)]
    largest = float(finite.max()) if finite.numel() else 0.0
    return bool(
        torch.allclose(
            right,
            left,
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
            sizes = tensor.detach().abs()
            most = float(sizes.max())
            largest = max(largest, most if math.isfinite(most) else float(sizes.where(sizes.isfinite(), 0).max()))
    return largest


def describe(tensor: torch.Tensor) -> str:
    """Return `float32[2, 3]`."""
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"


def difference(name: str, expected: torch.Tensor, actual: torch.Tensor) -> str:
    """Say where two tensors differ most: `y[0, 2] is 1.5, expected 1.0 (3 of 6 elements differ)`."""
    if expected.shape != actual.shape:
        return f"{name} is {describe(actual)}, expected {describe(expected)}"
    wide = torch.complex128 if expected.is_complex() or actual.is_complex() else torch.float64
    left, right = expected.detach().cpu().to(wide).flatten(), actual.detach().cpu().to(wide).flatten()
    apart = ~((left == right) | (left.isnan() & right.isnan()))
    gaps = torch.where(apart, (left - right).abs().nan_to_num(nan=math.inf, posinf=math.inf), 0.0)
    place = int(gaps.argmax())
    index = [int(i) for i in torch.unravel_index(torch.tensor(place), tuple(expected.shape))] if expected.ndim else []
    at = f"{name}[{', '.join(map(str, index))}]" if index else name
    values = [number(tensor.flatten()[place].item()) for tensor in (actual, expected)]
    count = f"{int(apart.sum())} of {expected.numel()} elements differ"
    return f"{at} is {values[0]}, expected {values[1]} ({count})"


def number(value: complex | float | int | bool) -> str:
    """Return a number with as many digits as matter."""
    return f"{value:.9g}" if isinstance(value, float) else str(value)
