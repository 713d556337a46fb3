"""Kernels from C++ and CUDA texts: the body of `Compute`, with inputs, outputs and attributes in scope by name."""

from __future__ import annotations

import re
from collections.abc import Sequence

import torch

from oneop.authoring.binding import Source
from oneop.authoring.kernels.register import BATCH_INVARIANT, DETERMINISTIC, NONDETERMINISTIC, check_priority
from oneop.authoring.schema import Schema
from oneop.errors import RegistrationError, described
from oneop.model.attributes import BY_SCHEMA
from oneop.model.dtypes import BY_NAME
from oneop.runtime.loader import load_inline

#: C++ types and OneFlow's constants of the dtypes that these kernels take.
_CPP = {
    getattr(torch, name): (BY_NAME[name].cpp, f"DataType::{BY_NAME[name].oneflow}")
    for name in ("float32", "float64", "int8", "int32", "int64", "uint8", "float16", "bfloat16")
}
_CUDA = {torch.float16: "half", torch.bfloat16: "nv_bfloat16"}  # where its types have other names


def register_text(
    schema: Schema,
    text: str,
    *,
    device: str,
    dtypes: Sequence[torch.dtype],
    priority: int,
    header: str,
    flags: int,
    source: Source,
) -> None:
    """Build and load a library with one kernel for each dtype. Raises `BuildError` with the compiler's words."""
    check_priority(schema.name, priority, source)
    if device not in ("cpu", "cuda"):
        raise RegistrationError(
            f'op "{schema.name}": there is no device {described(device)}\n  expected cpu or cuda\n  at {source}'
        )
    for what, value in (("text", text), ("header", header)):
        if not isinstance(value, str):
            raise RegistrationError(
                f'op "{schema.name}": {what} is C++ or CUDA, found {described(value)}\n  at {source}'
            )
    unknown = [dtype for dtype in dtypes if dtype not in _CPP]
    if unknown or any(arg.is_list for arg in (*schema.inputs, *schema.outputs)):
        problem = f"dtype {unknown[0]}" if unknown else "a list of tensors"
        raise RegistrationError(
            f'op "{schema.name}": a source kernel cannot have {problem}\n'
            f"  write the kernel's class and load it: oneop.load_inline\n  at {source}"
        )
    unit = _unit(schema, text, device, dtypes, priority, header, _setters(flags), source)
    name = re.sub(r"\W", "_", f"{schema.name}_{device}_{source.line}")
    load_inline(name, **{"cuda_sources" if device == "cuda" else "cpp_sources": unit})


def _setters(flags: int) -> str:
    """Return the calls of the SDK that declare what the flags say."""
    setters = {DETERMINISTIC: "SetDeterministic()", NONDETERMINISTIC: "SetDeterministic(false)"}
    setters[BATCH_INVARIANT] = "SetBatchInvariant()"
    return "".join(f".{setter}" for flag, setter in setters.items() if flags & flag)


def _unit(
    schema: Schema,
    text: str,
    device: str,
    dtypes: Sequence[torch.dtype],
    priority: int,
    header: str,
    setters: str,
    source: Source,
) -> str:
    """Return the C++ source that has an author's text as the body of a kernel for each dtype."""
    first = (*schema.inputs, *schema.outputs)[0].name
    place = f'#line {source.line + 1} "{source.file}"'
    tag = "kCUDA" if device == "cuda" else "kCPU"
    registrations = "\n".join(
        f'REGISTER_USER_KERNEL("{schema.name}").SetCreateFn<SourceKernel<{_cpp_type(dtype, device)}>>()\n'
        f"    .SetIsMatchedHob((user_op::HobDeviceType() == DeviceType::{tag}) &&\n"
        f'                     (user_op::HobDataType("{first}", 0) == {_CPP[dtype][1]}))\n'
        f"    .SetPriority({priority}){setters};"
        for dtype in dtypes
    )
    nl = "\n    "
    return f"""#include <algorithm>
#include <cmath>
{_includes(schema, device)}

{header}

namespace oneflow {{
namespace {{

template <typename T>
class SourceKernel final : public user_op::OpKernel {{
 public:
  void Compute(user_op::KernelComputeContext* ctx) const override {{
    {nl.join(_names_for_text(schema, device))}
{place}
{text}
  }}
  bool AlwaysComputeWhenAllOutputsEmpty() const override {{ return false; }}
}};

#line 1 "kernels of {schema.name}"
{registrations}

}}  // namespace
}}  // namespace oneflow
"""


def _names_for_text(schema: Schema, device: str) -> list[str]:
    """Return the declarations that an author's text finds: tensors and attributes by name, `n`, `stream`."""
    lines = []
    for arg in schema.inputs:
        absent = f'ctx->has_input("{arg.name}", 0) ? ' if arg.is_optional else ""
        tensor = f'ctx->Tensor4ArgNameAndIndex("{arg.name}", 0)'
        access = "mut_dptr<T>()" if arg.is_mutable else "dptr<T>()"
        kind = "T*" if arg.is_mutable else "const T*"
        lines.append(
            f"[[maybe_unused]] {kind} {arg.name} = {absent}{tensor}->{access}{' : nullptr' if absent else ''};"
        )
    for arg in schema.outputs:
        lines.append(f'[[maybe_unused]] auto* {arg.name}_tensor = ctx->Tensor4ArgNameAndIndex("{arg.name}", 0);')
        lines.append(f"[[maybe_unused]] T* {arg.name} = {arg.name}_tensor->mut_dptr<T>();")
    counted = (schema.outputs or schema.inputs)[0].name
    lines.append(
        f'[[maybe_unused]] const int64_t n = ctx->Tensor4ArgNameAndIndex("{counted}", 0)->shape_view().elem_cnt();'
    )
    for attr in schema.attrs:
        kind = f"std::optional<{BY_SCHEMA[attr.type].cpp}>" if attr.is_optional else BY_SCHEMA[attr.type].cpp
        lines.append(f'[[maybe_unused]] const auto& {attr.name} = ctx->Attr<{kind}>("{attr.name}");')
    if device == "cuda":
        lines.append("[[maybe_unused]] const cudaStream_t stream = ctx->device_ctx()->cuda_stream();")
    return lines


def _includes(schema: Schema, device: str) -> str:
    includes = '#include "oneflow/core/framework/framework.h"'
    if any(attr.type == "complex" for attr in schema.attrs):
        includes += '\n#include "oneflow/core/common/complex.h"'
    if any(attr.type == "Scalar" for attr in schema.attrs):
        includes += '\n#include "oneflow/core/common/scalar.h"'
    if device == "cuda":
        includes += (
            '\n#include "oneflow/core/cuda/elementwise.cuh"\n#include "oneflow/core/cuda/reduce.cuh"'
            '\n#include "oneflow/core/device/cuda_util.h"'
        )
    return includes


def _cpp_type(dtype: torch.dtype, device: str) -> str:
    return _CUDA.get(dtype, _CPP[dtype][0]) if device == "cuda" else _CPP[dtype][0]
