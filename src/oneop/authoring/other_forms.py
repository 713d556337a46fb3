"""Forms of torch's schemas, and of Python's annotations, that schemas here have not, and what to write instead.

`oneop/op/text/other_forms.h` has the same tables for C++; a test compares them.
"""

from __future__ import annotations

_FIXED = "an op has a fixed number of arguments; write Tensor[] xs for any number of tensors"
_LIST = "a list is written int[] k"

#: How an argument begins, and what to write instead.
BEGINNINGS = {
    "(": "a tuple is no attribute; write one for each item, or a list such as int[2] k",
    "...": _FIXED,
    "*": _FIXED,
    "Tensor[][]": "write Tensor[] xs, and an int[] of the lengths of the lists",
    "int[][]": "write shape[] k",
    "list[": _LIST,
    "List[": _LIST,
    "Sequence[": _LIST,
    "Optional[": "what may be None is written int? k",
}

#: What stands anywhere in an argument, and what to write instead.
PARTS = {
    "[][]": "a list of lists is shape[] k, and holds ints alone",
    "?[": "only the items of Tensor?[] may be None; write two lists, of the values and of which are there",
}

#: How an output begins, and what to write instead.
OUTPUTS = {
    "None": "write -> () where nothing is returned",
    "...": "an op has a fixed number of outputs; write -> Tensor[] for any number of tensors",
    "(": "all outputs stand in one pair of brackets; write -> (Tensor, Tensor)",
}

EMPTY = "a comma has no argument before or after it; leave it out"
VIEW = "a view; only Tensor(a!), which is changed in place, is possible; write Tensor x, and return a copy"


def instead_of(part: str) -> str:
    """Return what to write in place of an argument that cannot be read, or ""."""
    first = [text for beginning, text in BEGINNINGS.items() if part.startswith(beginning)]
    return next(iter([*first, *(text for piece, text in PARTS.items() if piece in part)]), "")


def instead_of_output(part: str) -> str:
    """Return what to write in place of an output that cannot be read, or ""."""
    return next((text for beginning, text in OUTPUTS.items() if part.startswith(beginning)), "")
