"""Expressions of TableGen. Names were resolved by the parser; `evaluate` finds the value in an environment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from oneop.ods.lexer import Token
from oneop.ods.records import ClassRef, Env, Late, assign
from oneop.ods.values import UNSET, Bits, Code, Dag, DagArg, Type, Unset, Value, is_record, to_text, type_name
from oneop.ods.work import spend, spend_list, spend_text

if TYPE_CHECKING:
    from oneop.ods.program import Program


class Expr:
    """An expression; `at` is where it begins."""

    __slots__ = ("at",)

    def __init__(self, at: Token) -> None:
        self.at = at

    def evaluate(self, env: Env) -> Value:
        """Return the value."""
        raise NotImplementedError


class Constant(Expr):
    """A value that depends on nothing."""

    __slots__ = ("value",)

    def __init__(self, at: Token, value: Value) -> None:
        self.at = at
        self.value = value

    def evaluate(self, env: Env) -> Value:
        """Return the value."""
        return self.value


class FieldRef(Expr):
    """A field of the record that is being made."""

    __slots__ = ("name", "type")

    def __init__(self, at: Token, name: str, type: Type | None = None) -> None:
        self.at = at
        self.name = name
        self.type = type

    def evaluate(self, env: Env) -> Value:
        """Return the final value of the field."""
        if env.record is None:
            self.at.fail(f"'{self.name}' is a field, and there is no record here")
        return env.record.fields[self.name].get()


class ArgRef(Expr):
    """A template argument of the class."""

    __slots__ = ("name", "type")

    def __init__(self, at: Token, name: str, type: Type | None = None) -> None:
        self.at = at
        self.name = name
        self.type = type

    def evaluate(self, env: Env) -> Value:
        """Return the argument's value."""
        return env.args[self.name].get()


class VariableRef(Expr):
    """A variable: of a loop, a defvar, an argument of a multiclass."""

    __slots__ = ("name", "type")

    def __init__(self, at: Token, name: str, type: Type | None = None) -> None:
        self.at = at
        self.name = name
        self.type = type

    def evaluate(self, env: Env) -> Value:
        """Return the variable's value."""
        value = env.variables[self.name]
        return value.get() if isinstance(value, Late) else value


class SelfRef(Expr):
    """The record that is being made, by its own name."""

    __slots__ = ()

    def evaluate(self, env: Env) -> Value:
        """Return the record."""
        return env.record


class NameRef(Expr):
    """`NAME`: the name of the record, or of the `defm` around it."""

    __slots__ = ()

    def evaluate(self, env: Env) -> Value:
        """Return the name."""
        if "NAME" in env.variables:
            return env.variables["NAME"]
        return env.record.name if env.record is not None else UNSET


class ListExpr(Expr):
    """`[a, b]`, perhaps with `<type>`."""

    __slots__ = ("element", "items")

    def __init__(self, at: Token, items: Sequence[Expr], element: Type | None) -> None:
        self.at = at
        self.items = items
        self.element = element

    def evaluate(self, env: Env) -> Value:
        """Return the items' values."""
        spend(1 + len(self.items))
        values = tuple([item.evaluate(env) for item in self.items])
        return values if self.element is None else assign(values, Type("list", element=self.element), "list", self.at)


class BitsExpr(Expr):
    """`{a, b}`, the highest bit first."""

    __slots__ = ("items",)

    def __init__(self, at: Token, items: Sequence[Expr]) -> None:
        self.at = at
        self.items = items

    def evaluate(self, env: Env) -> Value:
        """Return the bits."""
        bits: list[int | Unset] = []
        for item in self.items:
            value = item.evaluate(env)
            if isinstance(value, Bits):
                bits.extend(reversed(value.bits))
            elif isinstance(value, Unset) or (isinstance(value, int) and value in (0, 1)):
                bits.append(value)
            else:
                item.at.fail(f"a {type_name(value)} where a bit is expected")
        return Bits(tuple(reversed(bits)))


class DagExpr(Expr):
    """`(operator arg:$name, ...)`."""

    __slots__ = ("args", "name", "operator")

    def __init__(self, at: Token, operator: Expr, name: str | None, args: list[tuple[Expr, str | None]]) -> None:
        self.at = at
        self.operator = operator
        self.name = name
        self.args = args

    def evaluate(self, env: Env) -> Value:
        """Return the dag."""
        operator = self.operator.evaluate(env)
        if not is_record(operator):
            self.operator.at.fail(f"the operator of a dag must be a record, not a {type_name(operator)}")
        return Dag(operator, self.name, tuple([DagArg(expr.evaluate(env), name, expr.at) for expr, name in self.args]))


