"""Operators that are functions of values: `!add`, `!strconcat`, `!head`, ..."""

from __future__ import annotations

from collections.abc import Sequence

from oneop.ods.bang.dags import DAGS
from oneop.ods.bang.lists import LISTS
from oneop.ods.bang.numbers import NUMBERS
from oneop.ods.bang.operands import KINDS, SPOKEN, Operators, Refused
from oneop.ods.bang.texts import TEXTS
from oneop.ods.expressions import Expr
from oneop.ods.lexer import Token
from oneop.ods.records import Env
from oneop.ods.values import UNSET, Bits, Mismatch, Type, Value, convert, type_name
from oneop.ods.work import spend

SIMPLE: Operators = {**NUMBERS, **LISTS, **TEXTS, **DAGS}


class Bang(Expr):
    """`!op(args)` whose operator is a function of values; see `SIMPLE`."""

    __slots__ = ("args", "op", "type")

    def __init__(self, at: Token, op: str, args: Sequence[Expr], type: Type | None = None) -> None:
        self.at = at
        self.op = op
        self.type = type
        self.args = args
        kinds, _ = SIMPLE[op]
        least = sum(1 for kind in kinds if not kind.endswith("?"))
        if len(args) < least or (not kinds[-1].endswith("*") and len(args) > len(kinds)):
            at.fail(f"!{op} does not take {len(args)} operand{'' if len(args) == 1 else 's'}")

    def evaluate(self, env: Env) -> Value:
        """Check the operands and call the function."""
        kinds, function = SIMPLE[self.op]
        values = []
        spend(1 + len(self.args))
        for i, arg in enumerate(self.args):
            kind = kinds[min(i, len(kinds) - 1)].rstrip("?*")
            value = arg.evaluate(env)
            if kind == "int" and isinstance(value, Bits):
                value = value.number()
            if not KINDS[kind](value):
                arg.at.fail(f"operand {i + 1} of !{self.op} must be {SPOKEN[kind]}, not a {type_name(value)}")
            values.append(value)
        try:
            result = function(*values)
        except Refused as error:
            self.at.fail(f"!{self.op}: {error}")
        return result if self.type is None else self._checked(result)

    def _checked(self, result: Value) -> Value:
        assert self.type is not None
        try:
            return convert(result, self.type)
        except Mismatch as mismatch:
            if self.op == "getdagarg":  # as in LLVM: an argument of another type is as good as none
                return UNSET
            self.at.fail(f"!{self.op}: {mismatch}")
