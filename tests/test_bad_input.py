"""One clear error for arguments of the wrong kind: what was expected, what was found."""

import numpy as np
import pytest
import torch

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError, BuildError, OneopError, OpRuntimeError, RegistrationError
from oneop.registry import isolated

X = np.ones(3, np.float32)
PLACE = tp.Numpy.Placeholder((3,), dtype=oneop.float32)


@pytest.fixture
def op():
    with isolated():
        made = oneop.define("bad_input(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
        made.register_kernel("cpu")(lambda x: x)
        yield made


@oneop.global_function()
def two(x: PLACE, y: PLACE) -> tp.Numpy:
    return x + y


@oneop.global_function()
def later(x: PLACE) -> tp.Callback[tp.Numpy]:
    return x * 2


@oneop.global_function()
def own_generator(x: PLACE) -> tp.Numpy:
    return torch.bernoulli(x * 0.5, generator=torch.Generator())


def source(op, *args, **options):
    return op.register_source(*args, **options)


CASES = {
    "define": (lambda op: oneop.define(3), RegistrationError, "expected the schema of an op, a text such as"),
    "list count": (
        lambda op: oneop.define("b(Tensor[99999999999] x) -> Tensor y"),
        RegistrationError,
        'schema "b(Tensor[99999999999] x) -> Tensor y": "Tensor[99999999999] x" has too many tensors: at most 65536',
    ),
    "infer": (
        lambda op: oneop.define("b(Tensor x) -> Tensor y", infer=3),
        RegistrationError,
        'op "b": infer is a text, one of same_shape, elementwise, broadcast, reduce or axes, found int 3',
    ),
    "sbp": (
        lambda op: oneop.define("b(Tensor x) -> Tensor y", infer="same_shape", sbp=3),
        RegistrationError,
        'op "b": sbp is a signature such as "S(0) -> S(0)" or a list of them, found int 3',
    ),
    "priority beyond 32 bits": (
        lambda op: op.register_kernel("cpu", priority=2**40)(lambda x: x),
        RegistrationError,
        'op "bad_input": expected an int of 32 bits for priority, found int 1099511627776',
    ),
    "priority": (
        lambda op: op.register_kernel("cpu", priority="high")(lambda x: x),
        RegistrationError,
        "expected an int of 32 bits for priority, found str 'high'",
    ),
    "source's priority": (
        lambda op: source(op, "cpu", "y[0] = x[0];", priority=1.5),
        RegistrationError,
        "expected an int of 32 bits for priority, found float 1.5",
    ),
    "source's device": (lambda op: source(op, "zz", "y[0] = x[0];"), RegistrationError, "there is no device str 'zz'"),
    "source's text": (
        lambda op: source(op, "cpu", 3),
        RegistrationError,
        'op "bad_input": text is C++ or CUDA, found int 3',
    ),
    "get_op": (lambda op: oneop.show(3), ArgumentError, "expected the name of an op, found int 3"),
    "load": (
        lambda op: oneop.load(None),
        ArgumentError,
        "load: expected a path or what oneop.build returns, found None",
    ),
    "load with sources": (
        lambda op: oneop.load(3, ["a.cpp"]),
        ArgumentError,
        "load: with sources the name of a library is expected, found int 3",
    ),
    "build's name": (lambda op: oneop.build(3, ["a.cpp"]), BuildError, "library 3: a name is made of letters"),
    "build's sources": (lambda op: oneop.build("a", 3), BuildError, "expected a path or a list of paths, found int 3"),
    "one of the sources": (lambda op: oneop.build("a", ["a.cpp", 3]), BuildError, "found list ['a.cpp', 3]"),
    "inline texts": (
        lambda op: oneop.load_inline("a", 3),
        BuildError,
        "expected a source text or a list of texts, found int 3",
    ),
    "twice": (lambda op: two(X, X, x=X), ArgumentError, 'job "two" takes 2 arguments (x, y); given twice: x'),
    "too many": (lambda op: two(X, X, X), ArgumentError, 'job "two" takes 2 arguments (x, y); found 3'),
    "missing": (lambda op: two(X), ArgumentError, 'job "two" takes 2 arguments (x, y); missing: y'),
    "unknown": (lambda op: two(X, z=X), ArgumentError, 'job "two" takes 2 arguments (x, y); unknown: z'),
    "callback": (lambda op: later(X)(None), ArgumentError, "expected a function to call with the result, found None"),
    "generator": (
        lambda op: own_generator(X),
        ArgumentError,
        'job "own_generator": a plan cannot hold the Generator that ',
    ),
    "learning rate": (
        lambda op: oneop.optimizer.SGD(float("nan")),
        ArgumentError,
        "optimizer: expected a learning-rate scheduler or a finite number, found nan",
    ),
    "example inputs": (
        lambda op: oneop.compile_job(lambda x: x, torch.ones(1)),
        ArgumentError,
        "compile_job: expected example inputs as a tuple of tensors, found Tensor tensor([1.])",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_wrong_arguments(op, case):
    call, error, text = CASES[case]
    with pytest.raises(error) as caught:
        call(op)
    assert text in str(caught.value) and len(str(caught.value).splitlines()) < 12
    assert isinstance(caught.value, OneopError)


def test_an_output_that_no_memory_can_hold():
    with isolated():
        op = oneop.define("bad_input_large(Tensor x) -> Tensor y", differentiable=False)
        op.register_infer(lambda x: [(1 << 45,)])
        op.register_kernel("cpu")(lambda x: x)
        with pytest.raises(
            OpRuntimeError, match='op "bad_input_large", output 0: not enough memory for 140737488355328'
        ):
            op(torch.ones(1))


def test_sources_may_come_from_any_iterable(tmp_path):
    """They are looked at twice, and a generator gives them once."""
    (tmp_path / "empty.cpp").write_text("int nothing;\n")
    assert oneop.build("bad_input_empty", (tmp_path / name for name in ["empty.cpp"])).path.exists()
