"""What a failed compilation says about op definitions, in terms of their flags."""

from __future__ import annotations

import re
from collections.abc import Sequence

from oneop.ods.flags import FUNCTIONS
from oneop.ods.ops import OdsOp

# GNU ld and gold; lld; in any of them the function's full name follows.
_MISSING = re.compile(r"undefined (?:reference to [`']|symbol: )oneflow::(?P<cls>\w+)::(?P<function>\w+)\(")
# gcc; clang.
_EXTRA = re.compile(
    r"^(?P<place>[^\s:][^:\n]*:\d+):\d+: error: (?:"
    r"no declaration matches [^\n]*?(?P<cls>\w+)::(?P<function>\w+)\("
    r"|out-of-line definition of '(?P<function2>\w+)' does not match any declaration in '(?:oneflow::)?(?P<cls2>\w+)')",
    re.MULTILINE,
)


def explain(output: str, ops: Sequence[OdsOp]) -> str | None:
    """Return what is wrong between flags and functions, if that is what a compiler or linker complains about."""
    by_class = {op.cpp_class: op for op in ops}
    lines: list[str] = []
    for match in _EXTRA.finditer(output):
        cls, function = match["cls"] or match["cls2"], match["function"] or match["function2"]
        if cls in by_class and function in FUNCTIONS:
            lines += _extra(by_class[cls], function, match["place"])
    for cls, function in dict.fromkeys((match["cls"], match["function"]) for match in _MISSING.finditer(output)):
        if cls in by_class and function in FUNCTIONS:
            lines += _missing(by_class[cls], function)
    return "\n".join(lines) or None


def _missing(op: OdsOp, function: str) -> list[str]:
    flag = FUNCTIONS[function]
    return [
        f'op "{op.name}": {flag.name} is set, but {op.cpp_class}::{function} is not defined in any source',
        f"  define {flag.declaration(op.cpp_class)}",
        f"  or remove the flag at {op.file}:{op.line}",
    ]


def _extra(op: OdsOp, function: str, place: str) -> list[str]:
    flag = FUNCTIONS[function]
    if flag.name in op.flags:
        return [
            f'op "{op.name}": {op.cpp_class}::{function} at {place} has other parameters than its flag promises',
            f"  expected {flag.declaration(op.cpp_class)}",
        ]
    return [
        f'op "{op.name}": {op.cpp_class}::{function} is defined at {place}, but {flag.name} is not set',
        f"  add `let {flag.name} = 1;` to the definition at {op.file}:{op.line}",
    ]
