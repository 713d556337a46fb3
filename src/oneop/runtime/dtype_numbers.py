"""torch's numbers of dtypes: they stand for dtypes in lists, which its schemas do not have."""

from __future__ import annotations

from typing import Any

import torch

from oneop.model.dtypes import DTYPES

DTYPE_CODES = {getattr(torch, dtype.name): dtype.number for dtype in DTYPES}

_BY_NUMBER = {code: dtype for dtype, code in DTYPE_CODES.items()}


def dtypes_of(kind: str, value: Any) -> Any:
    """Return an attribute of this type with dtypes in place of torch's numbers of them, which its schemas give."""
    if kind == "dtype" and isinstance(value, int):
        return _BY_NUMBER[value]
    if kind == "list of dtype" and value is not None:
        return [_BY_NUMBER.get(number, number) for number in value]
    return value
