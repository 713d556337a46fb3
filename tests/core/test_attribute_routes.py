"""Attributes are taken and refused alike by every route: eager, jobs, traces, fake tensors, subclasses, modes."""

import fractions

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx

import oneop
from oneop.errors import ArgumentError
from oneop.registry import isolated


class Complex:
    def __complex__(self):
        return 1 + 2j


class Both:
    def __float__(self):
        return 1.0

    def __complex__(self):
        return 1 + 2j


class Subclass(torch.Tensor):
    pass


NAN, INF = float("nan"), float("inf")
VALUES = {
    "bool": [True, 3, 1.5, NAN, 10**400, 1j, -0.0, np.bool_(True), "", None],
    "int": [True, torch.float64, 2**63, -(2**63), np.uint64(2**63 + 1), np.float32(0.1), fractions.Fraction(1, 3), 1.0],
    "int32": [True, torch.float64, 2**31, 2**31 - 1],
    "float": [True, 3, np.complex64(1 + 2j), np.complex64(1), 1j, Both(), fractions.Fraction(1, 2), "1"],
    "float32": [1e300, 1e30, True],
    "complex": [np.complex64(1 + 2j), np.clongdouble(1 + 2j), Both(), Complex(), np.array(1 + 2j), True, "1j", 2, 0.5],
    "dtype": [3, 2**31, 2**53 + 1, torch.int8, "int8"],
    "str": [b"", "a", b"\xff", "\ud800", 1],
    "bytes": [b"\xff", "é", "a\0b", 1],
    "shape": [[True, False], (1, 2), "", [1.0], torch.Size([2])],
    "int[]": [[True, False], [np.int64(3)], "ab", range(3)],
    "float[]": [[True, False], [1, 2.5], [np.float32(0.5)], [np.complex64(1j)]],
    "str[]": ["abc", "", b"", ["a"]],
    "shape[]": ["", b"", [(1, 2)], [[True]]],
    "dtype[]": [[torch.float32, torch.int64], [3], "f"],
    "bool[]": [[True, False], [], (True,), [1], [0.0], True, "ab", [np.bool_(True)], range(1), None],
    "Scalar": [2, 2.0, True, 1j, False, 0, 0.0, -0.0, NAN, INF, 2**63 - 1, 2**63, np.int64(3), np.float32(0.5), 0j],
    "Scalar ": [
        np.bool_(True),
        np.complex64(1 + 2j),
        fractions.Fraction(1, 2),
        "1",
        None,
        [1],
        torch.int8,
        Both(),
        b"",
    ],
    "int[2]": [3, [3, 4], (3, 4), [1], [1, 2, 3], [], True, [True, False], "ab", 1.5, [1, 2.0], np.int64(2), range(2)],
    "SymInt[2]": [3, [3, 4], [1]],
    "int32[3]": [5, [1, 2, 3], 2**31, [1, 2, 2**31], [1, 2]],
    "float[2]": [0.5, 1, [0.5, 1], [0.5], True, np.float32(0.5), "ab", 1j],
    "float32[2]": [0.5, 1e300, [0.5, 1e300], [0.5]],
    "bool[2]": [[True, False], [True], True, [True, 1], (False, False)],
    "str[2]": [["a", "b"], "ab", "a", ["a"], ("a", "b")],
    "dtype[2]": [[torch.float32, torch.int8], [torch.int8], torch.int8],
    "shape[2]": [[(1,), (2, 3)], [(1,)], (1, 2)],
}
#: Read as another type in the table is, with other limits.
ALIKE = ["int32", "float32", "Scalar ", "SymInt[2]", "int32[3]", "float32[2]", "dtype[2]", "shape[2]"]
CASES = [(kind, value, kind in ALIKE and i > 1) for kind, values in VALUES.items() for i, value in enumerate(values)]
# With None the quick tests have one value of each type.
CASES += [
    (f"{kind.strip()}?", value, i > 1 or (kind in ALIKE and i > 0))
    for kind, values in VALUES.items()
    for i, value in enumerate([None, *values[:3]])
]
CASES = [
    pytest.param(kind, value, marks=[pytest.mark.slow] * is_slow, id=f"{kind}-{i}")
    for i, (kind, value, is_slow) in enumerate(CASES)
]
ROUTES = {
    "job": lambda op, x, **attrs: oneop.compile_job(lambda x: op(x, **attrs), [x])(x),
    "subclass": lambda op, x, **attrs: op(x.as_subclass(Subclass), **attrs),
    "make_fx": lambda op, x, **attrs: make_fx(lambda x: op(x, **attrs))(x)(x),
    "function mode": lambda op, x, **attrs: in_function_mode(op, x, **attrs),
    "vmap": lambda op, x, **attrs: torch.vmap(lambda x: op(x, **attrs))(x),
}
seen = []


