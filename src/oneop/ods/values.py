"""Values and types of TableGen, and what may be assigned to what.

An int or bit is a Python int, a string or code a str, a list a tuple; the rest has classes here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from oneop.ods.work import spend

if TYPE_CHECKING:
    from oneop.ods.lexer import Token
    from oneop.ods.records import Class, Record


class Unset:
    """The value `?`."""

    def __repr__(self) -> str:
        return "?"


UNSET = Unset()


class Code(str):
    """A text that was written as `[{...}]`; only `!repr` tells it from another string."""

    __slots__ = ()


class Bits(NamedTuple):
    """Bits, the lowest first; each 0, 1 or `?`."""

    bits: tuple[int | Unset, ...]

    def number(self) -> int | Unset:
        """Return the number they make, or `?` if one of them is not set."""
        total = 0
        for i, bit in enumerate(self.bits):
            if isinstance(bit, Unset):
                return UNSET
            total |= bit << i
        return total


class DagArg(NamedTuple):
    """An argument of a dag; `at` is where it was written."""

    value: Value
    name: str | None
    at: Token


@dataclass(frozen=True, slots=True)
class Dag:
    """A dag: an operator and arguments that may have names."""

    operator: Record
    name: str | None
    args: tuple[DagArg, ...]


Value = Any  # int | str | Unset | Bits | tuple[Value, ...] | Dag | Record; checked where it matters


@dataclass(frozen=True, slots=True)
class Type:
    """A type. `kind` is bit, bits, int, string, dag, list or class."""

    kind: str
    width: int = 0
    element: Type | None = None
    cls: Class | None = None

    def __str__(self) -> str:
        if self.kind == "bits":
            return f"bits<{self.width}>"
        if self.kind == "list":
            return f"list<{self.element or '?'}>"
        return self.cls.name if self.cls else self.kind


BIT, INT, STRING, DAG = Type("bit"), Type("int"), Type("string"), Type("dag")


class Mismatch(Exception):
    """A value does not have the type asked for; the message says so. Never leaves this package."""


def type_name(value: Value) -> str:
    """Return what kind of value this is, for messages."""
    if isinstance(value, int):
        return "int"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Bits):
        return f"bits<{len(value.bits)}>"
    if isinstance(value, tuple):
        return "list"
    if isinstance(value, Dag):
        return "dag"
    return "?" if isinstance(value, Unset) else f"record {value.name}"


def convert(value: Value, to: Type) -> Value:
    """Return the value as one of this type. Raises `Mismatch`."""
    kind = to.kind
    if kind == "string":
        if isinstance(value, str):
            return value
    elif kind == "int":
        if isinstance(value, int):
            return value
        if isinstance(value, Bits):
            return value.number()
    elif kind == "bit":
        if isinstance(value, int) and value in (0, 1):
            return value
        if isinstance(value, Bits) and len(value.bits) == 1:
            return value.bits[0]
    elif kind == "bits":
        if isinstance(value, int):
            if to.width < 64 and value >> to.width != 0 and value >> max(to.width - 1, 0) != -1:
                raise Mismatch(f"{value} does not fit in {to}")
            spend(1 + to.width // 4)
            return Bits(tuple((value >> i) & 1 if i < 64 else 0 for i in range(to.width)))
        if isinstance(value, Bits) and len(value.bits) == to.width:
            return value
        if isinstance(value, Unset):
            spend(1 + to.width // 32)
            return Bits((UNSET,) * to.width)
    elif kind == "dag":
        if isinstance(value, Dag):
            return value
    elif kind == "list":
        if isinstance(value, tuple) and not isinstance(value, (Bits, DagArg)):
            spend(2 + 2 * len(value))
            if to.element == INT and value and isinstance(value[-1], int):
                return tuple(item if isinstance(item, Bits) else convert(item, INT) for item in value)  # as in LLVM
            return tuple(convert(item, to.element) for item in value) if to.element else value
    elif to.cls is not None and is_record(value) and value.is_a(to.cls):
        return value
    if isinstance(value, Unset):
        return value
    raise Mismatch(f"a {type_name(value)} where {to} is expected")


def is_record(value: Value) -> bool:
    """Tell whether this is a record."""
    return hasattr(value, "is_a")


def same(a: Value, b: Value) -> bool:
    """Compare two values; records are the same only if they are one."""
    if is_record(a) or is_record(b):
        return a is b
    if isinstance(a, Bits):
        a = a.number()
    if isinstance(b, Bits):
        b = b.number()
    if isinstance(a, Dag) and isinstance(b, Dag):
        return a.operator is b.operator and same_all(dag_parts(a), dag_parts(b))
    if isinstance(a, tuple) and isinstance(b, tuple):
        return same_all(a, b)
    return type(a) is type(b) and bool(a == b)


def dag_parts(dag: Dag) -> tuple[Value, ...]:
    """Return what tells two dags of one operator apart."""
    return (dag.name or "", *(part for arg in dag.args for part in (arg.value, arg.name or "")))


def same_all(a: tuple[Value, ...], b: tuple[Value, ...]) -> bool:
    """Compare two lists of values."""
    spend(3 + 3 * len(a))
    return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))


def to_key(value: Value) -> object:
    """Return something hashable that is equal for equal values."""
    spend(3)
    if isinstance(value, Dag):
        return (id(value.operator), tuple(to_key(part) for part in dag_parts(value)))
    if isinstance(value, tuple) and not isinstance(value, Bits):
        return tuple(to_key(item) for item in value)
    return (type(value).__name__, value) if isinstance(value, (int, str, Bits)) else id(value)


def to_text(value: Value) -> str | None:
    """Return the text of a value that can be pasted, None for others."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Bits):
        number = value.number()
        return str(number) if isinstance(number, int) else None
    return value.name if is_record(value) else None
