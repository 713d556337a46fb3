"""The bang operators: `!add`, `!foreach`, `!cast`, ..."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

from oneop.ods.expressions import Expr, number_of
from oneop.ods.lexer import Token
from oneop.ods.printed import printed, printed_record
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
    same,
    to_key,
    to_text,
    type_name,
)
from oneop.ods.work import spend, spend_list, spend_text

if TYPE_CHECKING:
    from oneop.ods.program import Program


class Refused(Exception):
    """An operator cannot do it; the message says why. Never leaves this file."""


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
            if not _KINDS[kind](value):
                arg.at.fail(f"operand {i + 1} of !{self.op} must be {_SPOKEN[kind]}, not a {type_name(value)}")
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


def _is_list(value: Value) -> bool:
    return isinstance(value, tuple) and not isinstance(value, Bits)


_KINDS: dict[str, Callable[[Value], bool]] = {
    "any": lambda value: True,
    "int": lambda value: isinstance(value, int),
    "str": lambda value: isinstance(value, str),
    "list": _is_list,
    "dag": lambda value: isinstance(value, Dag),
    "rec": is_record,
    "sized": lambda value: isinstance(value, (str, Dag)) or _is_list(value),
    "key": lambda value: isinstance(value, (int, str)),
}
_SPOKEN = {
    "int": "an int",
    "str": "a string",
    "list": "a list",
    "dag": "a dag",
    "rec": "a record",
    "sized": "a list, dag or string",
    "key": "a number or a name",
}


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _fold(function: Callable[[int, int], int]) -> Callable[..., int]:
    return lambda *values: _wrap(reduce(function, values))


def _div(a: int, b: int) -> int:
    if b == 0:
        raise Refused("division by zero")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    if quotient >= 1 << 63:
        raise Refused("the result does not fit in 64 bits")
    return quotient


def _shift(function: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def shift(a: int, b: int) -> int:
        if not 0 <= b < 64:
            raise Refused(f"cannot shift by {b}")
        return _wrap(function(a, b))

    return shift


def _logtwo(a: int) -> int:
    if a <= 0:
        raise Refused(f"{a} has no logarithm")
    return a.bit_length() - 1


def _compare(function: Callable[[Any, Any], bool]) -> Callable[[Value, Value], int]:
    def compare(a: Value, b: Value) -> int:
        a, b = (value.number() if isinstance(value, Bits) else value for value in (a, b))
        if not (isinstance(a, int) and isinstance(b, int)) and not (isinstance(a, str) and isinstance(b, str)):
            raise Refused(f"cannot compare a {type_name(a)} with a {type_name(b)}")
        return int(function(a, b))

    return compare


def _equal(a: Value, b: Value) -> int:
    numbers = (int, Bits)
    if isinstance(a, Unset) or isinstance(b, Unset):
        raise Refused("an operand is not set")
    if type(a) is not type(b) and not (isinstance(a, numbers) and isinstance(b, numbers)):
        raise Refused(f"cannot compare a {type_name(a)} with a {type_name(b)}")
    return int(same(a, b))


def _head(items: tuple[Value, ...]) -> Value:
    if not items:
        raise Refused("the list is empty")
    return items[0]


def _tail(items: tuple[Value, ...]) -> Value:
    if not items:
        raise Refused("the list is empty")
    return items[1:]


def _flatten(items: tuple[Value, ...]) -> Value:
    spend_list(sum(len(item) if _is_list(item) else 1 for item in items))
    return tuple(inner for item in items for inner in (item if _is_list(item) else (item,)))


def _splat(value: Value, count: int) -> Value:
    if not 0 <= count <= 1 << 20:
        raise Refused(f"a list cannot have {count} elements")
    spend_list(count)
    return (value,) * count


def _text(value: Value) -> str:
    text = to_text(value)
    if text is None:
        raise Refused(f"a {type_name(value)} is no text")
    return text


def _range(*operands: Value) -> Value:
    values = [len(value) if _is_list(value) else value for value in operands]
    if not all(isinstance(value, int) for value in values) or (len(values) == 3 and values[2] == 0):
        raise Refused("needs ints, and a step that is not 0")
    numbers = range(*values)
    if len(numbers) > 1 << 20:
        raise Refused(f"the list would have {len(numbers)} elements")
    spend_list(len(numbers))
    return tuple(numbers)


def _find(text: str, wanted: str, start: int = 0) -> int:
    if not 0 <= start <= len(text):
        raise Refused(f"the string has no position {start}")
    return text.find(wanted, start)


def _substr(text: str, start: int, count: int = 1 << 62) -> str:
    if not 0 <= start <= len(text) or count < 0:
        raise Refused(f"the string has no part {start}, {count}")
    return text[start : start + count]


def _match(text: str, pattern: str) -> int:
    spend(len(text))
    try:
        return int(compile_pattern(pattern).search(text) is not None)
    except BadPattern as error:
        raise Refused(f"{pattern!r} is no regular expression: {error}") from None


def _subst(old: Value, new: Value, value: Value) -> Value:
    if isinstance(value, str) and isinstance(old, str) and isinstance(new, str):
        spend_text(len(value) + (value.count(old) * max(0, len(new) - len(old)) if old else 0))
        return value.replace(old, new) if old else value
    if is_record(value):
        return new if value is old else value
    raise Refused("works on strings and on records")


def _concat(*texts: str) -> str:
    spend_text(sum(map(len, texts)))
    return "".join(texts)


def _concat_lists(*lists: tuple[Value, ...]) -> Value:
    spend_list(sum(map(len, lists)))
    return tuple(item for items in lists for item in items)


def _remove(items: tuple[Value, ...], unwanted: tuple[Value, ...]) -> Value:
    spend(len(items) * len(unwanted))
    return tuple(item for item in items if not any(same(item, other) for other in unwanted))


def _interleave(items: tuple[Value, ...], delimiter: str) -> str:
    texts = [_text(item) for item in items]
    spend_text(sum(map(len, texts)) + len(texts) * len(delimiter))
    return delimiter.join(texts)


def _repr(value: Value) -> str:
    to_key(value)  # counts the parts: a list that holds another one twice, over and over, is short and prints long
    if isinstance(value, Unset):
        raise Refused("the operand is not set")
    return printed_record(value) if is_record(value) else printed(value)


def _con(*dags: Dag) -> Dag:
    spend_list(sum(len(dag.args) for dag in dags))
    for dag in dags[1:]:
        if dag.operator.name != dags[0].operator.name:
            raise Refused(f"the operators differ: {dags[0].operator.name} and {dag.operator.name}")
    return Dag(dags[0].operator, None, tuple(arg for dag in dags for arg in dag.args))


def _place(dag: Dag, key: int | str) -> int:
    names = [arg.name for arg in dag.args]
    if isinstance(key, str):
        if key not in names:
            raise Refused(f"the dag has no argument '{key}'")
        return names.index(key)
    if not 0 <= key < len(names):
        raise Refused(f"the dag has no argument {key}, only {len(names)} of them")
    return key


def _change(dag: Dag, key: int | str, **changes: Any) -> Dag:
    place = _place(dag, key)
    args = [arg._replace(**changes) if i == place else arg for i, arg in enumerate(dag.args)]
    return Dag(dag.operator, dag.name, tuple(args))


def _size(value: Value) -> int:
    return len(value.args) if isinstance(value, Dag) else len(value)


#: Operator: the kinds of its operands ("?" may be missing, "*" may be repeated) and its function.
SIMPLE: dict[str, tuple[tuple[str, ...], Callable[..., Value]]] = {
    "add": (("int", "int*"), _fold(operator.add)),
    "mul": (("int", "int*"), _fold(operator.mul)),
    "and": (("int", "int*"), _fold(operator.and_)),
    "or": (("int", "int*"), _fold(operator.or_)),
    "xor": (("int", "int*"), _fold(operator.xor)),
    "sub": (("int", "int"), _fold(operator.sub)),
    "div": (("int", "int"), _div),
    "shl": (("int", "int"), _shift(lambda a, b: a << b)),
    "sra": (("int", "int"), _shift(lambda a, b: a >> b)),
    "srl": (("int", "int"), _shift(lambda a, b: a % (1 << 64) >> b)),
    "not": (("int",), lambda a: int(not a)),
    "logtwo": (("int",), _logtwo),
    "eq": (("any", "any"), _equal),
    "ne": (("any", "any"), lambda a, b: 1 - _equal(a, b)),
    "lt": (("any", "any"), _compare(operator.lt)),
    "le": (("any", "any"), _compare(operator.le)),
    "gt": (("any", "any"), _compare(operator.gt)),
    "ge": (("any", "any"), _compare(operator.ge)),
    "strconcat": (("str", "str*"), _concat),
    "listconcat": (("list", "list*"), _concat_lists),
    "listflatten": (("list",), _flatten),
    "listsplat": (("any", "int"), _splat),
    "listremove": (("list", "list"), _remove),
    "size": (("sized",), _size),
    "empty": (("sized",), lambda value: int(_size(value) == 0)),
    "head": (("list",), _head),
    "tail": (("list",), _tail),
    "interleave": (("list", "str"), _interleave),
    "range": (("any", "any?", "any?"), _range),
    "find": (("str", "str", "int?"), _find),
    "substr": (("str", "int", "int?"), _substr),
    "match": (("str", "str"), _match),
    "subst": (("any", "any", "any"), _subst),
    "tolower": (("str",), str.lower),
    "toupper": (("str",), str.upper),
    "repr": (("any",), _repr),
    "initialized": (("any",), lambda value: int(not isinstance(value, Unset))),
    "con": (("dag", "dag*"), _con),
    "getdagop": (("dag",), lambda dag: dag.operator),
    "setdagop": (("dag", "rec"), lambda dag, new: Dag(new, dag.name, dag.args)),
    "getdagarg": (("dag", "key"), lambda dag, key: dag.args[_place(dag, key)].value),
    "getdagname": (("dag", "int"), lambda dag, key: dag.args[_place(dag, key)].name or UNSET),
    "setdagarg": (("dag", "key", "any"), lambda dag, key, value: _change(dag, key, value=value)),
    "setdagname": (("dag", "key", "any"), lambda dag, key, name: _change(dag, key, name=to_text(name))),
}

#: Operators that bind variables, choose what to evaluate, or take a type.
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
        if not _is_list(items) and not (is_dag and self.op == "foreach"):
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
        count = max(len(part) if _is_list(part) else 0 for part in (values, names))
        columns = [(UNSET,) * count if isinstance(part, Unset) else part for part in (values, names)]
        if not all(_is_list(column) and len(column) == count for column in columns):
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
