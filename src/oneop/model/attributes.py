"""The types of attributes: what a schema, the plugin ABI, C++, Python and `.td` files call them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class AttrType:
    """A type of attributes."""

    schema: str  # in the text of a schema
    code: int  # ONEOP_ATTR_* in abi.h
    name: str  # in the registry and in messages
    ods: str  # in what .td files give
    cpp: str
    annotation: str  # in the signature of an op
    stub: str  # in a .pyi, where more is accepted than is returned
    records: tuple[str, ...]  # in .td files


ATTR_TYPES = (
    AttrType(
        schema="int32",
        code=1,
        name="int32",
        ods="int32",
        cpp="int32_t",
        annotation="int",
        stub="int",
        records=("I32Attr", "SI32Attr", "OneFlow_MemoryFormat"),
    ),
    AttrType(
        schema="int",
        code=2,
        name="int64",
        ods="int64",
        cpp="int64_t",
        annotation="int",
        stub="int",
        records=("I64Attr", "SI64Attr"),
    ),
    AttrType(
        schema="bool",
        code=3,
        name="bool",
        ods="bool",
        cpp="bool",
        annotation="bool",
        stub="bool",
        records=("BoolAttr",),
    ),
    AttrType(
        schema="float32",
        code=4,
        name="float",
        ods="float",
        cpp="float",
        annotation="float",
        stub="float",
        records=("F32Attr",),
    ),
    AttrType(
        schema="float",
        code=5,
        name="double",
        ods="double",
        cpp="double",
        annotation="float",
        stub="float",
        records=("F64Attr",),
    ),
    AttrType(
        schema="str",
        code=6,
        name="string",
        ods="string",
        cpp="std::string",
        annotation="str",
        stub="str",
        records=("StrAttr", "FlatSymbolRefAttr"),
    ),
    AttrType(
        schema="shape",
        code=7,
        name="shape",
        ods="shape",
        cpp="Shape",
        annotation="tuple[int, ...]",
        stub="Sequence[int]",
        records=("ShapeAttr",),
    ),
    AttrType(
        schema="dtype",
        code=8,
        name="dtype",
        ods="data_type",
        cpp="DataType",
        annotation="torch.dtype",
        stub="torch.dtype",
        records=("OneFlow_DataType",),
    ),
    AttrType(
        schema="int32[]",
        code=9,
        name="list of int32",
        ods="list[int32]",
        cpp="std::vector<int32_t>",
        annotation="list[int]",
        stub="Sequence[int]",
        records=("I32ArrayAttr", "SI32ArrayAttr"),
    ),
    AttrType(
        schema="int[]",
        code=10,
        name="list of int64",
        ods="list[int64]",
        cpp="std::vector<int64_t>",
        annotation="list[int]",
        stub="Sequence[int]",
        records=("I64ArrayAttr", "SI64ArrayAttr"),
    ),
    AttrType(
        schema="float32[]",
        code=11,
        name="list of float",
        ods="list[float]",
        cpp="std::vector<float>",
        annotation="list[float]",
        stub="Sequence[float]",
        records=("F32ArrayAttr",),
    ),
    AttrType(
        schema="float[]",
        code=21,
        name="list of double",
        ods="list[double]",
        cpp="std::vector<double>",
        annotation="list[float]",
        stub="Sequence[float]",
        records=("F64ArrayAttr",),
    ),
    AttrType(
        schema="dtype[]",
        code=12,
        name="list of dtype",
        ods="list[data_type]",
        cpp="std::vector<DataType>",
        annotation="list[torch.dtype]",
        stub="Sequence[torch.dtype]",
        records=("DTArrayAttr",),
    ),
    AttrType(
        schema="shape[]",
        code=13,
        name="list of shape",
        ods="list[shape]",
        cpp="std::vector<Shape>",
        annotation="list[tuple[int, ...]]",
        stub="Sequence[Sequence[int]]",
        records=("ShapeArrayAttr",),
    ),
    AttrType(
        schema="str[]",
        code=14,
        name="list of string",
        ods="list[string]",
        cpp="std::vector<std::string>",
        annotation="list[str]",
        stub="Sequence[str]",
        records=("StrArrayAttr",),
    ),
    AttrType(
        schema="complex",
        code=18,
        name="complex",
        ods="complex",
        cpp="std::complex<double>",
        annotation="complex",
        stub="complex",
        records=("ComplexDoubleAttr",),
    ),
    AttrType(
        schema="bytes",
        code=20,
        name="bytes",
        ods="bytes",
        cpp="std::vector<char>",
        annotation="bytes",
        stub="bytes",
        records=("BytesAttr",),
    ),
    AttrType(
        schema="bool[]",
        code=22,
        name="list of bool",
        ods="list[bool]",
        cpp="std::vector<bool>",
        annotation="list[bool]",
        stub="Sequence[bool]",
        records=("BoolArrayAttr",),
    ),
    AttrType(
        schema="Scalar",
        code=23,
        name="scalar",
        ods="scalar",
        cpp="Scalar",
        annotation="int | float | complex",
        stub="complex",
        records=("ScalarAttr",),
    ),
)
BY_SCHEMA = {kind.schema: kind for kind in ATTR_TYPES}
BY_NAME = {kind.name: kind for kind in ATTR_TYPES}
BY_RECORD = {record: kind for kind in ATTR_TYPES for record in kind.records}
