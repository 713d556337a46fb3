"""What the body of a class or record consists of; each item is applied to a record in turn."""

from __future__ import annotations

from collections.abc import Callable

from oneop.ods.expressions import Constant, Expr, positions
from oneop.ods.lexer import Token
from oneop.ods.records import Env, Late, Record, assign
from oneop.ods.values import UNSET, Bits, Type, Value


class Field:
    """`type name = value;`."""

    __slots__ = ("at", "expr", "name", "ready", "type")

    def __init__(self, name: str, type: Type, expr: Expr | None, at: Token) -> None:
        self.name = name
        self.type = type
        self.expr = expr
        self.at = at
        self.ready = constant_field(name, type, expr, at)

    def apply(self, record: Record, env: Env) -> None:
        """Add the field; one of this name that is there must have the same type."""
        old = record.fields.get(self.name)
        if old is not None and old.type != self.type:
            self.at.fail(f"'{self.name}' has the type {self.type} here and {old.type} in a class it derives from")
        record.fields[self.name] = self.ready or Late(self.name, self.type, self.expr, env, self.at)


class Let:
    """`let name = value;`."""

    __slots__ = ("at", "expr", "name", "ready", "type")

    def __init__(self, name: str, type: Type | None, expr: Expr, at: Token) -> None:
        self.name = name
        self.type = type
        self.expr = expr
        self.at = at
        self.ready = None if type is None else constant_field(name, type, expr, at)

    def apply(self, record: Record, env: Env) -> None:
        """Replace the value."""
        old = record.fields.get(self.name)
        if old is None:
            self.at.fail(f"'{record.name}' has no field '{self.name}'")
        if self.ready is not None and old.type == self.type:
            record.fields[self.name] = self.ready
        else:
            record.fields[self.name] = Late(self.name, old.type, self.expr, env, self.at)


class LetBits:
    """`let name{ranges} = value;`."""

    __slots__ = ("at", "expr", "name", "ranges")

    def __init__(self, name: str, ranges: list[Expr], expr: Expr, at: Token) -> None:
        self.name = name
        self.ranges = ranges
        self.expr = expr
        self.at = at

    def apply(self, record: Record, env: Env) -> None:
        """Replace some bits of the value."""
        old = record.fields.get(self.name)
        if old is None:
            self.at.fail(f"'{record.name}' has no field '{self.name}'")
        if old.type is None or old.type.kind != "bits":
            self.at.fail(f"'{self.name}' has the type {old.type}, so it has no bits to set")
        merged = Computed(self.at, lambda env: self._merge(old, env))
        record.fields[self.name] = Late(self.name, old.type, merged, env, self.at)

    def _merge(self, old: Late, env: Env) -> Value:
        bits = list(old.get().bits)
        chosen = positions(self.ranges, env, len(bits), self.at)
        if len(set(chosen)) != len(chosen):
            self.at.fail(f"a bit of '{self.name}' is set twice")
        wanted = assign(self.expr.evaluate(env), Type("bits", len(chosen)), self.name, self.expr.at)
        values = wanted.bits if isinstance(wanted, Bits) else (UNSET,) * len(chosen)
        for position, bit in zip(reversed(chosen), values, strict=True):
            bits[position] = bit
        return Bits(tuple(bits))


class Defvar:
    """`defvar name = value;` inside a body."""

    __slots__ = ("at", "expr", "name")

    def __init__(self, name: str, expr: Expr, at: Token) -> None:
        self.name = name
        self.expr = expr
        self.at = at

    def apply(self, record: Record, env: Env) -> None:
        """Make the variable; its value is found when it is used, as fields are."""
        env.variables[self.name] = Late(self.name, None, self.expr, env, self.at)


class Assert:
    """`assert condition, message;` inside a body."""

    __slots__ = ("condition", "message")

    def __init__(self, condition: Expr, message: Expr) -> None:
        self.condition = condition
        self.message = message

    def apply(self, record: Record, env: Env) -> None:
        """Remember it until the record is finished."""
        record.asserts.append((self.condition, self.message, env))


class Computed(Expr):
    """An expression that is a Python function."""

    __slots__ = ("function",)

    def __init__(self, at: Token, function: Callable[[Env], Value]) -> None:
        super().__init__(at)
        self.function = function

    def evaluate(self, env: Env) -> Value:
        """Call the function."""
        return self.function(env)


def constant_field(name: str, type: Type, expr: Expr | None, at: Token) -> Late | None:
    """Return the field if its value depends on nothing, so that all records can share it."""
    if expr is not None and not isinstance(expr, Constant):
        return None
    late = Late(name, type, None, None, at)
    if expr is not None:
        late.value = assign(expr.value, type, name, expr.at)
    return late
