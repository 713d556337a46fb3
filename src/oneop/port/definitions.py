"""Definitions written down again: a `.td` file of some ops, and the functions of a yaml file that sources call."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneop.ods.ops import OdsArg, OdsAttr, OdsOp

#: Those that mean something here.
TRAITS = ("NoGrad", "CpuOnly", "SupportNonContiguous", "SameOperandsAndResultType", "NoMemoryEffect")
_KINDS = {"tensor": "OneFlow_Tensor", "variadic": "Variadic<OneFlow_Tensor>", "optional": "Optional<OneFlow_Tensor>"}
_CALL = re.compile(r"\bfunctional::(\w+)\s*\(")


def definitions_text(ops: Iterable[OdsOp]) -> str:
    """Return a `.td` file that defines these ops and needs no other."""
    return "\n".join(_definition(op) for op in ops)


def _definition(op: OdsOp) -> str:
    traits = ", ".join(trait for trait in TRAITS if op.has_trait(trait))
    lines = [f'def OneFlow_{op.cpp_class} : OneFlow_BaseOp<"{op.name}", [{traits}]> {{']
    for field, operator, words in (
        ("input", "ins", [_argument(arg) for arg in op.inputs]),
        ("output", "outs", [_argument(arg) for arg in op.outputs]),
        ("attrs", "ins", [_attribute(attr) for attr in op.attrs]),
    ):
        if words:
            joined = ",\n    ".join(words)
            lines.append(f"  let {field} = ({operator}\n    {joined}\n  );")
    lines += [f"  let {flag} = 1;" for flag in op.flags]
    if op.output_buffer_num is not None:
        lines.append(f"  let same_output_regst_num = {op.output_buffer_num};")
    return "\n".join([*lines, "}", ""])


def _argument(arg: OdsArg) -> str:
    return f"{_KINDS[arg.kind]}:${arg.name}"


def _attribute(attr: OdsAttr) -> str:
    from oneop.model.attributes import ATTR_TYPES

    record = next(kind.records[0] for kind in ATTR_TYPES if kind.ods == attr.type)
    if attr.default is not None:
        default = attr.default.replace("\\", "\\\\").replace('"', '\\"')
        record = f'DefaultValuedAttr<{record}, "{default}">'
    elif attr.optional:
        record = f"OptionalAttr<{record}>"
    return f"{record}:${attr.name}"


def functions_called(text: str, sources: Sequence[str]) -> str:
    """Return the entries of a yaml file, given as text, for functions that C++ sources call."""
    called = {name for source in sources for name in _CALL.findall(source)}
    entries = re.split(r"^(?=- name:)", text, flags=re.MULTILINE)
    kept = [entry for entry in entries if called & set(re.findall(r"=>\s*(\w+)", entry))]
    return "".join(kept)
