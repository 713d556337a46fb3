"""Signatures of functions: `Tensor (Tensor x, Float alpha=0.1, *, Bool inplace=False) => Name`."""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from oneop.model.dtypes import BY_ONEFLOW

#: Types of the grammar, and the names of their codes in abi.h.
TYPES: dict[str, str] = {
    "Void": "VOID",
    "Tensor": "TENSOR",
    "TensorTuple": "TENSOR_TUPLE",
    "Scalar": "SCALAR",
    "Int": "INT32",
    "Int32": "INT32",
    "Int64": "INT64",
    "Float": "FLOAT",
    "Double": "DOUBLE",
    "String": "STRING",
    "Bool": "BOOL",
    "ScalarList": "SCALAR_LIST",
    "IntList": "INT32_LIST",
    "Int32List": "INT32_LIST",
    "Int64List": "INT64_LIST",
    "FloatList": "FLOAT_LIST",
    "DoubleList": "DOUBLE_LIST",
    "StringList": "STRING_LIST",
    "BoolList": "BOOL_LIST",
    "DataType": "DTYPE",
    "DataTypeList": "DTYPE_LIST",
    "Shape": "SHAPE",
    "ShapeList": "SHAPE_LIST",
    "Device": "DEVICE",
    "Generator": "GENERATOR",
    "Layout": "LAYOUT",
    "MemoryFormat": "MEMORY_FORMAT",
}
#: Types of the grammar that have no meaning here, and why.
FOREIGN = {
    "TensorIndex": "indexing is torch's",
    "Placement": "placement is torch's: device meshes of DTensor",
    "Sbp": "sharding is torch's: placements of DTensor",
    "SbpList": "sharding is torch's: placements of DTensor",
    "OpExpr": "an op is not a value in Python",
    "PyObject*": "libraries do not know Python",
}
RETURN_TYPES = (
    "Tensor", "TensorTuple", "Void", "Bool", "Shape", "Int", "Int32", "Int64", "Float", "Double", "String"
)  # fmt: skip
DTYPES = {constant: dtype.name for constant, dtype in BY_ONEFLOW.items()} | {"kInt": "int32"}

#: Constants of the grammar -> torch's numbers.
ENUMS = {
    "Layout": {"kStrided": 0},
    "MemoryFormat": {"kContiguous": 0, "kPreserve": 1, "kChannelsLast": 2, "kChannelsLast3d": 3},
}

#: Names that C++ takes neither for a function nor for a parameter.
CPP_KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl "
    "concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default "
    "delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register "
    "reinterpret_cast requires return short signed sizeof static static_assert static_cast struct switch template this "
    "thread_local throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while xor "
    "xor_eq".split()
)
_RANGES = {"Int": 31, "Int32": 31, "Int64": 63}
_FLOAT32_MAX = 3.4028234663852886e38

#: Elements of a list of fixed size, digits of a number.
LARGEST_SIZE, MOST_DIGITS = 1024, 64

Fail = Callable[[int, str], NoReturn]

_ARG = re.compile(
    r"(?P<type>[A-Za-z_]\w*\*?)\s*(?:\[\s*(?P<size>\d+)\s*\])?\s+(?P<name>[A-Za-z_]\w*)\s*(?:=\s*(?P<default>.*\S)\s*)?"
)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """A parameter. `default` is its text, `value` what it stands for; an optional one takes None."""

    name: str
    type: str
    size: int | None
    default: str | None
    value: object
    optional: bool
    keyword_only: bool


@dataclass(frozen=True, kw_only=True)
class Signature:
    """One way to call a function. `cpp_name` is the functor behind it."""

    text: str
    returns: str
    return_names: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    cpp_name: str

    @property
    def call_text(self) -> str:
        """The signature without the functor's name."""
        return self.text.rpartition("=>")[0].rstrip(" =")


