"""Jobs inside other jobs, traces and transforms: part of the trace, or refused."""

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError
from oneop.registry import isolated

X = torch.ones(3)


@pytest.fixture(autouse=True)
def double():
    with isolated():
        op = oneop.define("it_double(Tensor x) -> Tensor", infer="elementwise")
        op.register_kernel("cpu")(lambda x: x * np.float32(2))
        yield op


@pytest.fixture(params=["job", "graph"])
def inner(request, double):
    if request.param == "job":
        return oneop.compile_job(lambda x: double(x) + 1, [X])

    class Inner(oneop.Graph):
        def build(self, x):
            return double(x) + 1

    return Inner()


class Watching(TorchDispatchMode):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("is_used", [False, True])
def test_the_function_is_part_of_the_trace(inner, is_used):
    if is_used:
        inner(X)
    for made in (
        oneop.compile_job(lambda x: inner(x) * 2, [X]),
        make_fx(lambda x: inner(x) * 2)(X),
        make_fx(lambda x: inner(x) * 2, tracing_mode="fake")(X),
        torch.export.export(module(lambda x: inner(x) * 2), (X,), strict=False).module(),
        torch.compile(lambda x: inner(x) * 2, backend="aot_eager"),
    ):
        for factor in (1, 3, 10):
            assert torch.equal(made(X * factor), (X * factor * 2 + 1) * 2)
    with Watching():
        assert torch.equal(inner(X * 5), X * 11)
    fake = inner(FakeTensorMode().from_tensor(X))
    assert tuple(fake.shape) == (3,) and isinstance(fake, FakeTensor)


def module(function):
    class Module(torch.nn.Module):
        def forward(self, x):
            return function(x)

    return Module()


def test_transforms_are_refused(inner):
    inner(X)
    for call in (lambda: torch.vmap(inner)(torch.ones(2, 3)), lambda: torch.func.grad(lambda x: inner(x).sum())(X)):
        with pytest.raises(ArgumentError, match=r"is called inside a transform of torch\.func \(grad, vmap, jvp\)"):
            call()


def test_a_job_on_tensors_by_annotation_is_refused(double):
    @oneop.global_function()
    def job(x: tp.Tensor.Placeholder((3,))) -> tp.Tensor:
        return double(x) + 1

    assert torch.equal(job(X), X * 3)
    with pytest.raises(ArgumentError, match='job "job" is called while torch traces, or on a subclass of Tensor'):
        make_fx(lambda x: job(x) * 2)(X)


def test_a_job_on_arrays_runs_below_modes(double):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return torch.sin(double(x)) + 1

    x = np.ones(3, np.float32)
    expected = np.sin(x * 2) + 1
    for mode in (Watching(), FakeTensorMode()):
        with mode:
            assert np.allclose(job(x), expected) and np.allclose(job(x=x), expected)


@pytest.mark.parametrize("seed", range(8))
def test_random_nestings(double, seed):
    """Jobs of jobs of jobs: each is a sum of products of the others."""
    chance = np.random.default_rng(seed)
    functions = [lambda x: double(x), lambda x: torch.sin(x), lambda x: x]
    plain = [lambda x: x * 2, torch.sin, lambda x: x]
    for _ in range(5):
        a, b = chance.integers(len(functions), size=2)
        factor = float(chance.integers(1, 4))

        def body(x, a=a, b=b, factor=factor, functions=tuple(functions)):
            return functions[a](x) * factor + functions[b](x + 1)

        def expected(x, a=a, b=b, factor=factor, plain=tuple(plain)):
            return plain[a](x) * factor + plain[b](x + 1)

        functions.append(oneop.compile_job(body, [X]))
        plain.append(expected)
    x = torch.randn(3, generator=torch.Generator().manual_seed(seed))
    for made, reference in zip(functions, plain, strict=True):
        assert torch.allclose(made(x), reference(x), rtol=1e-4, atol=1e-4)


def test_inputs_by_name_and_inputs_without_data(double):
    job = oneop.compile_job(lambda x, y: double(x) - y, [X, X])
    assert torch.equal(job(y=X * 3, x=X), -X) and torch.equal(job(X, y=X), X)
    with pytest.raises(ArgumentError, match="missing a required argument: 'y'"):
        job(x=X)
    with pytest.raises(ArgumentError, match="got an unexpected keyword argument 'z'"):
        job(X, X, z=X)
    for value, kind in ((X.to("meta"), "a meta tensor"), (X.to_sparse(), "layout sparse_coo")):
        with pytest.raises(ArgumentError) as error:
            job(X, value)
        assert str(error.value) == f'job "<lambda>", input 1: expected a dense tensor with data, found {kind}'


def test_nothing_is_none(double):
    assert oneop.compile_job(lambda x: None, [X])(X) is None
    assert oneop.compile_job(lambda x: (), [X])(X) == ()


def test_masked_arrays_are_refused():
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((3,))) -> tp.Numpy:
        return x + 1

    with pytest.raises(ArgumentError) as error:
        job(np.ma.masked_array(np.ones(3, np.float32), [True, False, False]))
    assert str(error.value) == (
        'job "job", parameter "x": expected a numpy array without a mask\n  give it x.filled(value)'
    )
