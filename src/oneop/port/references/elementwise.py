"""Ops of single elements: functions of one tensor, activations, functions of two tensors; forward and backward."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional as F

from oneop.port.references.table import Table, grad_of

TABLE = Table()


def _no_nan(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, torch.zeros_like(x), 1 / x)


# Functions of one tensor, and between which values they are asked.
UNARY: dict[str, tuple[Any, tuple[float, float] | None]] = {
    "abs": (torch.abs, None),
    "acos": (torch.acos, (-0.9, 0.9)),
    "acosh": (torch.acosh, (1.5, 4)),
    "asin": (torch.asin, (-0.9, 0.9)),
    "asinh": (torch.asinh, None),
    "atan": (torch.atan, None),
    "atanh": (torch.atanh, (-0.9, 0.9)),
    "ceil": (torch.ceil, None),
    "cos": (torch.cos, None),
    "cosh": (torch.cosh, None),
    "erf": (torch.erf, None),
    "erfc": (torch.erfc, None),
    "exp": (torch.exp, None),
    "expm1": (torch.expm1, None),
    "floor": (torch.floor, None),
    "lgamma": (torch.lgamma, (0.5, 6)),
    "log": (torch.log, (0.1, 4)),
    "log1p": (torch.log1p, (-0.5, 4)),
    "log2": (torch.log2, (0.1, 4)),
    "log_sigmoid": (F.logsigmoid, None),
    "negative": (torch.neg, None),
    "not_equal_zero": (lambda x: (x != 0).to(x.dtype), None),
    "reciprocal": (lambda x: 1 / x, (0.5, 4)),
    "reciprocal_no_nan": (_no_nan, (0.5, 4)),
    "rint": (torch.round, None),
    "round": (torch.round, (0.1, 3.4)),
    "rsqrt": (torch.rsqrt, (0.1, 4)),
    "sigmoid_v2": (torch.sigmoid, None),
    "sign": (torch.sign, None),
    "sin": (torch.sin, None),
    "sinh": (torch.sinh, None),
    "sqrt": (torch.sqrt, (0.1, 4)),
    "square": (torch.square, None),
    "tan": (torch.tan, (-1.2, 1.2)),
    "tanh": (torch.tanh, None),
}
#: The kernels have factors with the digits of a float32 in their gradients.
COARSE = {"erf", "erfc"}
SIGN = "the sign of the gradient in float64 is wrong (0.8.0)"
for name, (function, bounds) in UNARY.items():
    hints: dict[str, Any] = {"values": {"x": bounds}} if bounds else {}
    hints |= {"rtol": 1e-6} if name in COARSE else {}
    if name == "lgamma":
        TABLE.put(name, function, untried={"gradient": "its kernel is an assert(false)"}, **hints)
        continue
    TABLE.put(name, function, faults={"gradient": SIGN} if name == "acosh" else {}, **hints)
    TABLE.put(f"{name}_grad", grad_of(function), faults={"reference": SIGN} if name == "acosh" else {}, **hints)

TABLE.put("erfinv", torch.erfinv, values={"x": (-0.9, 0.9)}, rtol=1e-4, atol=1e-4)
TABLE.put("isnan", torch.isnan)
TABLE.put("isinf", torch.isinf)
TABLE.put("logical_not", torch.logical_not)

# Activations: the function, values of its attributes, and what its backward op is given: "x" or the result, "y".
ACTIVATIONS: dict[str, tuple[Any, dict[str, list[Any]], str]] = {
    "relu": (F.relu, {}, "y"),
    "gelu": (F.gelu, {}, "x"),
    "selu": (F.selu, {}, "x"),
    "silu": (F.silu, {}, "x"),
    "mish": (F.mish, {}, "x"),
    "softsign": (F.softsign, {}, "x"),
    "hardsigmoid": (F.hardsigmoid, {}, "x"),
    "hardswish": (F.hardswish, {}, "x"),
    "elu": (F.elu, {"alpha": [1.0, 0.5]}, "x"),
    "celu": (F.celu, {"alpha": [1.0, 0.5]}, "x"),
    "leaky_relu": (lambda x, alpha: F.leaky_relu(x, alpha), {"alpha": [0.25, 0.5]}, "x"),
    "threshold": (
        lambda x, threshold_val, value: F.threshold(x, threshold_val, value),
        {"threshold_val": [0.3, 1.3], "value": [0.5, 2.0]},
        "x",
    ),
    "softplus": (F.softplus, {"beta": [1.0, 2.0], "threshold": [20.0]}, "x"),
    "hardshrink": (lambda x, lambd: F.hardshrink(x, lambd), {"lambd": [0.3, 1.3]}, "y"),
    "softshrink": (lambda x, alpha: F.softshrink(x, alpha), {"alpha": [0.3, 1.3]}, "y"),
    "hardtanh": (
        lambda x, min_val, max_val: F.hardtanh(x, min_val, max_val),
        {"min_val": [-1.3, -0.3], "max_val": [0.7, 1.3]},
        "y",
    ),
}


def _from_result(name: str) -> Any:
    """Return the reference of a backward op that is given the result: nothing comes back where the function is flat."""

    def relu(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
        return torch.where(y > 0, dy, torch.zeros_like(dy))

    def shrink(y: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
        return torch.where(y != 0, dy, torch.zeros_like(dy))

    def hardtanh(y: torch.Tensor, dy: torch.Tensor, min_val: float, max_val: float) -> torch.Tensor:
        return torch.where((y != min_val) & (y != max_val), dy, torch.zeros_like(dy))

    return {"relu": relu, "hardtanh": hardtanh}.get(name, shrink)


for name, (function, attrs, needs) in ACTIVATIONS.items():
    # torch has the factor of hardsigmoid with the digits of a float32
    exact = {"rtol": 1e-6} if name == "hardsigmoid" else {}
    NO_OUTPUT = "REGISTER_USER_OP_GRAD names an output that the op does not have"
    if name != "softplus":  # definition and source (0.8.0) give its tensors different names
        TABLE.put(name, function, attrs=attrs, faults={"gradient": NO_OUTPUT} if "shrink" in name else {}, **exact)
    own = {key: chosen for key, chosen in attrs.items() if key != "value"}
    if name == "threshold":
        TABLE.put(
            "threshold_grad",
            lambda x, dy, threshold_val: torch.where(x > threshold_val, dy, torch.zeros_like(dy)),
            attrs=own,
        )
    else:
        TABLE.put(f"{name}_grad", grad_of(function) if needs == "x" else _from_result(name), attrs=own, **exact)


@TABLE.of("prelu", shapes=[[(2, 3, 4), (3,)], [(3, 2), (1,)], [(2, 5), (5,)]])
def prelu(x: torch.Tensor, alpha: torch.Tensor) -> torch.Tensor:
    """A slope for each channel below zero."""
    return F.prelu(x, alpha)


# Functions of two tensors of one shape.
def _xdivy(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.where(x == 0, torch.zeros_like(x), x / y)


def _floordiv(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.floor(x / y) if x.dtype.is_floating_point else torch.floor_divide(x, y)


BINARY: dict[str, tuple[Any, dict[str, tuple[float, float]]]] = {
    "pow": (torch.pow, {"x": (0.5, 3), "y": (-2, 2)}),
    "atan2": (torch.atan2, {}),
    "floordiv": (_floordiv, {"x": (0, 9), "y": (1, 3)}),
    "xdivy": (_xdivy, {"y": (0.5, 3)}),
    "xlogy": (torch.xlogy, {"y": (0.5, 3)}),
}
for name, (function, values) in BINARY.items():
    TABLE.put(name, function, values=values)
    for place, letter in enumerate("xy"):
        TABLE.put(f"{name}_{letter}_grad", grad_of(function, place, 2), values=values, dtypes="floating")
TABLE.put("elementwise_maximum", torch.maximum)
TABLE.put("elementwise_minimum", torch.minimum)

# Functions of two tensors that broadcast.
BROADCAST: dict[str, tuple[Any, dict[str, tuple[float, float]]]] = {
    "add": (torch.add, {}),
    "sub": (torch.sub, {}),
    "mul": (torch.mul, {}),
    "div": (lambda x, y: torch.div(x, y, rounding_mode=None if x.dtype.is_floating_point else "trunc"), {"y": (1, 9)}),
    "minimum": (torch.minimum, {}),
    "maximum": (torch.maximum, {}),
    "floor_mod": (torch.remainder, {"y": (1, 9)}),
    "fmod": (torch.fmod, {"y": (1, 9)}),
    "pow": (torch.pow, {"x": (1, 3), "y": (0, 2)}),
    "equal": (torch.eq, {}),
    "not_equal": (torch.ne, {}),
    "greater": (torch.gt, {}),
    "greater_equal": (torch.ge, {}),
    "less": (torch.lt, {}),
    "less_equal": (torch.le, {}),
    "logical_and": (torch.logical_and, {}),
    "logical_or": (torch.logical_or, {}),
    "logical_xor": (torch.logical_xor, {}),
}
for name, (function, values) in BROADCAST.items():
    if "mod" in name:
        fault = {"gradient": "REGISTER_USER_OP_GRAD gives none for y"}
        TABLE.put(f"broadcast_{name}", function, values=values, dtypes="numbers", faults=fault)
    else:
        TABLE.put(f"broadcast_{name}", function, values=values)


@TABLE.of(
    "broadcast_div_grad",
    shapes=[[(3,), (2, 3), (2, 3)], [(2, 1), (2, 3), (2, 3)]],
    values={"y": (1, 3)},
    dtypes="floating",
)
def div_grad(y: torch.Tensor, z: torch.Tensor, dz: torch.Tensor) -> torch.Tensor:
    """The gradient of x / y for y, from the quotient."""
    return (-dz * z / y).sum_to_size(y.shape)


_POW: Any = {"shapes": [[(2, 3), (2, 3), (2, 3), (2, 3)]], "values": {"x": (0.5, 3)}, "dtypes": "floating"}


@TABLE.of("broadcast_pow_x_grad", **_POW)
def pow_x_grad(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, dz: torch.Tensor) -> torch.Tensor:
    """The gradient of a power for its base; the op has the power at hand and uses that."""
    return dz * y * z / x


@TABLE.of("broadcast_pow_y_grad", **_POW)
def pow_y_grad(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor, dz: torch.Tensor) -> torch.Tensor:
    """The gradient of a power for its exponent, in the same way."""
    return dz * z * torch.log(x)
