"""Parsing statements. What is defined is known to the next line, so statements run while the file is read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from oneop.ods.definitions_parser import DefinitionsParser
from oneop.ods.expressions import Range
from oneop.ods.program import AssertStatement, Defm, DefvarStatement, Foreach, If, Multiclass, Statement
from oneop.ods.records import ClassRef, Env, Record
from oneop.ods.scope import Scope
from oneop.ods.types import element_of, type_of
from oneop.ods.values import INT
from oneop.ods.work import TooMuchWork

_STATEMENTS = "class, def, defm, defset, defvar, foreach, if, let, multiclass or assert"


class Parser(DefinitionsParser):
    """Reads a whole file into a program."""

    def parse_file(self) -> None:
        """Read all statements."""
        scope = Scope()
        while self.token.kind != "end":
            at = self.token
            try:
                self.parse_statement(scope, [])
            except TooMuchWork as error:
                at.fail(str(error))

    def parse_statement(self, scope: Scope, kept: list[Statement]) -> Scope:
        """Read a statement. Run it, or where that must wait add it to `kept`. Returns the scope of the next one."""
        kind = self.token.kind
        if kind == "def":
            self._finish(scope, self._parse_def(scope), kept)
        elif kind == "class":
            self._parse_class(scope)
        elif kind == "let":
            self._parse_let_in(scope, kept)
        elif kind == "defm":
            self._finish(scope, self._parse_defm(scope), kept)
        elif kind == "multiclass":
            self._parse_multiclass(scope)
        elif kind == "foreach":
            self._finish(scope, self._parse_foreach(scope), kept)
        elif kind == "if":
            self._finish(scope, self._parse_if(scope), kept)
        elif kind == "defvar":
            return self._parse_defvar(scope, kept)
        elif kind == "defset":
            self._parse_defset(scope)
        elif kind == "assert":
            condition, message = self._parse_assert(scope)
            self._finish(scope, AssertStatement(condition, message), kept)
        elif kind == "dump":
            self.advance()
            self.parse_value(scope)
            self.need(";")
        elif kind == "deftype":
            self._parse_deftype(scope)
        else:
            self.unexpected(_STATEMENTS)
        return scope

    def _finish(self, scope: Scope, statement: Statement, kept: list[Statement]) -> None:
        if scope.deferred:
            kept.append(statement)
        else:
            statement.run(self.program, Env(None, {}, {}), None)

    def _parse_block(self, scope: Scope) -> list[Statement]:
        """Read `{ statements }` or one statement."""
        kept: list[Statement] = []
        if not self.take("{"):
            self.parse_statement(scope, kept)
            return kept
        with self._own_variables():
            while self.token.kind not in ("}", "end"):
                scope = self.parse_statement(scope, kept)
        self.need("}")
        return kept

    @contextmanager
    def _own_variables(self) -> Iterator[None]:
        saved = dict(self.program.variables)
        try:
            yield
        finally:
            self.program.variables = saved

    # --- blocks ---

    def _parse_let_in(self, scope: Scope, kept: list[Statement]) -> None:
        self.advance()
        added = [self._parse_let(scope, "<>")]
        while self.take(","):
            added.append(self._parse_let(scope, "<>"))
        self.need("in", "',' or 'in'")
        outer = self.lets
        self.lets = [*outer, *added]
        kept.extend(self._parse_block(scope))
        self.lets = outer

    def _parse_multiclass(self, scope: Scope) -> None:
        at = self.advance()
        if scope.deferred:
            at.fail("a multiclass cannot be defined in a loop or multiclass")
        name = self.need("name", "the name of a multiclass")
        old = self.program.multiclasses.get(name.text)
        if old is not None:
            name.fail(f"multiclass '{name.text}' is defined already")
        made = Multiclass(name.text, name)
        made.template = self._parse_template(scope)
        inner = Scope(variables={arg.name: arg.type for arg in made.template}, in_body=True, deferred=True)
        if self.take(":"):
            made.parents = [self._parse_multiclass_ref(inner)]
            while self.take(","):
                made.parents.append(self._parse_multiclass_ref(inner))
        self.program.multiclasses[name.text] = made
        if self.take(";") and made.parents:
            return
        self.need("{")
        if self.token.kind == "}":
            self.token.fail(f"multiclass '{name.text}' is empty")
        while not self.take("}"):
            inner = self.parse_statement(inner, made.statements)

    def _parse_multiclass_ref(self, scope: Scope) -> ClassRef:
        token = self.need("name", "the name of a multiclass")
        multiclass = self.program.multiclasses.get(token.text)
        if multiclass is None:
            token.fail(f"there is no multiclass '{token.text}'")
        return self.parse_class_ref(scope, multiclass, token)

    def _parse_defm(self, scope: Scope) -> Statement:
        at = self.advance()
        name, whole, named_at = self._parse_name(scope, at)
        self.need(":")
        refs = [self._parse_multiclass_ref(scope)]
        while self.take(","):
            if self.token.text in self.program.multiclasses and isinstance(refs[-1].cls, Multiclass):
                refs.append(self._parse_multiclass_ref(scope))
            else:
                token = self.need("name", "the name of a class")
                refs.append(self.parse_class_ref(scope, self.find_class(token), token))
        self.need(";")
        return Defm(named_at, name, whole, refs, list(self.lets))

    def _parse_foreach(self, scope: Scope) -> Statement:
        at = self.advance()
        name = self.need("name", "the name of a variable")
        self.need("=")
        if self.take("{"):
            items = self.parse_ranges(scope, "}")
            self.need("}")
        else:
            items = [self.parse_range(scope)]
        self.need("in")
        variable = INT if isinstance(items[0], Range) or len(items) > 1 else element_of(type_of(items[0])) or INT
        body = self._parse_block(replace(scope.plus({name.text: variable}), deferred=True))
        return Foreach(at, name.text, items, body)

    def _parse_if(self, scope: Scope) -> Statement:
        self.advance()
        condition = self.parse_value(scope)
        self.need("then")
        inner = replace(scope, deferred=True)
        then = self._parse_block(inner)
        otherwise = self._parse_block(inner) if self.take("else") else []
        return If(condition, then, otherwise)

    def _parse_defvar(self, scope: Scope, kept: list[Statement]) -> Scope:
        self.advance()
        name = self.need("name", "the name of a variable")
        known = name.text in self.program.variables if not scope.deferred else name.text in scope.variables
        if known or name.text in self.program.records:
            name.fail(f"'{name.text}' is defined already")
        self.need("=")
        value = self.parse_value(scope)
        self.need(";")
        if scope.deferred:
            kept.append(DefvarStatement(name.text, value))
            return scope.plus({name.text: type_of(value)})
        self.program.variables[name.text] = value.evaluate(Env(None, {}, {}))
        return scope

    def _parse_defset(self, scope: Scope) -> None:
        at = self.advance()
        if scope.deferred:
            at.fail("a defset cannot be in a loop or multiclass")
        type = self.parse_type()
        if type.kind != "list" or type.element is None or type.element.cls is None:
            at.fail(f"a defset is a list of a class, not {type}")
        name = self.need("name", "the name of a variable")
        if name.text in self.program.variables or name.text in self.program.records:
            name.fail(f"'{name.text}' is defined already")
        self.need("=")
        self.need("{")
        records: list[Record] = []
        self.program.collectors.append(records)
        while self.token.kind not in ("}", "end"):
            scope = self.parse_statement(scope, [])
        self.program.collectors.pop()
        self.need("}")
        for record in records:
            if not record.is_a(type.element.cls):
                record.at.fail(f"'{record.name}' is in a defset of {type.element} but does not derive from it")
        self.program.variables[name.text] = tuple(records)

    def _parse_deftype(self, scope: Scope) -> None:
        at = self.advance()
        name = self.need("name", "the name of a type")
        if scope.deferred or name.text in self.program.types or name.text in self.program.classes:
            at.fail(f"'{name.text}' cannot be defined here as a type")
        self.need("=")
        self.program.types[name.text] = self.parse_type()
        self.need(";")
