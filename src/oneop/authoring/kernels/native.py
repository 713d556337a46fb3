"""Kernels compiled by numba: once for each combination of dtypes and dimensions, then called without Python.

The author's function takes the inputs, `out` (or a tuple, for several outputs) and attributes, as numpy kernels do; it
writes into `out`. Numbers are passed at each call, other attributes are constants that it is compiled for.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from oneop.authoring.binding import Source, taken_by
from oneop.authoring.kernels.numpy_dtypes import numpy_dtype
from oneop.authoring.schema import Arg, Schema
from oneop.authoring.spec import RawSpec
from oneop.errors import RegistrationError

_NUMBERS = {"int": "ints", "int32": "ints", "bool": "ints", "float": "floats", "float32": "floats"}


def compile_kernel(schema: Schema, function: Callable[..., Any], source: Source) -> dict[str, Any]:
    """Return what the core needs of a numba kernel. Raises `RegistrationError` if numba is not there."""
    try:
        numba: Any = importlib.import_module("numba")
    except ImportError:
        raise RegistrationError(
            f'op "{schema.name}": numba is not installed\n  pip install numba, or use language="numpy"\n  at {source}'
        ) from None
    python = getattr(function, "py_func", function)
    taken = taken_by(python, schema, "kernel", source)
    if not taken.out and schema.outputs:
        raise RegistrationError(
            f'op "{schema.name}": a numba kernel writes its result into `out`\n  add that parameter\n  at {source}'
        )
    compiled = numba.njit(python, nogil=True, error_model="numpy")
    numbers = [
        attr.name
        for attr in schema.attrs
        if attr.type in _NUMBERS and attr.name in taken.attrs and not attr.is_optional  # None is a constant
    ]
    entries: dict[object, Any] = {}  # keeps the compiled code alive

    def compile(
        inputs: Sequence[Sequence[RawSpec]], outputs: Sequence[Sequence[RawSpec]], attrs: Mapping[str, Any]
    ) -> int:
        constants = {name: attrs[name] for name in taken.attrs if name not in numbers}
        layout = tuple(tuple((len(shape), dtype) for shape, dtype in specs) for specs in (*inputs, *outputs))
        key = (layout, tuple((name, type(value), value) for name, value in constants.items()))  # 2 equals 2.0
        if key not in entries:
            entries[key] = _entry(schema, compiled, layout, numbers, constants, taken.attrs)
        return int(entries[key].address)

    return {"function": compile, "attrs": numbers}


def _entry(
    schema: Schema,
    compiled: Any,
    layout: Sequence[Sequence[tuple[int, Any]]],
    numbers: Sequence[str],
    constants: Mapping[str, Any],
    attrs: Sequence[str],
) -> Any:
    """Compile what csrc/python/kernels/python_native.cpp calls: it makes arrays of addresses and sizes."""
    numba: Any = importlib.import_module("numba")
    scope: dict[str, Any] = {"kernel": compiled, "carray": numba.carray}
    lines: list[str] = []
    position = 0
    values: list[str] = []
    for arg, tensors in zip((*schema.inputs, *schema.outputs), layout, strict=True):
        names = []
        for ndim, dtype in tensors:
            scope[f"dtype{position}"] = numpy_dtype(dtype)
            sizes = "".join(f"shapes[{position}][{d}], " for d in range(ndim))
            lines.append(f"t{position} = carray(data[{position}], ({sizes}), dtype{position})")
            names.append(f"t{position}")
            position += 1
        values.append(_value(arg, names))
    outputs = values[len(schema.inputs) :]
    arguments = values[: len(schema.inputs)]
    named: dict[str, str] = {}
    kinds = {attr.name: attr.type for attr in schema.attrs}
    for name in attrs:
        if name in numbers:
            place = numbers.index(name)
            text = f"{_NUMBERS[kinds[name]]}[{place}]"
            named[name] = f"bool({text})" if kinds[name] == "bool" else text
        else:
            scope[f"constant_{name}"] = _constant(kinds[name], constants[name])
            named[name] = f"constant_{name}"
    if outputs:
        named["out"] = outputs[0] if len(outputs) == 1 else "(" + ", ".join(outputs) + ",)"
    # By position: numba mixes up names that come in another order.
    arguments += [named[name] for name in inspect.signature(compiled.py_func).parameters if name in named]
    body = "\n        ".join([*lines, f"kernel({', '.join(arguments)})"])
    text = f"""def entry(data, shapes, ints, floats):
    try:
        {body}
    except Exception:
        return 1
    return 0
"""
    exec(compile(text, f"<numba entry of {schema.name}>", "exec"), scope)
    types = numba.types
    signature = types.int32(
        types.CPointer(types.voidptr),
        types.CPointer(types.CPointer(types.int64)),
        types.CPointer(types.int64),
        types.CPointer(types.float64),
    )
    return numba.cfunc(signature)(scope["entry"])


def _constant(kind: str, value: Any) -> Any:
    """Return a constant as numba takes it: it has no loop over an empty tuple."""
    if value == () and isinstance(value, tuple):
        return np.empty(0, "U1" if kind == "str[]" else np.float64 if "float" in kind else np.int64)
    return value


def _value(arg: Arg, names: Sequence[str]) -> str:
    if arg.is_list:
        return "(" + "".join(f"{name}, " for name in names) + ")"
    return names[0] if names else "None"
