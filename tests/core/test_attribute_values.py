"""Attributes: every type arrives, and nothing is bent on the way."""

import numpy as np
import pytest
import torch

from oneop.errors import ArgumentError


def read(out):
    return bytes(out[out != 0].tolist()).decode()


def test_defaults(ops):
    want = "1 1099511627776 1 0.5 0.1 text (2,3) 2 i1 i2 l1099511627776 f0.5 f1.5 t4 t3 (1) (2,2) sa sb c"
    assert read(ops.t_attrs(torch.ones(1))) == want
    assert read(torch.ops.oneop.t_attrs(torch.ones(1))) == want


GIVEN = {
    "i32": -(2**31),
    "i64": -(2**63),
    "b": False,
    "f": 2,
    "d": 1e-3,
    "s": "é",
    "shape": (),
    "dtype": torch.int64,
    "i32s": [],
    "i64s": (7,),
    "fs": [3],
    "dtypes": [torch.bfloat16],
    "shapes": [(4,)],
    "ss": [""],
}


def test_given(ops):
    want = "-2147483648 -9223372036854775808 0 2 0.001 é () 6 l7 f3 t11 (4) s"
    for _ in range(2):
        assert read(ops.t_attrs(torch.ones(1), **GIVEN)) == want


def test_numbers_of_other_kinds(ops):
    x = torch.ones(1)
    assert read(ops.t_attrs(x, i32=np.int64(5), f=np.float32(1.5), d=torch.tensor(2.5))).startswith(
        "5 1099511627776 1 1.5 2.5 "
    )


@pytest.mark.parametrize(
    "name, value, expected, found",
    [
        ("i32", 2**31, "an int of 32 bits", "int 2147483648"),
        ("i32", 1.0, "an int of 32 bits", "float 1.0"),
        ("i64", True, "an int", "bool True"),
        ("i64", 2**63, "an int of 64 bits", "int 9223372036854775808"),
        ("b", 1, "a bool", "int 1"),
        ("f", "1", "a float", "str '1'"),
        ("d", True, "a float", "bool True"),
        ("s", b"x", "a str", "bytes b'x'"),
        ("s", None, "a str", "NoneType None"),
        ("shape", 3, "a shape (tuple or list of ints)", "int 3"),
        ("shape", (1.5,), "a shape (tuple or list of ints)", "tuple (1.5,)"),
        ("dtype", "float32", "a torch.dtype", "str 'float32'"),
        ("dtype", torch.quint8, "a torch.dtype", "dtype torch.quint8"),
        ("i32s", [2**40], "a list of ints of 32 bits", "list [1099511627776]"),
        ("i64s", "12", "a list of ints", "str '12'"),
        ("fs", [None], "a list of floats of 32 bits", "list [None]"),
        ("dtypes", [int], "a list of torch.dtype", "list [<class 'int'>]"),
        ("shapes", [1], "a list of shapes", "list [1]"),
        ("ss", "ab", "a list of str", "str 'ab'"),
        ("i64s", list(range(100)), None, None),
    ],
)
def test_wrong_type(ops, text_of, defined, name, value, expected, found):
    if expected is None:
        ops.t_attrs(torch.ones(1), **{name: value})
        return
    with pytest.raises(ArgumentError) as raised:
        ops.t_attrs(torch.ones(1), **{name: value})
    assert text_of(raised) == (
        f'op "t_attrs", attribute "{name}": expected {expected}, found {found}\n  defined at {defined("t_attrs")}'
    )


def test_long_values_are_cut_in_messages(ops):
    with pytest.raises(ArgumentError, match=r"found list \[0, 1, .{40,60}\.\.\.\n"):
        ops.t_attrs(torch.ones(1), s=list(range(1000)))


def test_missing(ops, text_of, defined):
    with pytest.raises(ArgumentError) as raised:
        ops.t_range()
    assert text_of(raised) == (
        f'op "t_range" needs the attribute "shape", a shape; it has no default\n  defined at {defined("t_range")}'
    )
