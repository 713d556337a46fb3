"""Op definitions as data: what a `.td` file says about each op."""

from __future__ import annotations

import functools
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from oneop._source import SourceText
from oneop.errors import OdsError
from oneop.model.attributes import BY_RECORD
from oneop.ods.cpp_values import ZERO, NotOfType, python_value
from oneop.ods.lexer import Lexer, Token
from oneop.ods.parser import Parser
from oneop.ods.program import Program
from oneop.ods.records import Record
from oneop.ods.values import Bits, Dag, DagArg, Unset, Value, is_record, type_name
from oneop.ods.work import TooMuchWork, begin

BASE_CLASS = "OneFlow_BaseOp"
#: An input that OneFlow gives to ops without inputs; there is no use for it here.
TICK_INPUT = "UserSourceOpTickInput"


@dataclass(frozen=True, kw_only=True)
class OdsArg:
    """An input or output. `kind` is tensor, variadic or optional."""

    name: str
    kind: str


@dataclass(frozen=True, kw_only=True)
class OdsAttr:
    """An attribute. `default` is the C++ expression, None if there is none; `value` the default as Python sees it.

    Where `value` is None the C++ expression is one that only a compiler can evaluate.
    """

    name: str
    type: str
    cpp_type: str
    default: str | None
    value: object
    optional: bool = False  # OptionalAttr without a default: the value may be None, and is if none is given


@dataclass(frozen=True, kw_only=True)
class OdsOp:
    """An op definition. `flags` are the `has_*` fields that are set."""

    name: str
    cpp_class: str
    inputs: tuple[OdsArg, ...]
    outputs: tuple[OdsArg, ...]
    attrs: tuple[OdsAttr, ...]
    traits: tuple[str, ...]
    flags: tuple[str, ...]
    output_buffer_num: int | None
    summary: str
    description: str
    file: str
    line: int
    column: int

    @property
    def doc(self) -> str:
        """What the definition says of the op: its summary, then its description without common indentation."""
        texts = [self.summary.strip(), textwrap.dedent(self.description).strip()]
        return "\n\n".join(text for text in texts if text)

    def has_trait(self, name: str) -> bool:
        """Tell whether the op has a trait; the two names of NoMemoryEffect are one."""
        same = {"NoSideEffect", "NoMemoryEffect", "Pure"}
        return name in self.traits or (name in same and bool(same & set(self.traits)))


class Definitions:
    """The program of a file and what it was read from."""

    def __init__(self, program: Program, sources: Sequence[SourceText], absent: Iterable[str]) -> None:
        self.program = program
        self.sources = sources
        self.absent = absent  # where included files were looked for and not found


def run_file(source: SourceText, include_dirs: Sequence[Path], defines: Iterable[str]) -> Definitions:
    """Read a file and evaluate it, after the prelude. Raises `OdsError`."""
    begin()
    program = Program()
    program.weak = True
    Parser(program, list(_prelude_tokens())).parse_file()
    program.weak = False
    lexer = Lexer(include_dirs, defines)
    try:
        Parser(program, lexer.read(source)).parse_file()
    except RecursionError:
        line, column = source.line_column(0)
        raise OdsError(source.point_at(0, "nested too deeply"), str(source.path), line, column) from None
    return Definitions(program, lexer.sources, lexer.absent)


@functools.cache
def _prelude_tokens() -> tuple[Token, ...]:
    path = Path(__file__).parent / "prelude" / "prelude.td"
    return tuple(Lexer([], []).read(SourceText(path, path.read_text(encoding="utf-8"))))


def ops_of(program: Program) -> list[OdsOp]:
    """Return the ops among the records, in the order of the file. Raises `OdsError` where one makes no sense."""
    ops: dict[str, OdsOp] = {}
    for record in program.records.values():
        if BASE_CLASS not in record.classes or record.anonymous:
            continue
        try:
            op = _op_of(record)
        except TooMuchWork as error:
            record.at.fail(str(error))
        if op.name in ops:
            first = ops[op.name]
            record.at.fail(f'op "{op.name}" is defined already, at {first.file}:{first.line}:{first.column}')
        ops[op.name] = op
    return list(ops.values())


