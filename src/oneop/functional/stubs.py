"""Type stubs from definitions: `_C.pyi` for functions, `ops.pyi` for ops. Editors complete by them, checkers check."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Sequence
from typing import NoReturn

from oneop.functional.description import Function
from oneop.functional.signature import TYPES, Parameter, Signature, parse_signature
from oneop.model.stub_package import OTHERS
from oneop.ods.ops import OdsArg, OdsAttr, OdsOp

HEAD = [
    "# Made from op definitions; do not edit.",
    "from collections.abc import Sequence",
    "from typing import Any, NamedTuple, overload",
    "",
    "import torch",
    "from torch import Tensor",
    "",
]

_PYTHON = {
    "TENSOR": "Tensor",
    "TENSOR_TUPLE": "Sequence[Tensor]",
    "SCALAR": "complex",
    "INT32": "int",
    "INT64": "int",
    "FLOAT": "float",
    "DOUBLE": "float",
    "BOOL": "bool",
    "STRING": "str",
    "INT32_LIST": "Sequence[int]",
    "INT64_LIST": "Sequence[int]",
    "FLOAT_LIST": "Sequence[float]",
    "DOUBLE_LIST": "Sequence[float]",
    "BOOL_LIST": "Sequence[bool]",
    "STRING_LIST": "Sequence[str]",
    "SCALAR_LIST": "Sequence[complex]",
    "DTYPE": "torch.dtype",
    "DTYPE_LIST": "Sequence[torch.dtype]",
    "SHAPE": "Sequence[int]",
    "SHAPE_LIST": "Sequence[Sequence[int]]",
    "DEVICE": "torch.device | str",
    "GENERATOR": "torch.Generator",
    "LAYOUT": "torch.layout",
    "MEMORY_FORMAT": "torch.memory_format",
}
_RETURNS = {"VOID": "None", "TENSOR_TUPLE": "tuple[Tensor, ...]", "SHAPE": "torch.Size"}
_ATTRS = {
    "bool": "bool",
    "int32": "int",
    "int64": "int",
    "float": "float",
    "double": "float",
    "string": "str",
    "shape": "Sequence[int]",
    "data_type": "torch.dtype",
    "complex": "complex",
    "scalar": "complex",
    "bytes": "bytes",
}


def function_stubs(functions: Sequence[Function]) -> str:
    """Return the text of `_C.pyi`."""
    lines = list(HEAD)
    for function in functions:
        if not function.bind_python:
            continue
        named = [signature for signature in function.signatures if signature.return_names]
        for i, signature in enumerate(named):
            lines += [f"class {_tuple_name(function, signature, i)}(NamedTuple):"]
            lines += [f"    {name}: Tensor" for name in signature.return_names] + [""]
        for signature in function.signatures:
            if len(function.signatures) > 1:
                lines.append("@overload")
            lines += _function(function, signature, named)
    return "\n".join([*lines, *OTHERS])


def bound_functions(names: Sequence[str]) -> list[Function]:
    """Return the descriptions of functions that are loaded."""
    from oneop.runtime.functions import find_function

    def fail(offset: int, message: str) -> NoReturn:
        raise AssertionError(f"a library describes a function wrongly: {message}")

    made = []
    for name in names:
        function = find_function(name)
        signatures = tuple(parse_signature(f"{text} => {name}", fail) for text in function.signatures)
        made.append(
            Function(name=name, signatures=signatures, bind_python=True, doc=function.doc, file="", line=0, column=0)
        )
    return made


def _tuple_name(function: Function, signature: Signature, number: int) -> str:
    return f"_{function.name}_result{number or ''}"


def _function(function: Function, signature: Signature, named: Sequence[Signature]) -> Iterator[str]:
    if signature.return_names:
        returns = _tuple_name(function, signature, named.index(signature))
    else:
        kind = TYPES[signature.returns]
        returns = _RETURNS.get(kind) or _PYTHON[kind]
    parameters: list[str] = []
    may_be_left_out = False
    for parameter in signature.parameters:
        if parameter.keyword_only and "*" not in parameters:
            parameters.append("*")
        # In Python all that stands after a default has one; the function itself tells what is missing.
        may_be_left_out = parameter.default is not None or (may_be_left_out and not parameter.keyword_only)
        parameters.append(_parameter(parameter, may_be_left_out))
    yield f"def {function.name}({', '.join(parameters)}) -> {returns}:"
    doc = f"{function.doc}\n\n    {signature.call_text}" if function.doc else signature.call_text
    yield f"    {_docstring(doc)}"
    yield ""


def _docstring(text: str) -> str:
    return '"""' + text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').rstrip('"') + '"""'


def _parameter(parameter: Parameter, may_be_left_out: bool) -> str:
    kind = TYPES.get(parameter.type, "")
    type = _PYTHON.get(kind, "object")
    if parameter.size is not None:
        type += " | " + type.removeprefix("Sequence[").removesuffix("]")
    type += " | None" if parameter.optional else ""
    default = " = ..." if may_be_left_out else ""
    return f"{_safe(parameter.name)}: {type}{default}"


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def op_stubs(ops: Sequence[OdsOp]) -> str:
    """Return the text of `ops.pyi`."""
    lines = list(HEAD)
    for op in ops:
        parameters = [
            _input(arg, all(later.kind == "optional" for later in op.inputs[i:])) for i, arg in enumerate(op.inputs)
        ]
        named = [_attribute(attr) for attr in op.attrs]
        if any(arg.kind != "tensor" for arg in op.outputs):
            named.append("output_counts: Sequence[int] = ...")
        parameters += ["*", *named] if named else []
        single = len(op.outputs) == 1 and op.outputs[0].kind == "tensor"
        lines.append(
            f"def {_safe(op.name)}({', '.join(parameters)}) -> {'Tensor' if single else 'tuple[Tensor, ...]'}:"
        )
        lines += [f"    {_docstring(op.doc or f'Defined at {op.file}:{op.line}.')}", ""]
    return "\n".join([*lines, *OTHERS])


def _input(arg: OdsArg, may_be_left_out: bool) -> str:
    types = {"tensor": "Tensor", "variadic": "Sequence[Tensor]", "optional": "Tensor | None"}
    return f"{_safe(arg.name)}: {types[arg.kind]}{' = None' if may_be_left_out else ''}"


def _attribute(attr: OdsAttr) -> str:
    is_list = attr.type.startswith("list[")
    element = _ATTRS[attr.type[5:-1] if is_list else attr.type]
    kind = f"Sequence[{element}]" if is_list else element
    return f"{_safe(attr.name)}: {kind}{' | None' if attr.optional else ''} = ..."
