"""The operands of operators that are functions of values: their kinds, and how a function refuses them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from oneop.ods.values import Bits, Dag, Value, is_record

#: Operator: the kinds of its operands ("?" may be missing, "*" may be repeated) and its function.
Operators: TypeAlias = dict[str, tuple[tuple[str, ...], Callable[..., Value]]]


class Refused(Exception):
    """An operator cannot do it; the message says why. Never leaves this package."""


def is_list_value(value: Value) -> bool:
    """Tell whether a value is a list; bits are not."""
    return isinstance(value, tuple) and not isinstance(value, Bits)


KINDS: dict[str, Callable[[Value], bool]] = {
    "any": lambda value: True,
    "int": lambda value: isinstance(value, int),
    "str": lambda value: isinstance(value, str),
    "list": is_list_value,
    "dag": lambda value: isinstance(value, Dag),
    "rec": is_record,
    "sized": lambda value: isinstance(value, (str, Dag)) or is_list_value(value),
    "key": lambda value: isinstance(value, (int, str)),
}

SPOKEN = {
    "int": "an int",
    "str": "a string",
    "list": "a list",
    "dag": "a dag",
    "rec": "a record",
    "sized": "a list, dag or string",
    "key": "a number or a name",
}
