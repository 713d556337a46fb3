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

#: Types of torch that schemas here have not, and what to write instead; in C++ they are in `oneop/op/schema.h`.
INSTEAD = {
    "Layout": "write str k, and its name",
    "MemoryFormat": "write str k, and its name",
    "Stream": "leave it out: kernels run on torch's current stream",
    "Storage": "write Tensor x, and give a tensor of the storage",
    "Generator": "leave it out and say random: kernels draw from torch's generator",
    "QScheme": "write str k, and its name",
    "Dimname": "write str k",
    "Any": "write a type; a choice of several is an attribute for each, with a default",
    "Dict": "write two lists, of keys and of values",
    "DeviceIndex": "leave it out: the inputs say where it runs",
    "Capsule": "leave it out: an op takes tensors, numbers, texts, dtypes and lists of them",
    "NoneType": "leave it out: its value is always None",
    "None": "leave it out: its value is always None",
    "SymFloat": "write float k",
    "SymBool": "write bool k",
    "complex[]": "write float[] k, real and imaginary parts in turn",
    "Scalar[]": "write float[] k, or int[] k",
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
