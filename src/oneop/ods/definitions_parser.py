"""Parsing classes and records: their parents, template arguments and bodies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from oneop.ods.expressions import Constant, Expr, NameRef, Paste
from oneop.ods.items import Assert, Defvar, Field, Let, LetBits
from oneop.ods.lexer import Token
from oneop.ods.program import Def, Program, Statement
from oneop.ods.records import Class, ClassRef, TemplateArg
from oneop.ods.scope import Scope
from oneop.ods.types import type_of
from oneop.ods.values import Type
from oneop.ods.values_parser import ValuesParser


class DefinitionsParser(ValuesParser):
    """The part of the parser that reads what is defined."""

    def __init__(self, program: Program, tokens: list[Token]) -> None:
        super().__init__(program, tokens)
        self.lets: list[Any] = []  # of the `let ... in` around the current statement

    # --- classes and records ---

    def _parse_class(self, scope: Scope) -> None:
        at = self.advance()
        if scope.deferred:
            at.fail("a class cannot be defined in a loop or multiclass")
        name = self.need("name", "the name of a class")
        cls = self.program.classes.get(name.text)
        if cls is None or (cls.weak and not self.program.weak):
            cls = self.program.classes[name.text] = Class(name.text, name, self.program.weak)
        elif cls.complete:
            name.fail(f"class '{name.text}' is defined already")
        cls.template = self._parse_template(scope)
        inner = replace(scope, fields=cls.fields, args={arg.name: arg.type for arg in cls.template}, in_body=True)
        for ref in self._parse_parents(inner):
            if ref.cls is cls or cls.name in ref.cls.ancestors:
                ref.at.fail(f"class '{cls.name}' cannot derive from itself")
            if ref.cls.name in cls.ancestors:
                ref.at.fail(f"class '{cls.name}' derives from '{ref.cls.name}' already")
            cls.parents.append(ref)
            cls.fields.update(ref.cls.fields)
            cls.ancestors.update({**ref.cls.ancestors, ref.cls.name: ref.cls})
        self._check_lets(cls.fields, cls.name)
        cls.items.extend(self.lets)
        has_body = self.token.kind == "{"
        self._parse_body(inner, cls.items, cls.name)
        cls.complete = has_body or bool(cls.parents or cls.template)

    def _parse_template(self, scope: Scope) -> list[TemplateArg]:
        args: list[TemplateArg] = []
        if not self.take("<"):
            return args
        names: set[str] = set()
        while True:
            type = self.parse_type()
            name = self.need("name", "the name of a template argument")
            if name.text in names:
                name.fail(f"template argument '{name.text}' is there twice")
            known = replace(scope, args={arg.name: arg.type for arg in args}, in_body=True)
            default = self.parse_value(known) if self.take("=") else None
            if isinstance(default, Constant):
                Field(name.text, type, default, default.at)  # checks the type
            args.append(TemplateArg(name.text, type, default, name))
            names.add(name.text)
            if not self.take(","):
                break
        self.need(">")
        return args

    def _parse_parents(self, scope: Scope) -> Iterator[ClassRef]:
        """Read the parents one by one: the arguments of a later one may use the fields of an earlier one."""
        if self.take(":"):
            while True:
                token = self.need("name", "the name of a class")
                yield self.parse_class_ref(scope, self.find_class(token), token)
                if not self.take(","):
                    break

    def _parse_def(self, scope: Scope) -> Statement:
        at = self.advance()
        name, whole, named_at = self._parse_name(scope, at)
        fields: dict[str, Type] = {}
        known = name.value if isinstance(name, Constant) and isinstance(name.value, str) else ""
        inner = replace(scope, fields=fields, args={}, self_name=known, in_body=True)
        parents: list[ClassRef] = []
        for ref in self._parse_parents(inner):
            parents.append(ref)
            fields.update(ref.cls.fields)
        self._check_lets(fields, known)
        items = list(self.lets)
        self._parse_body(inner, items, known or "the record")
        return Def(named_at, name, whole, parents, items)

    def _parse_name(self, scope: Scope, at: Token) -> tuple[Expr | None, bool, Token]:
        """Read the name after def or defm: an expression, whether it has NAME in it, and where it is."""
        token = self.token
        if token.kind in (":", "{", ";"):
            return None, False, at
        name = self.parse_value(scope, name_mode=True)
        return name, _mentions_name(name), token

    def _check_lets(self, fields: dict[str, Type], name: str) -> None:
        for let in self.lets:
            if let.name not in fields:
                let.at.fail(f"'{name or 'the record'}' has no field '{let.name}'")

    # --- bodies ---

    def _parse_body(self, scope: Scope, items: list[Any], name: str) -> None:
        if self.take(";"):
            return
        self.need("{", "'{' or ';'")
        while not self.take("}"):
            scope = self._parse_item(scope, items, name)

    def _parse_item(self, scope: Scope, items: list[Any], name: str) -> Scope:
        token = self.token
        if token.kind == "let":
            self.advance()
            let = self._parse_let(scope)
            if let.name not in scope.fields:
                let.at.fail(f"{name} has no field '{let.name}'")
            if isinstance(let, Let):
                let = Let(let.name, scope.fields[let.name], let.expr, let.at)
            items.append(let)
            self.need(";")
        elif token.kind == "defvar":
            self.advance()
            variable = self.need("name", "the name of a variable")
            if variable.text in scope.fields or variable.text in scope.variables or variable.text in scope.args:
                variable.fail(f"'{variable.text}' is in use here already")
            self.need("=")
            value = self.parse_value(scope)
            items.append(Defvar(variable.text, value, variable))
            self.need(";")
            return scope.plus({variable.text: type_of(value)})
        elif token.kind == "assert":
            items.append(Assert(*self._parse_assert(scope)))
        elif token.kind == "dump":
            self.advance()
            self.parse_value(scope)
            self.need(";")
        else:
            self._parse_field(scope, items)
        return scope

    def _parse_field(self, scope: Scope, items: list[Any]) -> None:
        self.take("field")
        type = self.parse_type()
        name = self.need("name", "the name of a field")
        old = scope.fields.get(name.text)
        if old is not None and old != type:
            name.fail(f"'{name.text}' has the type {type} here and {old} in a class it derives from")
        if name.text in scope.args:
            name.fail(f"'{name.text}' is a template argument, so it cannot be a field too")
        value = self.parse_value(scope) if self.take("=") else None
        scope.fields[name.text] = type
        items.append(Field(name.text, type, value, name))
        self.need(";")

    def _parse_let(self, scope: Scope, brackets: str = "{}") -> Let | LetBits:
        name = self.need("name", "the name of a field")
        ranges = None
        if self.take(brackets[0]):
            ranges = self.parse_ranges(scope, brackets[1])
            self.need(brackets[1])
        elif self.token.kind == "{":
            self.token.fail("outside a body the bits of a field stand in < and >: let field<3-0> = value in")
        self.need("=")
        value = self.parse_value(scope)
        return Let(name.text, None, value, name) if ranges is None else LetBits(name.text, ranges, value, name)

    def _parse_assert(self, scope: Scope) -> tuple[Expr, Expr]:
        self.advance()
        condition = self.parse_value(scope)
        self.need(",")
        message = self.parse_value(scope)
        self.need(";")
        return condition, message


def _mentions_name(expr: Expr | None) -> bool:
    if isinstance(expr, Paste):
        return _mentions_name(expr.left) or _mentions_name(expr.right)
    return isinstance(expr, NameRef)
