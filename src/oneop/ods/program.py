"""What a file has defined so far, and the statements that add to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneop.ods.expressions import Expr, number_of
from oneop.ods.lexer import Token
from oneop.ods.records import Class, ClassRef, Env, Record, TemplateArg, check_assertion
from oneop.ods.values import Bits, Type, Value, to_key, to_text, type_name
from oneop.ods.work import spend


class Multiclass:
    """A multiclass: statements that each `defm` runs."""

    def __init__(self, name: str, at: Token) -> None:
        self.name = name
        self.at = at
        self.template: list[TemplateArg] = []
        self.parents: list[ClassRef] = []
        self.statements: list[Statement] = []


class Program:
    """Classes, records and variables."""

    def __init__(self) -> None:
        self.classes: dict[str, Class] = {}
        self.records: dict[str, Record] = {}
        self.multiclasses: dict[str, Multiclass] = {}
        self.variables: dict[str, Value] = {}
        self.types: dict[str, Type] = {}
        self.collectors: list[list[Record]] = []  # of each open defset
        self.weak = False  # true while the prelude is read
        self._anonymous = 0
        self._instances: dict[object, Record] = {}

    def anonymous_name(self) -> str:
        """Return a name that no record has."""
        self._anonymous += 1
        return f"anonymous_{self._anonymous - 1}"

    def add(self, record: Record) -> None:
        """Finish a record and make it known."""
        old = self.records.get(record.name)
        if old is not None and not (old.weak and not record.weak):
            line, column = old.at.source.line_column(old.at.offset)
            record.at.fail(f"record '{record.name}' is defined already, at {old.at.source.path}:{line}:{column}")
        self.variables.pop(record.name, None)  # from here on the name is that of the record
        self.records[record.name] = record
        record.finish()
        for collector in self.collectors:
            collector.append(record)

    def find_record(self, name: str, env: Env) -> Record | None:
        """Return the record of this name, which may be the one that is being made."""
        if env.record is not None and env.record.name == name:
            return env.record
        return self.records.get(name)

    def instantiate(self, ref: ClassRef, env: Env) -> Record:
        """Return the anonymous record of a class with these arguments."""
        bound = Env(None, {}, {})
        ref.bind(env, bound)
        key = (id(ref.cls), tuple(to_key(late.get()) for late in bound.args.values()))
        record = self._instances.get(key)
        if record is None:
            record = Record(self.anonymous_name(), ref.at, anonymous=True, weak=self.weak)
            record.inherit(ref, env)
            self.records[record.name] = record
            self._instances[key] = record
            record.finish()
        return record

    def run(self, statements: Sequence[Statement], env: Env, made: list[Record] | None) -> None:
        """Run statements; records go to `made` unfinished, or without it are finished and added."""
        spend(1 + len(env.variables))
        for statement in statements:
            spend(2)
            statement.run(self, env, made)

    def deliver(self, records: Sequence[Record], made: list[Record] | None) -> None:
        """Hand on records that a statement has made."""
        if made is not None:
            made.extend(records)
        else:
            for record in records:
                self.add(record)


class Statement:
    """Something that can stand at the top of a file, in a loop or in a multiclass."""

    def run(self, program: Program, env: Env, made: list[Record] | None) -> None:
        """Carry it out; see `Program.run`."""
        raise NotImplementedError


def name_of(program: Program, name: Expr | None, whole: bool, env: Env, at: Token) -> tuple[str, bool]:
    """Return a record's name, and whether it is anonymous. Inside a multiclass NAME goes before it, unless `whole`."""
    if name is None:
        return program.anonymous_name(), True
    value = name.evaluate(env)
    text = to_text(value)
    if text is None:
        at.fail(f"a {type_name(value)} cannot be a name")
    prefix = env.variables.get("NAME", "") if not whole else ""
    return f"{prefix}{text}", False


class Def(Statement):
    """`def name : parents { ... }`."""

    def __init__(self, at: Token, name: Expr | None, whole: bool, parents: list[ClassRef], items: list[Any]) -> None:
        self.at = at
        self.name = name
        self.whole = whole
        self.parents = parents
        self.items = items

    def run(self, program: Program, env: Env, made: list[Record] | None) -> None:
        """Make the record."""
        name, anonymous = name_of(program, self.name, self.whole, env, self.at)
        record = Record(name, self.at, anonymous, program.weak)
        inner = Env(record, {}, dict(env.variables))
        for parent in self.parents:
            record.inherit(parent, inner)
        record.apply(self.items, inner)
        program.deliver([record], made)


class Defm(Statement):
    """`defm name : multiclasses, classes;`."""

    def __init__(self, at: Token, name: Expr | None, whole: bool, parents: list[ClassRef], lets: list[Any]) -> None:
        self.at = at
        self.name = name
        self.whole = whole
        self.parents = parents
        self.lets = lets

    def run(self, program: Program, env: Env, made: list[Record] | None) -> None:
        """Run the multiclasses; classes and lets apply to every record they make."""
        name, _ = name_of(program, self.name, self.whole, env, self.at)
        records: list[Record] = []
        for ref in self.parents:
            if isinstance(ref.cls, Multiclass):
                self._expand(program, ref, env, name, records)
                continue
            for record in records:
                record.inherit(ref, Env(record, {}, dict(env.variables)))
        for record in records:
            record.apply(self.lets, Env(record, {}, dict(env.variables)))
        program.deliver(records, made)

    def _expand(self, program: Program, ref: ClassRef, outer: Env, name: str, records: list[Record]) -> None:
        spend(5)
        inner = Env(None, {}, {"NAME": name})
        ref.bind(outer, inner)
        inner.variables.update(inner.args)
        for parent in ref.cls.parents:
            self._expand(program, parent, inner, name, records)
        program.run(ref.cls.statements, inner, records)


class Foreach(Statement):
    """`foreach name = items in ...`."""

    def __init__(self, at: Token, name: str, items: list[Expr], body: list[Statement]) -> None:
        self.at = at
        self.name = name
        self.items = items
        self.body = body

    def run(self, program: Program, env: Env, made: list[Record] | None) -> None:
        """Run the body for each item."""
        for part in self.items:
            values = part.evaluate(env)
            if not isinstance(values, tuple) or isinstance(values, Bits):
                if len(self.items) == 1 and not isinstance(values, int):
                    part.at.fail(f"foreach goes over a list, not a {type_name(values)}")
                values = (values,)
            for value in values:
                program.run(self.body, env.plus({self.name: value}), made)


class If(Statement):
    """`if condition then ... else ...`."""

    def __init__(self, condition: Expr, then: list[Statement], otherwise: list[Statement]) -> None:
        self.condition = condition
        self.then = then
        self.otherwise = otherwise

    def run(self, program: Program, env: Env, made: list[Record] | None) -> None:
        """Run one of the branches."""
        branch = self.then if number_of(self.condition, env) else self.otherwise
        program.run(branch, env.plus({}), made)


class DefvarStatement(Statement):
    """`defvar` in a loop or multiclass."""

    def __init__(self, name: str, expr: Expr) -> None:
        self.name = name
        self.expr = expr

    def run(self, program: Program, env: Env, made: list[Record] | None) -> None:
        """Set the variable for the rest of the block."""
        env.variables[self.name] = self.expr.evaluate(env)


class AssertStatement(Statement):
    """`assert` outside a body."""

    def __init__(self, condition: Expr, message: Expr) -> None:
        self.condition = condition
        self.message = message

    def run(self, program: Program, env: Env, made: list[Record] | None) -> None:
        """Check it."""
        check_assertion(self.condition, self.message, env)
