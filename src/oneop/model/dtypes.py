"""The dtypes: what torch, the plugin ABI, OneFlow and C++ call them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Dtype:
    """A dtype of tensors."""

    name: str  # in torch
    code: int  # ONEOP_DTYPE_* in abi.h
    number: int  # torch's own, in schemas and on its stack
    oneflow: str = ""  # OneFlow's constant, where it has one
    cpp: str = ""  # in kernels of the SDK, where there is one


DTYPES = (
    Dtype(name="float32", code=2, number=6, oneflow="kFloat", cpp="float"),
    Dtype(name="float64", code=3, number=7, oneflow="kDouble", cpp="double"),
    Dtype(name="int8", code=4, number=1, oneflow="kInt8", cpp="int8_t"),
    Dtype(name="int32", code=5, number=3, oneflow="kInt32", cpp="int32_t"),
    Dtype(name="int64", code=6, number=4, oneflow="kInt64", cpp="int64_t"),
    Dtype(name="uint8", code=7, number=0, oneflow="kUInt8", cpp="uint8_t"),
    Dtype(name="float16", code=9, number=5, oneflow="kFloat16", cpp="float16"),
    Dtype(name="bfloat16", code=11, number=15, oneflow="kBFloat16", cpp="bfloat16"),
    Dtype(name="bool", code=12, number=11, oneflow="kBool", cpp="bool"),
    Dtype(name="uint16", code=13, number=27, oneflow="kUInt16", cpp="uint16_t"),
    Dtype(name="uint32", code=14, number=28, oneflow="kUInt32", cpp="uint32_t"),
    Dtype(name="uint64", code=15, number=29, oneflow="kUInt64", cpp="uint64_t"),
    Dtype(name="int16", code=17, number=2, oneflow="kInt16", cpp="int16_t"),
    Dtype(name="complex32", code=19, number=8),
    Dtype(name="complex64", code=20, number=9, oneflow="kComplex64"),
    Dtype(name="complex128", code=21, number=10, oneflow="kComplex128"),
    Dtype(name="float8_e4m3fn", code=32, number=24),
    Dtype(name="float8_e5m2", code=33, number=23),
    Dtype(name="float8_e4m3fnuz", code=34, number=26),
    Dtype(name="float8_e5m2fnuz", code=35, number=25),
)
BY_NAME = {dtype.name: dtype for dtype in DTYPES}
BY_ONEFLOW = {dtype.oneflow: dtype for dtype in DTYPES if dtype.oneflow}
