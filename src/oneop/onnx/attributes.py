"""Attributes of ops as attributes of ONNX nodes.

ONNX has integers of 64 bits, floats of 32 bits, texts, and lists of numbers. What these hold exactly is written so; all
else is JSON in a text: a double as `0.1`, a list of texts as `["a", "b"]`, a complex number as `[re, im]`.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneop.errors import ArgumentError

#: The numbers that ONNX has for dtypes.
DTYPES = {
    "float32": 1,
    "uint8": 2,
    "int8": 3,
    "uint16": 4,
    "int16": 5,
    "int32": 6,
    "int64": 7,
    "bool": 9,
    "float16": 10,
    "float64": 11,
    "uint32": 12,
    "uint64": 13,
    "complex64": 14,
    "complex128": 15,
    "bfloat16": 16,
    "float8_e4m3fn": 17,
    "float8_e4m3fnuz": 18,
    "float8_e5m2": 19,
    "float8_e5m2fnuz": 20,
}

#: What a node's attribute holds.
Encoded = int | float | str | bytes | list[int] | list[float]


def encode(value: Any, kind: str) -> Encoded:
    """Return the value of an attribute of this type (`oneop.registry` has the names) as a node holds it."""
    value = _plain(value)
    if kind in ("string", "bytes"):
        if not isinstance(value, (str, bytes)):
            raise ArgumentError(f"an attribute of ONNX cannot hold {value!r} as a {kind}")
        return value
    if kind in ("dtype", "list of dtype"):
        value = _number(value) if kind == "dtype" else [_number(item) for item in value]
    if isinstance(value, bool) and kind != "scalar":
        return int(value)
    if isinstance(value, float) and _is_float32(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, (list, tuple)) and value:
        if all(isinstance(item, int) for item in value):
            return [int(item) for item in value]
        if all(isinstance(item, float) and _is_float32(item) for item in value):
            return [float(item) for item in value]
    return _json(value)


def _plain(value: Any) -> Any:
    """Return Python's number for one of numpy, also in lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _number(dtype: Any) -> Any:
    """Return ONNX's number of a dtype, which may be one already."""
    if dtype is None or isinstance(dtype, int):
        return dtype
    if isinstance(dtype, type):
        dtype = np.dtype(dtype)
    name = str(getattr(dtype, "name", dtype)).removeprefix("torch.")
    if name not in DTYPES:
        raise ArgumentError(f"ONNX has no dtype {name}")
    return DTYPES[name]


def _is_float32(value: float) -> bool:
    """Tell whether 32 bits hold the value. A NaN is a text, which every tool shows."""
    try:
        return bool(struct.unpack("f", struct.pack("f", value))[0] == value)
    except OverflowError:
        return False


def _json(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, complex):
        return f"[{value.real!r}, {value.imag!r}]"
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return f"[{', '.join(_json(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)
