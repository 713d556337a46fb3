"""Operators that bind variables, choose what to evaluate, or take a type: `!if`, `!foreach`, `!cast`, ..."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oneop.ods.bang.operands import is_list_value
from oneop.ods.expressions import Expr, number_of
from oneop.ods.lexer import Token
from oneop.ods.records import Env, assign
from oneop.ods.regex import BadPattern, compile_pattern
from oneop.ods.values import (
    UNSET,
    Bits,
    Dag,
    DagArg,
    Mismatch,
    Type,
    Unset,
    Value,
    convert,
    is_record,
    to_text,
    type_name,
)
from oneop.ods.work import spend

if TYPE_CHECKING:
    from oneop.ods.program import Program

SPECIAL = frozenset(["if", "cond", "foreach", "filter", "foldl", "dag", "cast", "isa", "exists", "instances"])


class If(Expr):
    """`!if(condition, a, b)`, and `!cond(a: x, b: y)` as a chain of them."""

    __slots__ = ("arms",)

    def __init__(self, at: Token, arms: list[tuple[Expr | None, Expr]]) -> None:
        self.at = at
        self.arms = arms

    def evaluate(self, env: Env) -> Value:
        """Return the value of the first arm whose condition holds."""
        for condition, value in self.arms:
            if condition is None or number_of(condition, env):
                return value.evaluate(env)
        self.at.fail("!cond: no condition is true")


class Loop(Expr):
    """`!foreach`, `!filter` and `!foldl`; `variables` are (element) or (accumulator, element)."""

    __slots__ = ("body", "items", "op", "start", "variables")

    def __init__(
        self, at: Token, op: str, variables: Sequence[str], start: Expr | None, items: Expr, body: Expr
    ) -> None:
        self.at = at
        self.op = op
        self.variables = variables
        self.start = start
        self.items = items
        self.body = body

    def evaluate(self, env: Env) -> Value:
        """Evaluate the body for each element."""
        items = self.items.evaluate(env)
        is_dag = isinstance(items, Dag)
        if not is_list_value(items) and not (is_dag and self.op == "foreach"):
            self.items.at.fail(f"!{self.op} goes over a list, not a {type_name(items)}")

        def run(*values: Value) -> Value:
            spend(1 + len(env.variables))
            return self.body.evaluate(env.plus(dict(zip(self.variables, values, strict=True))))

        if is_dag:
            args = tuple(DagArg(run(arg.value), arg.name, arg.at) for arg in items.args)
            return Dag(run(items.operator), items.name, args)
        if self.op == "foreach":
            return tuple(run(item) for item in items)
        if self.op == "filter":
            return tuple(item for item in items if self._holds(run(item)))
        assert self.start is not None
        total = self.start.evaluate(env)
        for item in items:
            total = run(total, item)
        return total

    def _holds(self, value: Value) -> bool:
        if isinstance(value, Bits):
            value = value.number()
        if not isinstance(value, int):
            self.body.at.fail(f"the condition of !filter must be an int, not a {type_name(value)}")
        return value != 0


class MakeDag(Expr):
    """`!dag(operator, values, names)`."""

    __slots__ = ("names", "operator", "values")

    def __init__(self, at: Token, operator: Expr, values: Expr, names: Expr) -> None:
        self.at = at
        self.operator = operator
        self.values = values
        self.names = names

    def evaluate(self, env: Env) -> Value:
        """Return the dag."""
        made = self.operator.evaluate(env)
        values, names = self.values.evaluate(env), self.names.evaluate(env)
        if not is_record(made):
            self.operator.at.fail(f"the operator of a dag must be a record, not a {type_name(made)}")
        count = max(len(part) if is_list_value(part) else 0 for part in (values, names))
        columns = [(UNSET,) * count if isinstance(part, Unset) else part for part in (values, names)]
        if not all(is_list_value(column) and len(column) == count for column in columns):
            self.at.fail("!dag: values and names must be lists of one length")
        args = []
        for value, name in zip(*columns, strict=True):
            if not isinstance(name, (str, Unset)):
                self.names.at.fail(f"!dag: a name must be a string, not a {type_name(name)}")
            args.append(DagArg(value, None if isinstance(name, Unset) else name, self.at))
        return Dag(made, None, tuple(args))


class Typed(Expr):
    """`!cast<type>(x)`, `!isa<type>(x)`, `!exists<type>(name)` and `!instances<type>()`."""

    __slots__ = ("op", "operand", "program", "type")

    def __init__(self, at: Token, op: str, type: Type, operand: Expr | None, program: Program) -> None:
        self.at = at
        self.op = op
        self.type = type
        self.operand = operand
        self.program = program

    def evaluate(self, env: Env) -> Value:
        """Return what the operator finds."""
        if self.op == "instances":
            return self._instances(env)
        assert self.operand is not None
        value = self.operand.evaluate(env)
        if self.op == "isa":
            try:
                convert(value, self.type)
            except Mismatch:
                return 0
            return int(not isinstance(value, Unset))
        if self.op == "exists":
            record = self.program.find_record(str(value), env)
            return int(record is not None and self.type.cls is not None and record.is_a(self.type.cls))
        return self._cast(value, env)

    def _cast(self, value: Value, env: Env) -> Value:
        if self.type.kind == "class" and isinstance(value, str):
            record = self.program.find_record(value, env)
            if record is None:
                self.at.fail(f"!cast: there is no record '{value}'")
            value = record
        if self.type.kind == "string":
            text = to_text(value)
            if text is None:
                self.at.fail(f"!cast: a {type_name(value)} cannot be a string")
            return text
        return assign(value, self.type, "!cast", self.at)

    def _instances(self, env: Env) -> Value:
        cls = self.type.cls
        if cls is None:
            self.at.fail("!instances needs a class")
        pattern = self.operand.evaluate(env) if self.operand is not None else ""
        spend(len(self.program.records))
        instances = [record for record in self.program.records.values() if record.is_a(cls) and not record.anonymous]
        try:
            matches = compile_pattern(str(pattern)).search
        except BadPattern as error:
            self.at.fail(f"!instances: {str(pattern)!r} is no regular expression: {error}")
        return tuple(sorted((r for r in instances if matches(r.name)), key=lambda record: record.name))
