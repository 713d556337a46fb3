"""Values and records as texts, the way `!repr` gives them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneop.ods.values import Bits, Code, Dag, DagArg, Value, is_record
from oneop.ods.work import spend

if TYPE_CHECKING:
    from oneop.ods.records import Record


def printed(value: Value) -> str:
    """Return a value as it would be written; a record inside another value is only named."""
    spend()
    if isinstance(value, Code):
        return f"[{{{value}}}]"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, Bits):
        return f"{{ {', '.join(printed(bit) for bit in reversed(value.bits))} }}"
    if isinstance(value, Dag):
        operator = value.operator.name + (f":{value.name}" if value.name else "")
        args = ", ".join(_printed_arg(arg) for arg in value.args)
        return f"({operator} {args})" if args else f"({operator})"
    if isinstance(value, tuple):
        return f"[{', '.join(printed(item) for item in value)}]"
    return value.name if is_record(value) else str(value)


def _printed_arg(arg: DagArg) -> str:
    return printed(arg.value) + (f":${arg.name}" if arg.name else "")


def printed_record(record: Record) -> str:
    """Return a record with its classes and fields."""
    classes = f"\t// {' '.join(record.classes)}" if record.classes else ""
    lines = [f"{record.name} {{{classes}"]
    for name, late in record.fields.items():
        lines.append(f"  {late.type} {name} = {printed(late.get())};")
    return "\n".join([*lines, "}", ""])