class Instance(Expr):
    """`Class<args>` as a value: an anonymous record."""

    __slots__ = ("program", "ref")

    def __init__(self, program: Program, ref: ClassRef) -> None:
        self.at = ref.at
        self.program = program
        self.ref = ref

    def evaluate(self, env: Env) -> Value:
        """Return the record, the same for the same arguments."""
        return self.program.instantiate(self.ref, env)


class GetField(Expr):
    """`value.field`."""

    __slots__ = ("base", "name")

    def __init__(self, at: Token, base: Expr, name: str) -> None:
        self.at = at
        self.base = base
        self.name = name

    def evaluate(self, env: Env) -> Value:
        """Return the field's value."""
        record = self.base.evaluate(env)
        if not is_record(record):
            self.at.fail(f"cannot access field '{self.name}' of a {type_name(record)}")
        field = record.fields.get(self.name)
        if field is None:
            self.at.fail(f"record '{record.name}' has no field '{self.name}'")
        return field.get()


class Range(Expr):
    """`first-last` or `first...last`."""

    __slots__ = ("first", "last")

    def __init__(self, at: Token, first: Expr, last: Expr) -> None:
        self.at = at
        self.first = first
        self.last = last

    def evaluate(self, env: Env) -> Value:
        """Return the numbers, both ends included, upwards or downwards."""
        first, last = number_of(self.first, env), number_of(self.last, env)
        if abs(last - first) > 1 << 20:
            self.at.fail(f"the range {first}...{last} is too long")
        spend_list(abs(last - first))
        return tuple(range(first, last + 1) if first <= last else range(first, last - 1, -1))


class Select(Expr):
    """`list[ranges]` or `bits{ranges}`."""

    __slots__ = ("base", "of_bits", "ranges")

    def __init__(self, at: Token, base: Expr, ranges: list[Expr], of_bits: bool) -> None:
        self.at = at
        self.base = base
        self.ranges = ranges
        self.of_bits = of_bits

    def evaluate(self, env: Env) -> Value:
        """Return the element, or the elements, that are selected."""
        base = self.base.evaluate(env)
        if self.of_bits:
            if isinstance(base, int):
                base = Bits(tuple((base >> i) & 1 for i in range(64)))
            if not isinstance(base, Bits):
                self.at.fail(f"a {type_name(base)} has no bits")
            chosen = positions(self.ranges, env, len(base.bits), self.at)
            return Bits(tuple(base.bits[i] for i in reversed(chosen)))
        if not isinstance(base, tuple) or isinstance(base, Bits):
            self.at.fail(f"a {type_name(base)} has no elements")
        chosen = positions(self.ranges, env, len(base), self.at)
        spend_list(len(chosen))
        single = len(self.ranges) == 1 and not isinstance(self.ranges[0], Range)
        return base[chosen[0]] if single and len(chosen) == 1 else tuple(base[i] for i in chosen)


class Paste(Expr):
    """`a # b`."""

    __slots__ = ("left", "right")

    def __init__(self, at: Token, left: Expr, right: Expr | None) -> None:
        self.at = at
        self.left = left
        self.right = right

    def evaluate(self, env: Env) -> Value:
        """Return the two as one string, or one list."""
        left = self.left.evaluate(env)
        right: Any = self.right.evaluate(env) if self.right is not None else ""
        if isinstance(left, tuple) and not isinstance(left, Bits):
            if not isinstance(right, tuple) or isinstance(right, Bits):
                self.at.fail(f"a list and a {type_name(right)} cannot be pasted")
            spend_list(len(left) + len(right))
            return left + right
        texts = to_text(left), to_text(right)
        if texts[0] is None or texts[1] is None:
            self.at.fail(f"a {type_name(left)} and a {type_name(right)} cannot be pasted")
        spend_text(len(texts[0]) + len(texts[1]))
        text = texts[0] + texts[1]
        return Code(text) if isinstance(left, Code) or isinstance(right, Code) else text


def number_of(expr: Expr, env: Env) -> int:
    """Return the value of an expression that must be an int."""
    value = expr.evaluate(env)
    if isinstance(value, Bits):
        value = value.number()
    if not isinstance(value, int):
        expr.at.fail(f"a {type_name(value)} where an int is expected")
    return value


def positions(ranges: Sequence[Expr], env: Env, size: int, at: Token) -> list[int]:
    """Return the positions that ranges select, each of which must be below `size`."""
    chosen: list[int] = []
    for part in ranges:
        value = part.evaluate(env)
        chosen.extend(value if isinstance(value, tuple) and not isinstance(value, Bits) else [number_of(part, env)])
    for position in chosen:
        if not isinstance(position, int) or not 0 <= position < size:
            at.fail(f"there is no element {position}, only {size} of them")
    return chosen
