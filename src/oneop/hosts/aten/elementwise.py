"""Ops on each element."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from oneop.hosts.aten.entries import Arrays, Entry

OPS: dict[str, Entry] = {}


def _add(name: str, function: Callable[..., Any]) -> None:
    OPS[f"aten::{name}"] = Entry(1, function)


def _of_reals(name: str) -> Callable[..., Any]:
    return lambda a, x: getattr(a.xp, name)(a.real(x))


for _torch, _numpy in {
    **{name: name for name in ("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan")},
    **{name: name for name in ("sinh", "cosh", "tanh")},
    **{name: f"arc{name[1:]}" for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
}.items():
    _add(_torch, _of_reals(_numpy))


def _plain(name: str) -> Callable[..., Any]:
    return lambda a, x: getattr(a.xp, name)(x)


for _torch, _numpy in {
    **{name: name for name in ("abs", "sign", "floor", "ceil", "trunc", "square", "isnan", "isinf", "isfinite")},
    **{"neg": "negative", "logical_not": "logical_not", "bitwise_not": "bitwise_not", "positive": "positive"},
    **{"round": "round", "conj": "conj", "sgn": "sign"},
}.items():
    _add(_torch, _plain(_numpy))

for _torch in ("clone", "contiguous", "detach", "alias", "resolve_conj", "_conj_physical"):
    _add(_torch, lambda a, x, *_: x)


def _erf(a: Arrays, x: Any) -> Any:
    x = a.real(x)
    if a.xp is not np:
        from jax.scipy.special import erf

        return erf(x)
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def _sigmoid(a: Arrays, x: Any) -> Any:
    x = a.real(x)
    return (1 / (1 + a.xp.exp(-x))).astype(x.dtype)


_add("erf", _erf)
_add("erfc", lambda a, x: (1 - _erf(a, x)).astype(a.real(x).dtype))
_add("sigmoid", _sigmoid)
_add("rsqrt", lambda a, x: (1 / a.xp.sqrt(a.real(x))).astype(a.real(x).dtype))
_add("reciprocal", lambda a, x: (1 / a.real(x)).astype(a.real(x).dtype))
_add("relu", lambda a, x: a.xp.maximum(x, a.xp.zeros((), x.dtype)))
_add("silu", lambda a, x: x * _sigmoid(a, x))


def _scaled(a: Arrays, other: Any, alpha: Any) -> Any:
    return other if alpha == 1 else a.xp.multiply(*a.common(other, alpha))


def _binary(function: str) -> Callable[..., Any]:
    return lambda a, x, y: getattr(a.xp, function)(*a.common(x, y))


def _divided(a: Arrays, x: Any, y: Any) -> Any:
    x, y = a.common(x, y)
    return a.xp.divide(a.real(x), a.real(y))


def _divided_mode(a: Arrays, x: Any, y: Any, rounding: str | None = None) -> Any:
    if rounding is None:
        return _divided(a, x, y)
    x, y = a.common(x, y)
    return a.xp.floor_divide(x, y) if rounding == "floor" else a.to(a.xp.trunc(a.xp.divide(x, y)), x.dtype)


for _kind in ("Tensor", "Scalar"):
    _add(f"add.{_kind}", lambda a, x, y, alpha=1: a.xp.add(*a.common(x, _scaled(a, y, alpha))))
    _add(f"sub.{_kind}", lambda a, x, y, alpha=1: a.xp.subtract(*a.common(x, _scaled(a, y, alpha))))
    _add(f"rsub.{_kind}", lambda a, x, y, alpha=1: a.xp.subtract(*a.common(y, _scaled(a, x, alpha))))
    _add(f"mul.{_kind}", _binary("multiply"))
    _add(f"div.{_kind}", _divided)
    _add(f"div.{_kind}_mode", _divided_mode)
    _add(f"remainder.{_kind}", _binary("remainder"))
    _add(f"fmod.{_kind}", _binary("fmod"))
    _add(f"floor_divide.{_kind}" if _kind == "Scalar" else "floor_divide", _binary("floor_divide"))
    for _torch, _numpy in {
        **{"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
    }.items():
        _add(f"{_torch}.{_kind}", _binary(_numpy))
    for _torch in ("and", "or", "xor"):
        _add(f"bitwise_{_torch}.{_kind}", _binary(f"bitwise_{_torch}"))
for _kind in ("Tensor_Tensor", "Tensor_Scalar", "Scalar"):
    _add(f"pow.{_kind}", _binary("power"))
for _torch in ("maximum", "minimum", "logical_and", "logical_or", "logical_xor"):
    _add(_torch, _binary(_torch))
_add("atan2", lambda a, x, y: a.xp.arctan2(*map(a.real, a.common(x, y))))


def _where(a: Arrays, condition: Any, x: Any, y: Any) -> Any:
    return a.xp.where(condition, *a.common(x, y))


for _kind in ("self", "ScalarSelf", "ScalarOther", "Scalar"):
    _add(f"where.{_kind}", _where)
for _kind in ("Scalar", "Tensor"):
    _add(f"masked_fill.{_kind}", lambda a, x, mask, value: a.xp.where(mask, a.to(value, x.dtype), x))


def _clamp(a: Arrays, x: Any, low: Any = None, high: Any = None) -> Any:
    for bound, function in ((low, a.xp.maximum), (high, a.xp.minimum)):
        if bound is not None:
            x = function(*a.common(x, bound))
    return x


_add("clamp", _clamp)
_add("clamp.Tensor", _clamp)
_add("clamp_min", lambda a, x, low: _clamp(a, x, low))
_add("clamp_max", lambda a, x, high: _clamp(a, x, None, high))
_add("addcmul", lambda a, x, y, z, value=1: x + a.to(a.xp.asarray(value), x.dtype) * y * z)
_add("addcdiv", lambda a, x, y, z, value=1: x + a.to(a.xp.asarray(value), x.dtype) * y / z)
_add("lerp.Scalar", lambda a, x, y, weight: x + a.to(a.xp.asarray(weight), x.dtype) * (y - x))
_add("lerp.Tensor", lambda a, x, y, weight: x + weight * (y - x))
_add("threshold_backward", lambda a, dy, x, bound: a.xp.where(x > bound, dy, a.xp.zeros((), dy.dtype)))
_add("sigmoid_backward", lambda a, dy, y: dy * (1 - y) * y)
_add("tanh_backward", lambda a, dy, y: dy * (1 - y * y))


def _to_dtype(a: Arrays, x: Any, dtype: Any = None, *_: Any) -> Any:
    return x if dtype is None else a.to(x, dtype)


_add("to.dtype", _to_dtype)
_add("_to_copy", _to_dtype)
_add("type_as", lambda a, x, y: a.to(x, y.dtype))
