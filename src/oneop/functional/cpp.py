"""C++ from function descriptions: declarations of `functional::Name`, and the table that the host reads."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from oneop._source import SourceText, cpp_string
from oneop.errors import FunctionalError
from oneop.functional.description import Function
from oneop.functional.masking import masked_signatures
from oneop.functional.served import served
from oneop.functional.signature import TYPES, Parameter, Signature
from oneop.model.dtypes import BY_NAME

HEADER = "oneflow/core/functional/functional_api.yaml.h"
SOURCE = "functional_generated.cpp"

#: Type of the grammar -> C++ type.
CPP_TYPES = {
    "Tensor": "std::shared_ptr<Tensor>",
    "TensorTuple": "TensorTuple",
    "Scalar": "Scalar",
    "Int": "int32_t",
    "Int32": "int32_t",
    "Int64": "int64_t",
    "Float": "float",
    "Double": "double",
    "String": "std::string",
    "Bool": "bool",
    "ScalarList": "std::vector<Scalar>",
    "IntList": "std::vector<int32_t>",
    "Int32List": "std::vector<int32_t>",
    "Int64List": "std::vector<int64_t>",
    "FloatList": "std::vector<float>",
    "DoubleList": "std::vector<double>",
    "StringList": "std::vector<std::string>",
    "BoolList": "std::vector<bool>",
    "DataType": "Symbol<DType>",
    "DataTypeList": "std::vector<Symbol<DType>>",
    "Shape": "Shape",
    "ShapeList": "std::vector<Shape>",
    "Device": "Symbol<Device>",
    "Generator": "std::shared_ptr<Generator>",
    "Layout": "int32_t",
    "MemoryFormat": "int32_t",
}
#: The same for types without a value here; sources from inside OneFlow name functions of them in branches for tensors
#: over several devices.
FOREIGN_CPP_TYPES = {
    "TensorIndex": "TensorIndex",
    "Placement": "Symbol<ParallelDesc>",
    "Sbp": "Symbol<SbpParallel>",
    "SbpList": "std::vector<Symbol<SbpParallel>>",
}
_BY_VALUE = frozenset(["int32_t", "int64_t", "float", "double", "bool"])


def generate_functions(functions: Sequence[Function]) -> dict[str, str]:
    """Return {file: text}; warns about signatures that are masked or left out.

    Raises `FunctionalError` if two files have one function.
    """
    _check(functions)
    functions, left_out = served(functions)
    for function in functions:
        for first, second in masked_signatures(function):
            warnings.warn(
                f"{function.file}:{function.line}: function {function.name}: `{second.text}` is never called, "
                f"because `{first.text}` comes first and takes the same arguments",
                stacklevel=4,
            )
    return {HEADER: _header(functions, left_out), SOURCE: _source(functions)}


def _check(functions: Sequence[Function]) -> None:
    names: dict[str, Function] = {}
    for function in functions:
        first = names.setdefault(function.name, function)
        if first is not function:
            _fail(function, f'function "{function.name}" is there already, at {first.file}:{first.line}')


def _fail(function: Function, message: str) -> None:
    source = SourceText(Path(function.file), Path(function.file).read_text(encoding="utf-8"))
    place = source.offset_of(function.line, function.column)
    raise FunctionalError(source.point_at(place, message), function.file, function.line, function.column)


def _comment(text: str) -> str:
    return text.encode("ascii", "replace").decode().replace("\\", "/").replace("\n", " ")


# --- declarations ---


def _cpp_type(parameter: Parameter) -> str:
    cpp_type = CPP_TYPES.get(parameter.type) or FOREIGN_CPP_TYPES[parameter.type]
    if not parameter.optional:
        return cpp_type
    held = parameter.type if parameter.type in ("Tensor", "Generator") else cpp_type
    return f"Optional<{held}>"


def _declared(parameter: Parameter) -> str:
    cpp_type = _cpp_type(parameter)
    return f"{cpp_type} {parameter.name}" if cpp_type in _BY_VALUE else f"const {cpp_type}& {parameter.name}"


def _header(functions: Sequence[Function], left_out: Sequence[tuple[Signature, str]]) -> str:
    lines = [
        "// Made from descriptions of functions.",
        "#pragma once",
        '#include "oneflow/core/functional/functional.h"',
        "",
        "namespace oneflow ONEOP_HIDDEN {",
        "namespace one {",
        "namespace functional {",
        "",
    ]
    seen: set[tuple[str, ...]] = set()
    for function in functions:
        for signature in function.signatures:
            key = (signature.cpp_name, *(_cpp_type(parameter) for parameter in signature.parameters))
            if key not in seen:
                seen.add(key)
                lines += _wrapper(signature)
    lines.append("#if defined(ONEOP_PORT)")
    for signature, reason in left_out:
        if {parameter.type for parameter in signature.parameters} <= {*CPP_TYPES, *FOREIGN_CPP_TYPES}:
            lines += _refusal(signature, reason)
    lines += ["#endif", ""]
    return "\n".join([*lines, "}  // namespace functional", "}  // namespace one", "}  // namespace oneflow", ""])


def _wrapper(signature: Signature) -> Iterator[str]:
    returns = signature.returns
    result = {"Void": "void", "Tensor": "Tensor"}.get(returns) or CPP_TYPES[returns]
    held = {"Void": "bool"}.get(returns) or CPP_TYPES[returns]
    arguments = "".join(f", {parameter.name}" for parameter in signature.parameters)
    call = f'::oneop::sdk::CallFunction<{held}>("{signature.cpp_name}"{arguments})'
    parameters = ", ".join(_declared(parameter) for parameter in signature.parameters)
    yield f"// {_comment(signature.text)}"
    yield f"inline Maybe<{result}> {signature.cpp_name}({parameters}) {{"
    yield "  try {"
    yield f"    {call};\n    return Maybe<void>::Ok();" if returns == "Void" else f"    return {call};"
    yield "  } catch (const Exception& exception) {"
    yield "    return exception.error();"
    yield "  }"
    yield "}"
    yield ""


def _refusal(signature: Signature, reason: str) -> Iterator[str]:
    """Give a function that returns an error: no value of one of its parameters can be made."""
    result = {"Void": "void", "Tensor": "Tensor"}.get(signature.returns) or CPP_TYPES[signature.returns]
    parameters = ", ".join(_declared(parameter).rpartition(" ")[0] for parameter in signature.parameters)
    yield f"inline Maybe<{result}> {signature.cpp_name}({parameters}) {{"
    yield "  return Error(ONEOP_ERROR_NOT_IMPLEMENTED, nullptr, 0,"
    yield f"               {cpp_string(f'functional::{signature.cpp_name} is not served: {reason}')});"
    yield "}"
    yield ""


# --- the table ---


def _source(functions: Sequence[Function]) -> str:
    lines = [
        f'#include "{HEADER}"',
        '#include "oneop/sdk/function_table.h"',
        "",
        "namespace {",
        "",
    ]
    entries: list[str] = []
    for function in functions:
        for signature in function.signatures:
            number = len(entries)
            lines += _arguments(signature, number)
            entries.append(_entry(function, signature, number))
    lines += ["::oneop::sdk::FunctionEntry entries[] = {", *entries, "};", ""] if entries else []
    lines += [
        "const bool linked __attribute__((used)) = [] {",
        "  ::oneop::sdk::library.link_functions = [] {",
        f"    ::oneop::sdk::LinkFunctions(entries, {len(entries)});" if entries else "",
        "  };",
        "  return true;",
        "}();",
        "",
        "}  // namespace",
        "",
    ]
    return "\n".join(lines)


def _arguments(signature: Signature, number: int) -> Iterator[str]:
    names = []
    for i, parameter in enumerate(signature.parameters):
        flags = ["ONEOP_ARG_KEYWORD_ONLY"] * parameter.keyword_only
        flags += ["ONEOP_ARG_OPTIONAL"] * parameter.optional
        flags += ["ONEOP_ARG_HAS_DEFAULT"] * (parameter.default is not None)
        name = f"arg_{number}_{i}"
        prepared, value = _value(parameter, f"{name}_default")
        yield from prepared
        yield (
            f"const oneop_function_arg {name} = {{sizeof(oneop_function_arg), {' | '.join(flags) or '0'}, "
            f'ONEOP_TYPE_{TYPES[parameter.type]}, {parameter.size or 0}, "{parameter.name}", {value}}};'
        )
        names.append(f"&{name}")
    yield f"const oneop_function_arg* const args_{number}[] = {{{', '.join([*names, 'nullptr'])}}};"
    returned = ", ".join([*(cpp_string(name) for name in signature.return_names), "nullptr"])
    yield f"const char* const returns_{number}[] = {{{returned}}};"


def _entry(function: Function, signature: Signature, number: int) -> str:
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", signature.cpp_name).lower()
    fields = [
        "sizeof(oneop_function_def)",
        str(function.line),
        cpp_string(function.file),
        cpp_string(function.name),
        cpp_string(signature.cpp_name),
        cpp_string(signature.call_text),
        str(int(function.bind_python)),
        f"ONEOP_TYPE_{TYPES[signature.returns]}",
        str(len(signature.parameters)),
        str(len(signature.return_names)),
        f"args_{number}",
        f"returns_{number}",
        "nullptr",
        "nullptr",
        cpp_string(function.doc),
    ]
    return f"    {{{{{', '.join(fields)}}}, {{{cpp_string(function.name)}, {cpp_string(snake)}}}}},"


def _value(parameter: Parameter, name: str) -> tuple[list[str], str]:
    """Return the lines that a default needs before it, and its initialiser."""
    value, type = parameter.value, parameter.type
    if value is None:
        return [], "{ONEOP_VALUE_NONE, 0, {0}}"
    if isinstance(value, tuple):
        floats = type in ("FloatList", "DoubleList")
        items = ", ".join([*(repr(float(item)) if floats else str(int(item)) for item in value), "0"])
        line = f"const {'double' if floats else 'int64_t'} {name}[] = {{{items}}};"
        kind = "FLOATS" if floats else "INTS"
        if type == "ScalarList":
            scalars = [_value_of(item) for item in value]
            line, kind = f"const oneop_value {name}[] = {{{', '.join([*scalars, '{}'])}}};", "SCALARS"
        return [line, *_list_value(name, kind, len(value))], f"{name}_value()"
    if type == "String":
        lines = [f"const char {name}[] = {cpp_string(str(value))};"]
        return [*lines, *_list_value(name, "STRING", len(str(value).encode()))], f"{name}_value()"
    if type == "DataType":
        return [], f"{{ONEOP_VALUE_DTYPE, 0, {{{BY_NAME[str(value)].code}}}}}"
    if isinstance(value, float):
        made = f"oneop_value v{{}}; v.kind = ONEOP_VALUE_FLOAT; v.value.f = {value!r}; return v;"
        return [f"oneop_value {name}_value() {{ {made} }}"], f"{name}_value()"
    return [], _value_of(value)


def _value_of(value: object) -> str:
    assert isinstance(value, (bool, int, float))
    if isinstance(value, float):
        return f"::oneflow::Scalar({value!r}).OneopValue()"
    return f"{{ONEOP_VALUE_{'BOOL' if isinstance(value, bool) else 'INT'}, 0, {{{int(value)}}}}}"


def _list_value(name: str, kind: str, count: int) -> list[str]:
    return [
        f"oneop_value {name}_value() {{ oneop_value v{{}}; v.kind = ONEOP_VALUE_{kind}; "
        f"v.value.list = {{{name}, {count}}}; return v; }}"
    ]
