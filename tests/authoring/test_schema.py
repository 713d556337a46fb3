"""The text of schemas."""

import pytest
import torch

import oneop
from oneop.authoring.parse_schema import parse_schema
from oneop.errors import RegistrationError


def test_every_kind_of_argument():
    schema = parse_schema(
        "f(Tensor x, Tensor? bias=None, Tensor[] rest, Tensor[2] pair, Tensor(a!) acc, *, float alpha=0.01, "
        "int[] dims=[1, 2], str mode='a, b', dtype to=float16, shape size=(2, 3), bool flag=False) "
        "-> (Tensor y, Tensor[3] parts)"
    )
    assert schema.name == "f"
    x, bias, rest, pair, acc = schema.inputs
    assert not x.is_list and bias.is_optional and rest.count_is_minimum and pair.count == 2 and acc.is_mutable
    assert {a.name: a.default for a in schema.attrs} == {
        "alpha": 0.01,
        "dims": [1, 2],
        "mode": "a, b",
        "to": torch.float16,
        "size": (2, 3),
        "flag": False,
    }
    assert [(o.name, o.count) for o in schema.outputs] == [("y", 1), ("parts", 3)]


def test_unnamed_outputs():
    assert [o.name for o in parse_schema("f(Tensor x) -> Tensor").outputs] == ["out"]
    assert [o.name for o in parse_schema("f(Tensor x) -> (Tensor, Tensor)").outputs] == ["out0", "out1"]
    assert parse_schema("f(Tensor(a!) x) -> ()").outputs == ()


@pytest.mark.parametrize(
    "text, problem",
    [
        ("f Tensor x", "expected name(inputs, *, attributes) -> outputs"),
        ("f(int k, Tensor x) -> Tensor", "inputs come first"),
        ("f(Tensor x, *, quaternion q) -> Tensor", "there is no attribute type quaternion"),
        ("f(Tensor x, *, flaot q) -> Tensor", 'there is no attribute type flaot, did you mean "float"?'),
        ("f(Tensr? x) -> Tensor", 'there is no attribute type Tensr, did you mean "Tensor"?'),
        ("f(Tensor x) -> Tensr", 'cannot read "Tensr", did you mean "Tensor"? expected Tensor x'),
        ("f(Tensor x, *, int q=None) -> Tensor", "only an optional attribute may be None; write int? q=None"),
        ("f(Tensor(a!) x) -> Tensor(a!)", "write -> ()"),
        ("f(Tensor(a) x) -> Tensor", "is a view"),
        ("f(Tensor x, *, int q=x+1) -> Tensor", "is no literal of type int"),
        ("f(Tensor<2> x) -> Tensor", "cannot read"),
        ("f(Tensor x, *, int out=1) -> Tensor", "out is what a result without a name is called; give it one"),
        ("f(Tensor out0) -> (Tensor, Tensor)", "out0 is what a result without a name is called; give it one"),
    ],
)
def test_what_cannot_be_read(text, problem):
    with pytest.raises(RegistrationError) as error:
        parse_schema(text)
    assert problem in str(error.value)


def test_every_attribute_type_reaches_the_kernel():
    op = oneop.define(
        "py_attrs(Tensor x, *, int32 a=1, int b=2, bool c=True, float32 d=0.5, float e=0.1, str f='s', shape g=(1, 2), "
        "dtype h=int64, int32[] i=[3], int[] j=[4, 5], float[] k=[1.5], dtype[] l=[], shape[] m=[[1], [2, 3]], "
        "str[] n=['p', 'q'], complex o=1j, bytes q=b'raw') -> Tensor",
        infer="elementwise",
    )
    seen = {}

    @op.register_kernel("cpu")
    def kernel(x, **attrs):
        seen.update(attrs)
        return x

    op(torch.ones(1))
    assert seen == {
        "a": 1, "b": 2, "c": True, "d": 0.5, "e": 0.1, "f": "s", "g": (1, 2), "h": torch.int64, "i": (3,),
        "j": (4, 5), "k": (1.5,), "l": (), "m": ((1,), (2, 3)), "n": ("p", "q"), "o": 1j, "q": b"raw",
    }  # fmt: skip
    op(torch.ones(1), h=torch.float16, l=[torch.int8], m=[(7,)], o=2 + 1j)
    assert (seen["h"], seen["l"], seen["m"], seen["o"]) == (torch.float16, (torch.int8,), ((7,),), 2 + 1j)


def test_numbers_have_the_bits_that_their_type_says():
    op = oneop.define(
        "py_bits(Tensor x, *, float a=0.1, float32 b=0.1, float[] c=[0.1], float32[] d=[0.1], "
        "float[]? e=None) -> Tensor",
        infer="elementwise",
    )
    seen = {}

    @op.register_kernel("cpu")
    def kernel(x, **attrs):
        seen.update(attrs)
        return x

    short = torch.tensor(0.1, dtype=torch.float32).item()
    x = torch.ones(1)
    for values in ({}, {"a": 0.1, "b": 0.1, "c": [0.1], "d": [0.1], "e": [0.1]}):
        for call in (
            op,
            torch.compile(op, backend="aot_eager"),
            lambda x, **v: oneop.compile_job(lambda y: op(y, **v), (x,))(x),
        ):
            seen.clear()
            call(x, **values)
            e = tuple(values["e"]) if values else None
            assert seen == {"a": 0.1, "b": short, "c": (0.1,), "d": (short,), "e": e}
    op(x, c=[2.0**53 + 2, 1e300, -0.0])
    assert seen["c"] == (2.0**53 + 2, 1e300, 0.0)
    with pytest.raises(oneop.errors.ArgumentError, match='attribute "d"'):
        op(x, d=[1e300])


@pytest.mark.parametrize("text", ["inf", "-inf", "inf+0j"])
def test_numbers_that_are_no_literals(text):
    kind = "complex" if "j" in text else "float"
    assert parse_schema(f"f(Tensor x, *, {kind} k={text}) -> Tensor").attrs[0].default == eval(
        text, {"inf": float("inf")}
    )
    if kind == "float":
        assert parse_schema(f"f(Tensor x, *, float[] k=[1.0, {text}]) -> Tensor").attrs[0].default[1] == float(text)


def test_a_number_that_its_digits_make_infinite_is_refused():
    with pytest.raises(RegistrationError, match="1e400 does not fit type float"):
        parse_schema("f(Tensor x, *, float k=1e400) -> Tensor")


def test_a_wrong_default_is_refused():
    with pytest.raises(TypeError, match='attribute "a": expected an int, found str'):
        oneop.define("t_default(Tensor x, *, int a='x') -> Tensor")