def in_function_mode(op, x, **attrs):
    with torch.device("cpu"):
        return op(x, **attrs)


def define(kind):
    op = oneop.define(f"ar_op(Tensor x, *, {kind.strip()} a) -> Tensor", infer="elementwise")

    @op.register_kernel("cpu")
    def kernel(x, a):
        seen.append(repr(a))
        return x * 1

    return op


def observe(call):
    """What the kernel got last, or what was raised."""
    seen.clear()
    try:
        call()
    except Exception as error:
        return type(error), str(error)
    return seen[-1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind, value", CASES)
def test_every_route_takes_and_refuses_alike(kind, value):
    with isolated():
        op = define(kind)
        x = torch.ones(2)
        eager = observe(lambda: op(x, a=value))
        if not isinstance(eager, str):
            assert eager[0] is ArgumentError and eager[1].startswith('op "ar_op", attribute "a": expected ')
        for name, route in ROUTES.items():
            assert observe(lambda route=route: route(op, x, a=value)) == eager, name
        fake = observe(lambda: op(FakeTensorMode().from_tensor(x), a=value) is None or seen.append(eager))
        assert fake == eager  # no kernel runs: it is taken or refused


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda op, x: op(), 'op "ar_op", input "x": expected exactly 1 tensor, found none'),
        (lambda op, x: op(x, other=1), 'op "ar_op" has no input or attribute "other"'),
        (lambda op, x: op(x), 'op "ar_op" needs the attribute "a", a int64; it has no default'),
        (lambda op, x: op(3, a=1), 'op "ar_op", input "x": expected a torch.Tensor, found int'),
        (lambda op, x: op([x, x], a=1), 'op "ar_op", input "x": expected exactly 1 tensor, found 2'),
        (lambda op, x: op(x, **{"\ud800": 1}), "op \"ar_op\" has no input or attribute '\\ud800'"),
    ],
)
def test_wrong_arguments_are_refused_by_every_route(call, text):
    with isolated():
        op = define("int")
        for x in (torch.ones(2), torch.ones(2).as_subclass(Subclass), FakeTensorMode().from_tensor(torch.ones(2))):
            with pytest.raises(ArgumentError) as error:
                call(op, x)
            assert str(error.value).splitlines()[0] == text
        with pytest.raises(ArgumentError) as error, torch.device("cpu"):
            call(op, torch.ones(2))
        assert str(error.value).splitlines()[0] == text


SIGNS = [complex(a, b) for a in (0.0, -0.0, 1.0, -1.0) for b in (0.0, -0.0, 2.0)]


@pytest.mark.parametrize("value", [*SIGNS, complex(NAN, 1), complex(1, NAN), complex(INF, 1), complex(0, -INF)])
def test_complex_numbers_compiled(value):
    """The text of a program has no negative zeros in complex numbers, so that kernels see none by any route."""
    with isolated():
        op = define("complex")
        x = torch.ones(2)
        eager = observe(lambda: op(x, a=value))
        assert eager == repr(complex(value.real + 0.0, value.imag + 0.0))
        assert observe(lambda: torch.compile(lambda x: op(x, a=value), backend="aot_eager")(x)) == eager
        assert observe(lambda: ROUTES["job"](op, x, a=value)) == eager
        if np.isfinite(value):
            assert observe(lambda: ROUTES["make_fx"](op, x, a=value)) == eager


def test_a_text_that_has_no_bytes():
    with isolated():
        with pytest.raises(ArgumentError) as error:
            define("str")(torch.ones(2), a="a\ud800")
        assert str(error.value).splitlines()[0] == (
            'op "ar_op", attribute "a": expected a str that UTF-8 can encode, found str \'a\\ud800\''
        )


def test_an_unknown_attribute_of_an_op_names_the_nearest():
    with isolated():
        op = define("int")
        with pytest.raises(AttributeError) as error:
            op.register_kernal  # noqa: B018
        assert str(error.value) == 'op "ar_op" has no attribute \'register_kernal\', did you mean "register_kernel"?'
        assert not hasattr(op, "_nothing") and not hasattr(op, "nothing")


@pytest.mark.parametrize("raised", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_while_a_number_is_looked_at(raised):
    class Number:
        def __float__(self):
            return 1.0

        @property
        def imag(self):
            raise raised

    with isolated():
        op = define("float")
        with pytest.raises(raised):
            op(torch.ones(2), a=Number())
