"""The types of expressions, as far as they are known before any value is: `#` pastes lists otherwise than texts."""

from __future__ import annotations

from oneop.ods import bang
from oneop.ods.expressions import (
    ArgRef,
    BitsExpr,
    Constant,
    DagExpr,
    Expr,
    FieldRef,
    GetField,
    Instance,
    ListExpr,
    Paste,
    Range,
    Select,
    VariableRef,
)
from oneop.ods.values import DAG, INT, STRING, Bits, Dag, Type, Value, is_record

#: Operators whose result is of the type of an operand: its place.
_LIKE_OPERAND = {"listconcat": 0, "listremove": 0, "tail": 0, "con": 0, "setdagop": 0, "setdagarg": 0, "subst": 2}
_TEXTS = frozenset(["strconcat", "substr", "interleave", "tolower", "toupper", "repr", "getdagname"])


def is_list(type: Type | None) -> bool:
    """Tell whether this is a type of lists."""
    return type is not None and type.kind == "list"


def element_of(type: Type | None) -> Type | None:
    """Return the type of the elements of a list."""
    return type.element if type is not None else None


def type_of(expr: Expr) -> Type | None:
    """Return the type of what an expression will give, None where that is not known."""
    if isinstance(expr, (FieldRef, ArgRef, VariableRef)):
        return expr.type
    if isinstance(expr, Constant):
        return _type_of_value(expr.value)
    if isinstance(expr, Paste):
        left = type_of(expr.left)
        return left if is_list(left) else STRING
    if isinstance(expr, GetField):
        return _type_of_field(expr)
    if isinstance(expr, ListExpr):
        return Type("list", element=expr.element or (type_of(expr.items[0]) if expr.items else None))
    if isinstance(expr, Instance):
        return Type("class", cls=expr.ref.cls)
    if isinstance(expr, Select):
        base = type_of(expr.base)
        single = len(expr.ranges) == 1 and not isinstance(expr.ranges[0], Range)
        return element_of(base) if single and not expr.of_bits else base
    if isinstance(expr, DagExpr):
        return DAG
    return _type_of_operator(expr) if not isinstance(expr, BitsExpr) else Type("bits")


def _type_of_value(value: Value) -> Type | None:
    if isinstance(value, int):
        return INT
    if isinstance(value, str):
        return STRING
    if isinstance(value, Bits):
        return Type("bits", width=len(value.bits))
    if isinstance(value, tuple):
        return Type("list", element=_type_of_value(value[0]) if value else None)
    if isinstance(value, Dag):
        return DAG
    return Type("class", cls=list(value.classes.values())[-1]) if is_record(value) and value.classes else None


def _type_of_field(expr: GetField) -> Type | None:
    if isinstance(expr.base, Constant) and is_record(expr.base.value):
        field = expr.base.value.fields.get(expr.name)
        return field.type if field is not None else None
    base = type_of(expr.base)
    return base.cls.fields.get(expr.name) if base is not None and base.cls is not None else None


def _type_of_operator(expr: Expr) -> Type | None:
    if isinstance(expr, bang.If):
        return next((type for _, value in expr.arms if (type := type_of(value)) is not None), None)
    if isinstance(expr, bang.Loop):
        if expr.op == "foldl":
            return type_of(expr.start) if expr.start is not None else None
        items = type_of(expr.items)
        if expr.op == "filter" or not is_list(items):
            return items
        return Type("list", element=type_of(expr.body))
    if isinstance(expr, bang.Typed):
        return Type("list", element=expr.type) if expr.op == "instances" else expr.type if expr.op == "cast" else INT
    if isinstance(expr, bang.MakeDag):
        return DAG
    return _type_of_simple(expr) if isinstance(expr, bang.Bang) else None


def _type_of_simple(expr: bang.Bang) -> Type | None:
    if expr.type is not None:
        return expr.type
    if expr.op in _LIKE_OPERAND:
        return type_of(expr.args[_LIKE_OPERAND[expr.op]])
    if expr.op in _TEXTS:
        return STRING
    first = type_of(expr.args[0])
    if expr.op == "head":
        return element_of(first)
    if expr.op == "listsplat":
        return Type("list", element=first)
    if expr.op == "listflatten":
        return element_of(first)
    if expr.op == "range":
        return Type("list", element=INT)
    return None if expr.op in ("getdagarg", "getdagop") else INT