def parse_signature(text: str, fail: Fail) -> Signature:
    """Parse a signature; `fail(offset, message)` raises."""
    if "\n" in text.strip():
        fail(text.index("\n"), "a signature is one line: write it in quotes, not as a block (`|`)")
    text = text.strip()
    arrow = text.rfind("=>")
    if arrow < 0:
        fail(len(text), "expected `=> Name` at the end, the functor behind the function")
    cpp_name = text[arrow + 2 :].strip()
    if not _is_cpp_name(cpp_name):
        fail(arrow + 2, f"expected the name of a functor after =>, found {cpp_name!r}")
    opening = text.find("(")
    closing = text.rfind(")", 0, arrow)
    if opening < 0 or opening > arrow:
        fail(0, "expected ( after the return type")
    if closing < opening:
        fail(arrow, "expected ) before =>")
    if text[closing + 1 : arrow].strip(" ="):
        fail(closing + 1, f"unexpected {text[closing + 1 : arrow].strip()!r}")
    returns, names = _parse_return(text[:opening], fail)
    return Signature(
        text=text,
        returns=returns,
        return_names=names,
        parameters=_parse_parameters(text, opening + 1, closing, fail),
        cpp_name=cpp_name,
    )


def _is_cpp_name(text: str) -> bool:
    return re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) is not None and text not in CPP_KEYWORDS


def _parse_return(text: str, fail: Fail) -> tuple[str, tuple[str, ...]]:
    match = re.fullmatch(r"\s*(\w+)\s*(?:\[([^\]]*)\])?\s*", text)
    if not match:
        fail(0, f"expected a return type, found {text.strip()!r}")
    if match[1] not in RETURN_TYPES:
        fail(match.start(1), f"a function cannot return {match[1]}; it can return {', '.join(RETURN_TYPES)}")
    names = tuple(name.strip() for name in match[2].split(",")) if match[2] is not None else ()
    for name in names:
        if not name.isidentifier() or not name.isascii() or keyword.iskeyword(name) or name.startswith("_"):
            fail(
                match.start(2),
                f"the name of a returned tensor must be a Python identifier that is no keyword and does not begin with "
                f"_, not {name!r}",
            )
    if names and match[1] != "TensorTuple":
        fail(match.start(2) - 1, f"only a TensorTuple has names, not {match[1]}")
    if len(set(names)) != len(names):
        fail(match.start(2), "two returned tensors have one name")
    return match[1], names


def _parse_parameters(text: str, start: int, end: int, fail: Fail) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    keyword_only = False
    if not text[start:end].strip():
        return ()
    for offset, part in _split(text, start, end):
        if part.strip() == "*":
            if keyword_only:
                fail(offset, "a second *")
            keyword_only = True
            continue
        parameter = _parse_parameter(part, offset, keyword_only, fail)
        if any(parameter.name == other.name for other in parameters):
            fail(offset, f"two parameters are named {parameter.name}")
        parameters.append(parameter)  # one without a default may follow one that has: each stands for itself
    return tuple(parameters)


def _split(text: str, start: int, end: int) -> list[tuple[int, str]]:
    """Split at commas outside strings and brackets; each part with its offset, blanks before it left out."""
    parts, depth, begin = [], 0, start
    for match in re.compile(r'"(?:[^"\\]|\\.)*"|[\[({]|[\])}]|,').finditer(text, start, end):
        depth += (match[0] in "[({") - (match[0] in "])}")
        if match[0] == "," and depth == 0:
            parts.append((begin, text[begin : match.start()]))
            begin = match.end()
    parts.append((begin, text[begin:end]))
    return [(offset + len(part) - len(part.lstrip()), part.strip()) for offset, part in parts]