def _op_of(record: Record) -> OdsOp:
    at = record.at
    name = record.get("opName")
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name):
        at.fail(f"the name of an op must be an identifier, not {name!r}")
    inputs = tuple(_arg_of(arg) for arg in _dag_args(record, "input", "ins") if arg.name != TICK_INPUT)
    outputs = tuple(_arg_of(arg) for arg in _dag_args(record, "output", "outs"))
    attrs = tuple(_attr_of(arg) for arg in _dag_args(record, "attrs", "ins"))
    taken: set[str] = set()
    for field in ("input", "output", "attrs"):
        for arg in _dag_args(record, field, None):
            if arg.name in taken:
                arg.at.fail(f'"{arg.name}" names two of the inputs, outputs and attributes of op "{name}"')
            taken.add(str(arg.name))
    line, column = at.source.line_column(at.offset)
    buffers = record.fields.get("same_output_regst_num")
    buffer_num = buffers.get() if buffers is not None else None
    return OdsOp(
        name=name,
        cpp_class=record.name.removeprefix("OneFlow_"),
        inputs=inputs,
        outputs=outputs,
        attrs=attrs,
        traits=tuple(dict.fromkeys(_trait_names(record.get("traits"), at))),
        flags=tuple(f for f, late in record.fields.items() if f.startswith("has_") and _is_set(late.get())),
        output_buffer_num=buffer_num if isinstance(buffer_num, int) and buffer_num > 0 else None,
        summary=_text(record, "summary"),
        description=_text(record, "description"),
        file=str(at.source.path),
        line=line,
        column=column,
    )


def _is_set(value: Value) -> bool:
    return isinstance(value, int) and value != 0


def _text(record: Record, field: str) -> str:
    value = record.get(field) if field in record.fields else ""
    return value if isinstance(value, str) else ""


def _dag_args(record: Record, field: str, operator: str | None) -> tuple[DagArg, ...]:
    late = record.fields.get(field)
    value = late.get() if late is not None else UNSET_DAG
    if isinstance(value, Unset) or late is None:
        return ()
    if not isinstance(value, Dag):
        late.at.fail(f"'{field}' must be a dag, not a {type_name(value)}")
    if operator is not None and value.operator.name != operator:
        late.at.fail(f"'{field}' begins with ({operator} ...), not ({value.operator.name} ...)")
    for arg in value.args:
        if not arg.name:
            arg.at.fail(f"an argument of '{field}' needs a name: OneFlow_Tensor:$x")
    return value.args


UNSET_DAG = Unset()


def _arg_of(arg: DagArg) -> OdsArg:
    kinds = {"Variadic": "variadic", "Optional": "optional"}
    if not is_record(arg.value) or "TypeConstraint" not in arg.value.classes:
        arg.at.fail(f"the type of ${arg.name} must be OneFlow_Tensor, Variadic<...> or Optional<...>")
    matching = [kind for cls, kind in kinds.items() if cls in arg.value.classes]
    return OdsArg(name=str(arg.name), kind=matching[0] if matching else "tensor")


def _attr_of(arg: DagArg) -> OdsAttr:
    record = arg.value
    default: str | None = None
    optional = False
    while is_record(record) and record.name not in BY_RECORD:
        optional |= "OptionalAttr" in record.classes
        if "defaultValue" in record.fields and default is None and isinstance(record.get("defaultValue"), str):
            default = record.get("defaultValue")
        base = record.fields.get("baseAttr")
        if base is None or not is_record(base.get()):
            _fail_attr(arg, record)
        record = base.get()
    if not is_record(record):
        _fail_attr(arg, record)
    kind = BY_RECORD[record.name]
    type, cpp_type = kind.ods, kind.cpp
    optional &= default is None
    value = python_value(default, type) if default is not None else None if optional else ZERO.get(type, ())
    if isinstance(value, NotOfType):
        arg.at.fail(f"the default {default!r} of attribute ${arg.name} {value.reason}")
    return OdsAttr(name=str(arg.name), type=type, cpp_type=cpp_type, default=default, value=value, optional=optional)


def _fail_attr(arg: DagArg, record: Value) -> NoReturn:
    what = record.name if is_record(record) else f"a {type_name(record)}"
    arg.at.fail(f"the attribute ${arg.name} has the unknown type {what}; known are {', '.join(sorted(BY_RECORD))}")


def _trait_names(traits: Value, at: Token) -> list[str]:
    names: list[str] = []
    for trait in traits if isinstance(traits, tuple) and not isinstance(traits, Bits) else ():
        if not is_record(trait):
            at.fail(f"a trait must be a record, not a {type_name(trait)}")
        if "TraitList" in trait.classes:
            names.extend(_trait_names(trait.get("traits"), at))
        elif trait.anonymous and "declared" in trait.fields:
            names.append(trait.get("declared").name)
        elif trait.anonymous and "cppInterfaceName" in trait.fields:
            names.append(str(trait.get("cppInterfaceName")))
        elif trait.anonymous and "trait" in trait.fields:
            names.append(str(trait.get("trait")))
        else:
            names.append(trait.name)
    return names
