"""Pieces of C++ sources and of scripts for the host, which the tests of the SDK share."""

import os
import re
import shlex
from pathlib import Path

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "src" / "oneop" / "include"
_ABI = re.findall(r"#define ONEOP_ABI_M(?:AJOR|INOR) (\d+)", (INCLUDE / "oneop/abi.h").read_text())
#: As libraries and hosts say it: "1.7".
ABI = ".".join(_ABI)
CXX = os.environ.get("CXX", "g++")
EXTRA = shlex.split(os.environ.get("ONEOP_TEST_CXXFLAGS", ""))
RUNNER = shlex.split(os.environ.get("ONEOP_TEST_RUNNER", ""))

HEAD = '#include "oneflow/core/framework/framework.h"\nnamespace oneflow {\nnamespace {\n'
TAIL = "\n}  // namespace\n}  // namespace oneflow\n"

DTYPES = {"char": 1, "float": 2, "double": 3, "int8": 4, "int32": 5, "int64": 6, "uint8": 7, "float16": 9, "bool": 12}

# An op whose output is like its input, and a kernel that computes `code` for every element.
SAME = """.SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
  *ctx->Shape4ArgNameAndIndex("out", 0) = *ctx->Shape4ArgNameAndIndex("in", 0);
  *ctx->Dtype4ArgNameAndIndex("out", 0) = *ctx->Dtype4ArgNameAndIndex("in", 0);
  return Maybe<void>::Ok();
})"""


def kernel(op: str, code: str, cls: str = "K") -> str:
    """A float kernel of `op` that runs the statements `code`, which see `in`, `out` and `n`."""
    return f"""
class {cls} final : public user_op::OpKernel {{
  void Compute(user_op::KernelComputeContext* ctx) const override {{
    const user_op::Tensor* in_tensor = ctx->Tensor4ArgNameAndIndex("in", 0);
    user_op::Tensor* out_tensor = ctx->Tensor4ArgNameAndIndex("out", 0);
    const int64_t n = out_tensor->shape().elem_cnt();
    {code}
    (void)in_tensor; (void)out_tensor; (void)n;
  }}
  bool AlwaysComputeWhenAllOutputsEmpty() const override {{ return false; }}
}};
REGISTER_USER_KERNEL("{op}").SetCreateFn<{cls}>().SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCPU);
"""


def unit(*parts: str) -> str:
    """A file: the parts inside namespace oneflow and an unnamed one."""
    return HEAD + "\n".join(parts) + TAIL


def tensor(dtype: str, shape: tuple[int, ...], values: list[float] = ()) -> str:
    """The command for one tensor."""
    return " ".join(map(str, ["t", DTYPES[dtype], *shape, ":", *values]))


def call(op: str, *values: float, shape: tuple[int, ...] | None = None, dtype: str = "float") -> list[str]:
    """The frame of an op with one input `in` and one output `out`."""
    return [f"op {op}", "in in", tensor(dtype, shape if shape is not None else (len(values),), list(values)), "out out"]
