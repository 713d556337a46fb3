"""All records of a file, in the shape of `llvm-tblgen --dump-json`. For tools, and for comparing the two readers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from oneop.ods.lexer import read_source
from oneop.ods.ops import run_file
from oneop.ods.values import Bits, Dag, Unset, Value, is_record
from oneop.ods.work import TooMuchWork, spend


def dump_records(
    path: str | os.PathLike[str], include_dirs: Sequence[str | os.PathLike[str]] = (), defines: Sequence[str] = ()
) -> dict[str, dict[str, object]]:
    """Return {name of a record: its fields}, those of the prelude too. Raises `OdsError`."""
    definitions = run_file(read_source(Path(path)), [Path(folder) for folder in include_dirs], defines)
    result: dict[str, dict[str, object]] = {}
    for name, record in definitions.program.records.items():
        try:
            fields = {field: to_json(late.get()) for field, late in record.fields.items()}
        except TooMuchWork as error:
            record.at.fail(str(error))
        special = {"!name": name, "!anonymous": record.anonymous, "!superclasses": list(record.classes)}
        result[name] = {**special, **fields}
    return result


def to_json(value: Value) -> object:
    """Return a value as llvm-tblgen writes it into JSON."""
    spend()
    if isinstance(value, Unset):
        return None
    if isinstance(value, Bits):
        return [to_json(bit) for bit in value.bits]
    if isinstance(value, Dag):
        args = [[to_json(arg.value), arg.name] for arg in value.args]
        named = {"name": value.name} if value.name else {}
        return {"kind": "dag", "operator": to_json(value.operator), "args": args, **named}
    if isinstance(value, tuple):
        return [to_json(item) for item in value]
    if is_record(value):
        return {"kind": "def", "def": value.name, "printable": value.name}
    return value
