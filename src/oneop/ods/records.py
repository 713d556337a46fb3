"""Classes and records: fields whose values are found when somebody asks, after all `let`s are known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneop.ods.lexer import Token
from oneop.ods.values import UNSET, Bits, Mismatch, Type, Unset, Value, convert
from oneop.ods.work import spend

if TYPE_CHECKING:
    from oneop.ods.expressions import Expr


class Env:
    """What the names in an expression stand for."""

    __slots__ = ("args", "record", "variables")

    def __init__(self, record: Record | None, args: dict[str, Late], variables: dict[str, Any]) -> None:
        self.record = record
        self.args = args
        self.variables = variables

    def plus(self, variables: dict[str, Any]) -> Env:
        """Return this environment with further variables."""
        return Env(self.record, self.args, {**self.variables, **variables})


class Late:
    """A value that is found at the first request, and then kept."""

    __slots__ = ("at", "busy", "env", "expr", "name", "type", "value")

    def __init__(self, name: str, type: Type | None, expr: Expr | None, env: Env | None, at: Token) -> None:
        self.name = name
        self.type = type
        self.expr = expr
        self.env = env
        self.at = at
        self.busy = False
        self.value: Value = None
        if expr is None:
            self.value = Bits((UNSET,) * type.width) if type is not None and type.kind == "bits" else UNSET

    def get(self) -> Value:
        """Return the value, finding it first if nobody has."""
        if self.expr is None:
            return self.value
        if self.busy:
            self.at.fail(f"'{self.name}' refers to itself")
        self.busy = True
        spend()
        try:
            assert self.env is not None
            value = self.expr.evaluate(self.env)
            self.value = value if self.type is None else assign(value, self.type, self.name, self.expr.at)
        finally:
            self.busy = False
        self.expr = self.env = None
        return self.value


def assign(value: Value, type: Type, name: str, at: Token) -> Value:
    """Return the value as one of the type of field or argument `name`."""
    try:
        return convert(value, type)
    except Mismatch as mismatch:
        at.fail(f"'{name}' is of type {type}: {mismatch}")


class TemplateArg:
    """A parameter of a class or multiclass."""

    __slots__ = ("at", "default", "name", "type")

    def __init__(self, name: str, type: Type, default: Expr | None, at: Token) -> None:
        self.name = name
        self.type = type
        self.default = default
        self.at = at


class Class:
    """A class: its parameters, parents and items, applied again to each record."""

    __slots__ = ("ancestors", "at", "complete", "fields", "items", "name", "parents", "template", "weak")

    def __init__(self, name: str, at: Token, weak: bool) -> None:
        self.name = name
        self.at = at
        self.weak = weak  # of the prelude: a definition of the user's replaces it
        self.complete = False
        self.template: list[TemplateArg] = []
        self.parents: list[ClassRef] = []
        self.items: list[Any] = []
        self.fields: dict[str, Type] = {}
        self.ancestors: dict[str, Class] = {}

    def is_a(self, other: Class) -> bool:
        """Tell whether this is `other` or derives from it."""
        return self is other or other.name in self.ancestors


class ClassRef:
    """A class, or multiclass, with the arguments it is given."""

    __slots__ = ("args", "at", "cls")

    def __init__(self, cls: Any, args: dict[str, Expr], at: Token) -> None:
        self.cls = cls
        self.args = args
        self.at = at

    def bind(self, outer: Env, inner: Env) -> None:
        """Give `inner` the arguments; what is written here is evaluated in `outer`, a default in `inner`."""
        for arg in self.cls.template:
            expr = self.args.get(arg.name)
            env = outer if expr is not None else inner
            inner.args[arg.name] = Late(arg.name, arg.type, expr or arg.default, env, self.at)


class Record:
    """A record: what a `def` makes."""

    __slots__ = ("anonymous", "asserts", "at", "classes", "fields", "name", "weak")

    def __init__(self, name: str, at: Token, anonymous: bool, weak: bool) -> None:
        spend(5)
        self.name = name
        self.at = at
        self.anonymous = anonymous
        self.weak = weak
        self.fields: dict[str, Late] = {}
        self.classes: dict[str, Class] = {}
        self.asserts: list[tuple[Expr, Expr, Env]] = []

    def __repr__(self) -> str:
        return self.name

    def is_a(self, cls: Class) -> bool:
        """Tell whether the record derives from this class."""
        return cls.name in self.classes

    def get(self, name: str) -> Value:
        """Return the value of a field that is there."""
        return self.fields[name].get()

    def inherit(self, ref: ClassRef, outer: Env) -> None:
        """Add the fields and values of a class and its ancestors."""
        if ref.cls.name in self.classes:
            ref.at.fail(f"'{self.name}' derives from '{ref.cls.name}' already")
        spend(1 + len(ref.cls.items))
        env = Env(self, {}, {})
        ref.bind(outer, env)
        for parent in ref.cls.parents:
            self.inherit(parent, env)
        self.classes[ref.cls.name] = ref.cls
        self.apply(ref.cls.items, env)

    def apply(self, items: list[Any], env: Env) -> None:
        """Carry out the items of a body, in order."""
        for item in items:
            item.apply(self, env)

    def finish(self) -> None:
        """Find all values and check all assertions."""
        for late in self.fields.values():
            if late.expr is not None:
                late.get()
        for condition, message, env in self.asserts:
            check_assertion(condition, message, env)


def check_assertion(condition: Expr, message: Expr, env: Env) -> None:
    """Raise unless the condition holds."""
    value = condition.evaluate(env)
    if isinstance(value, Bits):
        value = value.number()
    if isinstance(value, Unset) or not isinstance(value, int):
        condition.at.fail("the condition of an assertion must be an int or a bit")
    if not value:
        condition.at.fail(f"assertion failed: {message.evaluate(env)}")
