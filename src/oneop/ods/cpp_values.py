"""Default values of attributes: C++ expressions in a string, evaluated for Python where that can be done."""

from __future__ import annotations

import ast
import math
import re

from oneop.model.dtypes import BY_ONEFLOW

_FLOAT = re.compile(r"([+-]?)((?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?)[fFlL]?")
_INT = re.compile(r"([+-]?)(0[xX][0-9a-fA-F]+|\d+)[uUlL]*")
_FLOAT32_MAX = 3.4028234663852886e38
_LIMITS = {
    "std::numeric_limits<float>::infinity()": float("inf"),
    "std::numeric_limits<double>::infinity()": float("inf"),
    "-std::numeric_limits<float>::infinity()": float("-inf"),
    "-std::numeric_limits<double>::infinity()": float("-inf"),
    "INFINITY": float("inf"),
    "NAN": float("nan"),
    "INT_MAX": 2**31 - 1,
}
_DTYPES = {constant: dtype.name for constant, dtype in BY_ONEFLOW.items()} | {"kChar": "int8"}

#: What an attribute without a default has: T().
ZERO: dict[str, object] = {
    "int32": 0,
    "int64": 0,
    "bool": False,
    "float": 0.0,
    "double": 0.0,
    "string": "",
    "bytes": b"",
    "complex": 0j,
    "scalar": 0,
    "data_type": None,
    "shape": (),
}


class NotOfType:
    """In place of a value: a literal that C++ would convert in silence, and lose something."""

    def __init__(self, reason: str) -> None:
        self.reason = reason


def python_value(text: str, type: str) -> object:
    """Return the Python value of a C++ expression for an attribute of this type.

    None if only a compiler can tell, `NotOfType` if the value does not fit.
    """
    text = text.strip()
    if type == "shape" or type.startswith("list["):
        element = "int64" if type == "shape" else type[5:-1]
        return _list_value(text, element)
    if text in _LIMITS:
        return _LIMITS[text]
    wrapped = re.fullmatch(
        r"(?:static_cast<[\w:]+>|std::string|float|double|int|int32_t|int64_t|bool|Scalar)\s*\((.*)\)", text
    )
    if wrapped:
        return python_value(wrapped[1], type)
    if type in ("string", "bytes"):
        return _text_value(text, type)
    if type == "data_type":
        return _DTYPES.get(text.removeprefix("DataType::").removeprefix("oneflow::"))
    if text in ("true", "false"):
        value: object = text == "true"
    elif match := _INT.fullmatch(text):
        if len(match[2]) > 30:
            return NotOfType("has more than 64 bits")
        is_octal = re.fullmatch(r"0[0-7]+", match[2]) is not None
        value = int(match[1] + match[2], 16 if match[2][:2] in ("0x", "0X") else 8 if is_octal else 10)
    elif match := _FLOAT.fullmatch(text):
        value = float(match[1] + match[2])
        if math.isinf(value):
            return NotOfType("is out of the range of double")
    else:
        return None
    return _as_type(value, type)


def _as_type(value: object, type: str) -> object:
    assert isinstance(value, (bool, int, float))
    if type == "scalar":
        return value if not isinstance(value, int) or -(2**63) <= value < 2**63 else NotOfType("has more than 64 bits")
    if type == "bool":
        return bool(value) if value in (0, 1) else NotOfType("is no bool")
    if type in ("int32", "int64"):
        bits = 31 if type == "int32" else 63
        if isinstance(value, float) and not value.is_integer():  # OneFlow has whole ones: "0."
            return NotOfType(f"is no {type}")
        return int(value) if -(2**bits) <= value < 2**bits else NotOfType(f"is out of the range of {type}")
    if type == "float" and _FLOAT32_MAX < abs(value) < math.inf:
        return NotOfType("is out of the range of float")
    return complex(value) if type == "complex" else float(value)


def _text_value(text: str, type: str) -> object:
    if not re.fullmatch(r'(?:"(?:[^"\\]|\\.)*"\s*)+', text):
        return None
    try:
        value = ast.literal_eval(f"({text})")
    except (SyntaxError, ValueError):
        return None
    return str(value).encode() if type == "bytes" else value


def _list_value(text: str, element: str) -> object:
    inner = re.fullmatch(r"(?:[\w:<> ]+)?\(?\s*\{(.*)\}\s*\)?", text, re.DOTALL)
    if not inner:
        return () if re.fullmatch(r"[\w:<> ]+\(\s*\)", text) else None
    items = [python_value(part, element) for part in _split(inner[1])]
    for item in items:
        if isinstance(item, NotOfType):
            return item
    return None if any(item is None for item in items) else tuple(items)


def _split(text: str) -> list[str]:
    """Split at commas that are in no brackets and no string."""
    parts, depth, start = [], 0, 0
    for match in re.finditer(r'"(?:[^"\\]|\\.)*"|[{(<]|[})>]|,', text):
        mark = match[0]
        if mark in "{(<":
            depth += 1
        elif mark in "})>":
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(text[start : match.start()])
            start = match.end()
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]
