"""The tables are those of the header and of torch."""

import re
from pathlib import Path

import torch

import oneop
from oneop.model.attributes import ATTR_TYPES, BY_RECORD
from oneop.model.dtypes import DTYPES

HEADER = (Path(oneop.__file__).parent / "include/oneop/abi.h").read_text()


def codes(prefix):
    return {name: int(code) for name, code in re.findall(rf"\b{prefix}_(\w+) = (\d+)", HEADER)}


def test_attribute_types_are_those_of_the_header():
    def in_words(name):
        return name.lower().replace("list_", "list of ").replace("complex_double", "complex")

    header = {in_words(name): code for name, code in codes("ONEOP_ATTR").items() if name != "NONE"}  # a value, no type
    assert {kind.name: kind.code for kind in ATTR_TYPES} == header


def test_every_field_tells_types_apart_or_is_shared_on_purpose():
    for field in ("schema", "code", "name", "ods", "cpp"):
        assert len({getattr(kind, field) for kind in ATTR_TYPES}) == len(ATTR_TYPES), field
    assert sum(len(kind.records) for kind in ATTR_TYPES) == len(BY_RECORD)


def test_dtypes_are_those_of_the_header_and_of_torch():
    header = {name.lower(): code for name, code in codes("ONEOP_DTYPE").items() if name not in {"INVALID", "CHAR"}}
    assert {dtype.name: dtype.code for dtype in DTYPES} == header
    for dtype in DTYPES:
        made = torch.ops.aten.empty.memory_format([1], dtype=dtype.number)  # a schema takes torch's number
        assert made.dtype == getattr(torch, dtype.name)
