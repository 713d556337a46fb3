"""C++ from op definitions: `op_generated.h`, whose functions authors implement, and the registrations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from oneop._source import cpp_string
from oneop.errors import OdsError
from oneop.ods.flags import FLAGS, Flag
from oneop.ods.ops import OdsArg, OdsAttr, OdsOp

HEADER = "oneflow/core/framework/op_generated.h"
#: Ops in one source: enough to share the cost of the headers, few enough to compile several sources at a time.
OPS_A_SOURCE = 120

_CALLS = {
    ("tensor", "in"): '.Input("{}")',
    ("optional", "in"): '.OptionalInput("{}")',
    ("variadic", "in"): '.InputWithMinimum("{}", 1)',
    ("tensor", "out"): '.Output("{}")',
    ("optional", "out"): '.OptionalOutput("{}")',
    ("variadic", "out"): '.OutputWithMinimum("{}", 1)',
}
_TRAITS = {"CpuOnly": ".SupportCpuOnly()", "NoGrad": ".NoGrad()", "SupportNonContiguous": ".SupportNonContiguous()"}


def generate_cpp(ops: Sequence[OdsOp]) -> dict[str, str]:
    """Return {file: text}. Raises `OdsError` for an op that cannot work."""
    check(ops)
    texts = {HEADER: _header(ops)}
    for start in range(0, len(ops), OPS_A_SOURCE):
        number = f"_{start // OPS_A_SOURCE}" if start else ""
        texts[f"op_generated{number}.cpp"] = _source(ops[start : start + OPS_A_SOURCE])
    return texts


def check(ops: Sequence[OdsOp]) -> None:
    """Raise `OdsError` where names collide between files, or where nothing says what the outputs are."""
    names: dict[str, OdsOp] = {}
    for op in ops:
        for name in {f'op "{op.name}"', f"C++ class {op.cpp_class}"}:
            first = names.setdefault(name, op)
            if first is not op:
                _fail(op, f"{name} is defined already, at {first.file}:{first.line}:{first.column}")
        if op.outputs and not op.inputs and "has_logical_tensor_desc_infer_fn" not in op.flags:
            _fail(
                op, f'op "{op.name}" has no input that its outputs could be like: set has_logical_tensor_desc_infer_fn'
            )
        for flag in op.flags:
            if flag not in FLAGS:
                _fail(op, f'op "{op.name}" has the unknown flag {flag}; known are {", ".join(FLAGS)}')


def _fail(op: OdsOp, message: str) -> None:
    raise OdsError(f"{op.file}:{op.line}:{op.column}: error: {message}", op.file, op.line, op.column)


def _header(ops: Sequence[OdsOp]) -> str:
    complex_header = ['#include "oneflow/core/common/complex.h"'] if any(_has_complex(op) for op in ops) else []
    return "\n".join(
        [
            "// Made from op definitions. What is declared here is to be defined by the author of the op.",
            "#pragma once",
            '#include "oneflow/core/framework/framework.h"',
            *complex_header,
            "",
            "namespace oneflow ONEOP_HIDDEN {",
            "",
            "class NdSbpSignature;",
            "class OperatorConf;",
            "",
            *(line for op in ops for line in _class(op)),
            "}  // namespace oneflow ONEOP_HIDDEN",
            "",
        ]
    )


def _has_complex(op: OdsOp) -> bool:
    return any(attr.type == "complex" for attr in op.attrs)


def _flags(op: OdsOp) -> list[Flag]:
    return [FLAGS[name] for name in op.flags]


def _class(op: OdsOp) -> Iterator[str]:
    yield f"// {op.name}: {op.file}:{op.line}"
    yield f"class {op.cpp_class} {{"
    yield " public:"
    yield f'  static constexpr const char* kOpTypeName = "{op.name}";'
    for flag in _flags(op):
        yield f"  static {flag.declaration()};"
    yield "};"
    yield ""


def _source(ops: Sequence[OdsOp]) -> str:
    lines = [f'#include "{HEADER}"', "", "namespace oneflow {", ""]
    for op in ops:
        lines += _registration(op)
    return "\n".join([*lines, "}  // namespace oneflow", ""])


def _registration(op: OdsOp) -> Iterator[str]:
    # So that messages, the compiler's and ours, name the definition.
    yield f"#line {op.line} {cpp_string(op.file)}"
    for flag in _flags(op):
        # Through a variable: so the linker misses every absent function, not just the first, and also those that the
        # host does not call.
        yield f"static auto* const volatile {_variable(op, flag)} = &{op.cpp_class}::{flag.function};"
    yield f'REGISTER_USER_OP("{op.name}")'
    calls = [_argument(arg, "in") for arg in op.inputs]
    calls += [_argument(arg, "out") for arg in op.outputs]
    calls += [_attribute(attr) for attr in op.attrs]
    calls += [call for trait, call in _TRAITS.items() if op.has_trait(trait)]
    if op.output_buffer_num is not None:
        calls.append(f".SetOutputBufferNum({op.output_buffer_num})")
    calls += [f".{flag.setter}(+{_variable(op, flag)})" for flag in _flags(op)]
    calls += _derived(op)
    if op.doc:
        calls.append(f".OneopDoc({cpp_string(op.doc)})")
    yield "".join(calls) + ";"
    yield ""


def _variable(op: OdsOp, flag: Flag) -> str:
    return f"oneop_{op.cpp_class}_{flag.function}"


def _argument(arg: OdsArg, side: str) -> str:
    return _CALLS[arg.kind, side].format(arg.name)


def _attribute(attr: OdsAttr) -> str:
    default = f", {attr.default}" if attr.default is not None else ""
    kind = f"std::optional<{attr.cpp_type}>" if attr.optional else attr.cpp_type
    return f'.Attr<{kind}>("{attr.name}"{default})'


def _derived(op: OdsOp) -> Iterator[str]:
    """Yield functions for what no flag covers: outputs are like the first input, or like all of them."""
    if "has_logical_tensor_desc_infer_fn" not in op.flags:
        rule = "Unchanged" if op.has_trait("SameOperandsAndResultType") else "OneopLikeFirstInput"
        yield f".SetLogicalTensorDescInferFn(&user_op::TensorDescInferFnUtil::{rule}<user_op::InferContext>)"
    if "has_get_sbp_fn" not in op.flags and op.has_trait("SameOperandsAndResultType"):
        yield ".SetGetSbpFn(&user_op::GetSbpFnUtil::SplitForEachAxis<user_op::SbpContext>)"
