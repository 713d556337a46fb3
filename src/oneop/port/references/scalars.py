"""Ops of a tensor and a number, which is an attribute or a tensor of one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from oneop.port.references.table import Table, differentiate

TABLE = Table()

#: The number is the attribute for whole numbers or the one for others; the flags say which.
OPERAND: dict[str, list[Any]] = {
    "has_int_operand": [False],
    "has_float_operand": [True],
    "int_operand": [0],
    "float_operand": [2.0, 0.5, 3.0],
}
INTEGER: dict[str, list[Any]] = {
    "has_int_operand": [True],
    "has_float_operand": [False],
    "int_operand": [2, 3],
    "float_operand": [0.0],
}


def _with_number(function: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Return a reference that brings the number to the type of the tensor first, as the ops do."""

    def compute(x: torch.Tensor, has_int_operand: bool, int_operand: int, float_operand: float) -> torch.Tensor:
        number = int_operand if has_int_operand else float_operand
        return function(x, torch.tensor(number).to(x.dtype))

    return compute


SCALAR_MATH: dict[str, tuple[Any, dict[str, list[Any]], dict[str, tuple[float, float]]]] = {
    "scalar_add": (torch.add, OPERAND, {}),
    "scalar_mul": (torch.mul, OPERAND, {}),
    "scalar_floordiv": (torch.floor_divide, INTEGER, {"in": (0, 9)}),
    "scalar_fmod": (torch.fmod, INTEGER, {}),
    "scalar_pow": (torch.pow, INTEGER, {}),
    "scalar_div": (
        lambda x, n: torch.div(x, n, rounding_mode=None if x.dtype.is_floating_point else "trunc"),
        INTEGER,
        {},
    ),
    "scalar_reverse_pow": (lambda x, n: torch.pow(n, x), INTEGER, {"in": (0, 3)}),
    "scalar_logical_and": (torch.logical_and, OPERAND, {}),
    "scalar_logical_or": (torch.logical_or, OPERAND, {}),
    "scalar_logical_xor": (torch.logical_xor, OPERAND, {}),
    "scalar_logical_equal": (torch.eq, INTEGER, {}),
    "scalar_logical_not_equal": (torch.ne, INTEGER, {}),
    "scalar_logical_greater": (torch.gt, INTEGER, {}),
    "scalar_logical_greater_equal": (torch.ge, INTEGER, {}),
    "scalar_logical_less": (torch.lt, INTEGER, {}),
    "scalar_logical_less_equal": (torch.le, INTEGER, {}),
}
for name, (function, attrs, values) in SCALAR_MATH.items():
    TABLE.put(name, _with_number(function), attrs=attrs, values=values)


@TABLE.of("scalar_pow_grad", attrs=INTEGER)
def pow_grad(x: torch.Tensor, dy: torch.Tensor, int_operand: int) -> torch.Tensor:
    """The gradient of x to the power of a number."""
    return differentiate(lambda x: x**int_operand, x, dy)


@TABLE.of("scalar_reverse_pow_grad", attrs=INTEGER)
def reverse_pow_grad(x: torch.Tensor, dy: torch.Tensor, int_operand: int) -> torch.Tensor:
    """The gradient of a number to the power of x."""
    return differentiate(lambda x: int_operand**x, x, dy)


NO_AXIS = {"gradient": "the gradient of the number has no axis, and the number has one"}
BY_TENSOR: dict[str, Any] = {"add": torch.add, "sub": torch.sub, "mul": torch.mul}
for name, function in BY_TENSOR.items():
    TABLE.put(f"scalar_{name}_by_tensor", function, shapes=[[(2, 3), (1,)], [(5,), (1,)]], faults=NO_AXIS)
TABLE.put(
    "scalar_div_by_tensor",
    lambda x, n: torch.div(x, n, rounding_mode=None if x.dtype.is_floating_point else "trunc"),
    shapes=[[(2, 3), (1,)], [(5,), (1,)]],
    values={"scalar": (1, 3)},
    faults=NO_AXIS,
)

LOW: dict[str, list[Any]] = {"floating_min": [-1.3, 0.3], "integral_min": [-1, 2]}
HIGH: dict[str, list[Any]] = {"floating_max": [1.3, 2.3], "integral_max": [3, 5]}


def _bounds(x: torch.Tensor, limits: dict[str, float]) -> dict[str, Any]:
    kind = "floating" if x.dtype.is_floating_point else "integral"
    return {side: limits[f"{kind}_{side}"] for side in ("min", "max") if f"{kind}_{side}" in limits}


def clip(x: torch.Tensor, **limits: float) -> torch.Tensor:
    """Keep values between limits."""
    return torch.clamp(x, **_bounds(x, limits))


def clip_grad(dy: torch.Tensor, x: torch.Tensor, **limits: float) -> torch.Tensor:
    """Hand on gradients of values between the limits."""
    bounds = _bounds(x, limits)
    inside = torch.ones_like(x, dtype=torch.bool)
    inside = inside & (x >= bounds["min"]) if "min" in bounds else inside
    inside = inside & (x <= bounds["max"]) if "max" in bounds else inside
    return torch.where(inside, dy, torch.zeros_like(dy))


for suffix, attrs in {"": LOW | HIGH, "_min": LOW, "_max": HIGH}.items():
    TABLE.put(f"clip_by_scalar{suffix}", clip, attrs=attrs)
    TABLE.put(f"clip_by_scalar{suffix}_grad", clip_grad, attrs=attrs)
