"""Parsing bang operators: `!op<type>(operands)`, and those with variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneop.ods import bang
from oneop.ods.expressions import Expr
from oneop.ods.lexer import Token
from oneop.ods.types import element_of, type_of
from oneop.ods.values import Type

if TYPE_CHECKING:
    from oneop.ods.scope import Scope
    from oneop.ods.values_parser import ValuesParser


def parse_bang(parser: ValuesParser, scope: Scope) -> Expr:
    """Parse an operator with what belongs to it, from `!` to the closing bracket."""
    at = parser.advance()
    op = at.text
    if op not in bang.SIMPLE and op not in bang.SPECIAL:
        at.fail(f"there is no operator !{op}")
    type = None
    if parser.take("<"):
        type = parser.parse_type()
        parser.need(">")
    parser.need("(")
    if op in ("foreach", "filter"):
        value = _parse_loop(parser, scope, at, op)
    elif op == "foldl":
        value = _parse_fold(parser, scope, at)
    elif op == "cond":
        value = _parse_cond(parser, scope, at)
    elif op in ("cast", "isa", "exists", "instances"):
        if type is None:
            at.fail(f"!{op} needs a type: !{op}<type>(...)")
        operand = parser.parse_value(scope) if op != "instances" or parser.token.kind != ")" else None
        value = bang.Typed(at, op, type, operand, parser.program)
    else:
        value = _parse_operands(parser, scope, at, op, type)
    parser.need(")")
    return value


def _parse_operands(parser: ValuesParser, scope: Scope, at: Token, op: str, type: Type | None) -> Expr:
    operands: list[Expr] = []
    while parser.token.kind != ")":
        operands.append(parser.parse_value(scope))
        if not parser.take(","):
            break
    if op in ("if", "dag") and len(operands) != 3:
        at.fail(f"!{op} takes 3 operands, not {len(operands)}")
    if op == "if":
        return bang.If(at, [(operands[0], operands[1]), (None, operands[2])])
    if op == "dag":
        return bang.MakeDag(at, *operands)
    return bang.Bang(at, op, operands, type)


def _parse_variable(parser: ValuesParser, scope: Scope) -> str:
    token = parser.need("name", "the name of a variable")
    if token.text in scope.variables or token.text in scope.fields or token.text in scope.args:
        token.fail(f"'{token.text}' is in use here already")
    parser.need(",")
    return token.text


def _parse_loop(parser: ValuesParser, scope: Scope, at: Token, op: str) -> Expr:
    name = _parse_variable(parser, scope)
    items = parser.parse_value(scope)
    parser.need(",")
    inner = scope.plus({name: element_of(type_of(items))})
    return bang.Loop(at, op, [name], None, items, parser.parse_value(inner))


def _parse_fold(parser: ValuesParser, scope: Scope, at: Token) -> Expr:
    start = parser.parse_value(scope)
    parser.need(",")
    items = parser.parse_value(scope)
    parser.need(",")
    names = [_parse_variable(parser, scope), _parse_variable(parser, scope)]
    types = type_of(start), element_of(type_of(items))
    inner = scope.plus(dict(zip(names, types, strict=True)))
    return bang.Loop(at, "foldl", names, start, items, parser.parse_value(inner))


def _parse_cond(parser: ValuesParser, scope: Scope, at: Token) -> Expr:
    arms: list[tuple[Expr | None, Expr]] = []
    while parser.token.kind != ")":
        condition = parser.parse_value(scope)
        parser.need(":")
        arms.append((condition, parser.parse_value(scope)))
        if not parser.take(","):
            break
    return bang.If(at, arms)
