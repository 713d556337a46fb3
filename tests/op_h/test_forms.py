"""bool[], lists of a fixed length and scalars in schemas of oneop/op.h: values, defaults, gradients, mistakes."""

import itertools
from pathlib import Path

import pytest
import torch

import oneop
from oneop.errors import ArgumentError, LoadError, OneopError
from oneop.registry import get_op, isolated


@pytest.fixture(scope="module")
def forms():
    return oneop.load("op_h_forms", [Path(__file__).parent / "forms.cpp"])


def mark(k):
    kind = {bool: 0.125, int: 0.25, float: 0.5, complex: 0.75}[type(k)]
    return complex(k).real * 8 + kind


def called(op, factor, *args, **attrs):
    """By every route the result and the gradient are the same multiple of the input."""
    torch._dynamo.reset()
    x = torch.tensor([1.0, -2.0], requires_grad=True)
    y = op(x, *args, **attrs)
    y.sum().backward()
    assert y.tolist() == [factor, -2 * factor] and x.grad.tolist() == [factor, factor]
    plain = x.detach()
    for program in (
        torch.compile(lambda x: op(x, *args, **attrs), backend="aot_eager", fullgraph=True),
        oneop.compile_job(lambda x: op(x, *args, **attrs), [plain]),
        torch.vmap(lambda x: op(x, *args, **attrs)),
    ):
        assert program(plain).tolist() == [factor, -2 * factor]


def test_lists_of_bools(forms):
    for on, more in itertools.product(
        [[], [True], [False, True], (True, True, False, True)], [None, [], [False, True]]
    ):
        factor = sum(2.0**i for i, flag in enumerate(on) if flag)
        factor += 0 if more is None else 100 + sum(1000 * 2.0**i for i, flag in enumerate(more) if flag)
        called(forms.oh_bools, factor, on=on, more=more)


@pytest.mark.parametrize(
    "args, attrs, factor",
    [
        ((), {}, 1 + 10 + 50 + 500 + 3e4 + 1e5 + 2e6),
        ((3,), {}, 3 + 30 + 50 + 500 + 3e4 + 1e5 + 2e6),
        (([3, 4],), {"f": 2}, 3 + 40 + 200 + 2000 + 3e4 + 1e5 + 2e6),
        ((), {"f": [1, 2.0], "b": [False, True]}, 11 + 100 + 2000 + 2e4 + 1e5 + 2e6),
        ((), {"s": ["", "a"], "o": 1}, 11 + 550 + 3e4 + 1e6 + 1.5e7),
    ],
)
def test_lists_of_a_fixed_length(forms, args, attrs, factor):
    called(forms.oh_pairs, factor, *args, **attrs)


def test_lists_of_another_length_are_refused(forms):
    x = torch.ones(1)
    texts = {
        "k": ([1, 2, 3], "expected a list of ints of length 2, or one int for all, found list [1, 2, 3] of length 3"),
        "f": ([0.5], "expected a list of floats of length 2, or one float for all, found list [0.5] of length 1"),
        "b": (True, "expected a list of bools of length 2, found bool True"),
        "s": ("ab", "expected a list of str of length 2, found str 'ab'"),
    }
    for name, (value, text) in texts.items():
        for call in (forms.oh_pairs, torch.compile(lambda x, **attrs: forms.oh_pairs(x, **attrs), backend="aot_eager")):
            with pytest.raises(ArgumentError) as error:
                call(x, **{name: value})
            assert str(error.value).splitlines()[0] == f'op "oh_pairs", attribute "{name}": {text}'
    with pytest.raises(ArgumentError, match=r"one int for all or None, found list \[1\] of length 1"):
        forms.oh_pairs(x, o=[1])
    with pytest.raises(Exception, match=r'"k": expected a list of ints of length 2.* found \[1, 2, 3\] of length 3'):
        torch.ops.oneop.oh_pairs(x, k=[1, 2, 3])
    assert torch.equal(torch.ops.oneop.oh_pairs(x, k=3), forms.oh_pairs(x, [3, 3]))


SCALARS = [2, 2.0, True, False, 0, 0.0, -1, -1.5, 2 + 0j, 1j]


def test_scalars_keep_their_kind(forms):
    for k, j in zip(SCALARS, itertools.cycle([*SCALARS[:3], None]), strict=False):
        called(forms.oh_scalar, mark(k) + (0 if j is None else 100 * mark(j)), k, j=j)
    called(forms.oh_scalar, mark(2) + 100 * mark(1.0))
    x = torch.ones(1)
    assert [forms.oh_asked_scalar(x, k=k).item() for k in SCALARS] == [mark(k) for k in SCALARS]
    assert [str(attr) for attr in get_op("oh_scalar").attrs] == ["k: scalar = 2", "j: scalar or None = 1.0"]
    assert [str(attr) for attr in get_op("oh_pairs").attrs][:2] == [
        "k: list of int64 of length 2 = [1, 1]",
        "f: list of double of length 2 = [0.5, 0.5]",
    ]


def test_a_gradient_that_gives_numbers_as_scalars(forms):
    x = torch.ones(1, requires_grad=True)
    forms.oh_literals(x).backward()
    factor = (mark(3) + 100 * mark(2.0)) * mark(True) * (mark(2) + 100 * mark(2.0))
    assert x.grad.item() == pytest.approx(factor, rel=1e-6)


def test_a_gradient_that_gives_a_list_of_another_length(forms):
    x = torch.ones(1, requires_grad=True)
    forms.oh_listed(x, k=[1, 1]).backward()
    assert x.grad.item() == forms.oh_pairs(torch.ones(1)).item()
    with pytest.raises(OneopError, match='"k": expected list of int64 of length 2, found one of length 3'):
        forms.oh_listed(x, k=[1, 2, 3]).backward()


MISTAKES = {
    'OP("oh_wrong(Tensor x, *, int[0] k) -> Tensor y")': "a list of a fixed length has 1 to 65536 items",
    'OP("oh_wrong(Tensor x, *, int[2][2] k) -> Tensor y")': "expected a type and a name",
    'OP("oh_wrong(Tensor x, *, complex[2] k) -> Tensor y")': "there is no such type of attributes",
    'OP("oh_wrong(Tensor x, *, int[2] k=[1]) -> Tensor y")': "of length 2, its default has the length 1",
    'OP("oh_wrong(Tensor x, *, str[2] k=\\"a\\") -> Tensor y")': "is no literal of type str[]",
    'OP("oh_wrong(Tensor x, *, bool[] k=True) -> Tensor y")': "is no literal of type bool[]",
    'OP("oh_wrong(Tensor x, *, Scalar k=a) -> Tensor y")': "a is no literal of type Scalar",
    'OP("oh_wrong(Tensor x, *, Scalar k=9223372036854775808) -> Tensor y")': "does not fit type Scalar",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_schemas(text):
    source = f'#include "oneop/op.h"\n{text}.same_shape();\n'
    with isolated(), pytest.raises((LoadError, OneopError)) as error:
        oneop.load_inline("oh_wrong", source)
    assert MISTAKES[text] in str(error.value)