def _parse_parameter(text: str, offset: int, keyword_only: bool, fail: Fail) -> Parameter:
    match = _ARG.fullmatch(text)
    if not match:
        fail(offset, f"expected `Type name` or `Type name=default`, found {text!r}")
    type = match["type"]
    if match["size"] and (len(match["size"]) > 9 or int(match["size"]) > LARGEST_SIZE):
        shown = match["size"] if len(match["size"]) <= 20 else f"{match['size'][:20]}..."
        fail(offset + match.start("size"), f"a list has at most {LARGEST_SIZE} elements, not {shown}")
    size = int(match["size"]) if match["size"] else None
    if type not in TYPES and type not in FOREIGN:
        fail(offset, f"there is no type {type}; there are {', '.join(TYPES)}")
    if type == "Void":
        fail(offset, "a parameter cannot be Void")
    if not _is_cpp_name(match["name"]):
        fail(offset + match.start("name"), f"a parameter cannot be named {match['name']!r}: it becomes a name in C++")
    if size is not None and (not type.endswith("List") or size < 1):
        fail(offset + match.start("size"), f"only lists of numbers have a size, not {type}")
    default = match["default"]
    value = parse_default(default, type, size, lambda m: fail(offset + match.start("default"), m)) if default else None
    return Parameter(
        name=match["name"],
        type=type,
        size=size,
        default=default,
        value=value,
        optional=default == "None",
        keyword_only=keyword_only,
    )


def parse_default(text: str, type: str, size: int | None, fail: Callable[[str], NoReturn]) -> object:
    """Return the value that a default stands for."""
    if text == "None":
        return None
    if type != "String" and re.search(rf"\d{{{MOST_DIGITS}}}", text):
        fail(f"{text[:20]}... has too many digits for a value of type {type}")
    if (type.endswith("List") and type not in ("StringList", "ShapeList", "DataTypeList")) or type == "Shape":
        element = "Int64" if type == "Shape" else type.removesuffix("List")
        inner = re.fullmatch(r"[\[({](.*)[\])}]", text)
        if inner:
            items = tuple(
                parse_default(part.strip(), element, None, fail) for part in inner[1].split(",") if part.strip()
            )
            if size is not None and len(items) != size:
                fail(f"the default has {len(items)} elements, not {size}")
            return items
        if size is None:
            fail(f"the default of a {type} without a size must be a list, not {text}")
        return (parse_default(text, element, None, fail),) * size
    if type == "Bool" and text in ("True", "False"):
        return text == "True"
    if type == "String" and re.fullmatch(r'"(?:[^"\\]|\\.)*"', text):
        try:
            return ast.literal_eval(text)
        except (SyntaxError, ValueError):
            fail(f"{text} is not a string")
    if type == "DataType" and text in DTYPES:
        return DTYPES[text]
    if text in ENUMS.get(type, {}):
        return ENUMS[type][text]
    if type in _RANGES and re.fullmatch(r"[+-]?[0-9]+", text):
        return _checked_int(text, _RANGES[type], type, fail)
    if type in ("Float", "Double") and _NUMBER.fullmatch(text):
        return _checked_float(text, type, fail)
    if type == "Scalar" and text in ("True", "False"):
        return text == "True"
    if type == "Scalar" and re.fullmatch(r"[+-]?[0-9]+", text):
        return _checked_int(text, 63, type, fail)
    if type == "Scalar" and _NUMBER.fullmatch(text):
        return _checked_float(text, "Double", fail)
    fail(f"{text} is not a value of type {type}")


def _checked_int(text: str, bits: int, type: str, fail: Callable[[str], NoReturn]) -> int:
    value = int(text) if len(text) < 30 else 2**64
    if not -(2**bits) <= value < 2**bits:
        fail(f"{text} is out of the range of {type}: {-(2**bits)} to {2**bits - 1}")
    return value


def _checked_float(text: str, type: str, fail: Callable[[str], NoReturn]) -> float:
    value = float(text)
    if math.isinf(value) or (type == "Float" and abs(value) > _FLOAT32_MAX):
        fail(f"{text} is out of the range of {type}")
    return value
