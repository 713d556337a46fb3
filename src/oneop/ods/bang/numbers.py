"""Operators on numbers, and comparisons."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from oneop.ods.bang.operands import Operators, Refused
from oneop.ods.values import Bits, Unset, Value, same, type_name


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _fold(function: Callable[[int, int], int]) -> Callable[..., int]:
    return lambda *values: _wrap(reduce(function, values))


def _div(a: int, b: int) -> int:
    if b == 0:
        raise Refused("division by zero")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if quotient >= 1 << 63:
        raise Refused("the result does not fit in 64 bits")
    return quotient


def _shift(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def shift(a: int, b: int) -> int:
        if not 0 <= b < 64:
            raise Refused(f"cannot shift by {b}")
        return _wrap(function(a, b))

    return shift


def _logtwo(a: int) -> int:
    if a <= 0:
        raise Refused(f"{a} has no logarithm")
    return a.bit_length() - 1


def _compare(function: Callable[[Any, Any], bool]) -> Callable[[Value, Value], int]:
    def compare(a: Value, b: Value) -> int:
        a, b = (value.number() if isinstance(value, Bits) else value for value in (a, b))
        if not (isinstance(a, int) and isinstance(b, int)) and not (isinstance(a, str) and isinstance(b, str)):
            raise Refused(f"cannot compare a {type_name(a)} with a {type_name(b)}")
        return int(function(a, b))

    return compare


def _equal(a: Value, b: Value) -> int:
    numbers = (int, Bits)
    if isinstance(a, Unset) or isinstance(b, Unset):
        raise Refused("an operand is not set")
    if type(a) is not type(b) and not (isinstance(a, numbers) and isinstance(b, numbers)):
        raise Refused(f"cannot compare a {type_name(a)} with a {type_name(b)}")
    return int(same(a, b))


#: The operators.
NUMBERS: Operators = {
    "add": (("int", "int*"), _fold(operator.add)),
    "mul": (("int", "int*"), _fold(operator.mul)),
    "and": (("int", "int*"), _fold(operator.and_)),
    "or": (("int", "int*"), _fold(operator.or_)),
    "xor": (("int", "int*"), _fold(operator.xor)),
    "sub": (("int", "int"), _fold(operator.sub)),
    "div": (("int", "int"), _div),
    "shl": (("int", "int"), _shift(lambda a, b: a << b)),
    "sra": (("int", "int"), _shift(lambda a, b: a >> b)),
    "srl": (("int", "int"), _shift(lambda a, b: a % (1 << 64) >> b)),
    "not": (("int",), lambda a: int(not a)),
    "logtwo": (("int",), _logtwo),
    "eq": (("any", "any"), _equal),
    "ne": (("any", "any"), lambda a, b: 1 - _equal(a, b)),
    "lt": (("any", "any"), _compare(operator.lt)),
    "le": (("any", "any"), _compare(operator.le)),
    "gt": (("any", "any"), _compare(operator.gt)),
    "ge": (("any", "any"), _compare(operator.ge)),
}
