"""Calling functions: arguments, overloads, errors, and what functors can do."""

import numpy as np
import pytest
import torch

import oneop
from oneop.errors import ArgumentError, CheckError, KernelNotFoundError, OpNotFoundError

pytestmark = pytest.mark.usefixtures("library")
X = torch.tensor([-1.0, 2.0])


def test_a_functor_in_cpp():
    assert torch.allclose(oneop._C.fn_leaky(X, 0.5), torch.tensor([-0.5, 2.0]))
    assert torch.allclose(oneop._C.fn_leaky(X, alpha=0.25), torch.tensor([-0.25, 2.0]))
    assert torch.allclose(oneop._C.fn_leaky(x=X), torch.tensor([-0.1, 2.0]))
    assert torch.allclose(oneop._C.fn_leaky(X, np.float32(0.5)), torch.tensor([-0.5, 2.0]))
    assert torch.allclose(oneop._C.fn_leaky(X, torch.tensor(0.5)), torch.tensor([-0.5, 2.0]))
    assert torch.allclose(oneop._C.fn_leaky(X, 2), torch.tensor([-2.0, 2.0]))


def test_repeated_calls_give_the_same():
    for _ in range(5):
        assert torch.allclose(oneop._C.fn_leaky(X, 0.5), torch.tensor([-0.5, 2.0]))


def test_only_bound_functions_are_there():
    assert not hasattr(oneop._C, "fn_leaky_grad")
    assert "fn_leaky" in dir(oneop._C) and "fn_leaky_grad" not in dir(oneop._C)
    with pytest.raises(OpNotFoundError, match="did you mean"):
        oneop._C.fn_laeky(X)


def test_one_derived_from_the_op():
    assert torch.equal(oneop._C.fn_sum([X, X]), 2 * X)
    assert torch.equal(oneop._C.fn_sum([X, X], X), 3 * X)
    assert torch.equal(oneop._C.fn_sum([X, X], weights=[1, 4]), 5 * X)
    assert torch.equal(oneop._C.fn_sum([X], bias=None), X)


def test_overloads_are_tried_in_order():
    assert torch.equal(oneop._C.fn_overloaded(X, 3), torch.tensor([-3.0, 2.0]))
    assert torch.equal(oneop._C.fn_overloaded(X, "same"), X)
    assert torch.equal(oneop._C.fn_overloaded(X, X), 2 * X)
    assert torch.equal(oneop._C.fn_overloaded(X, other=X, twice=True), 4 * X)


def test_every_type():
    text = oneop._C.fn_types()
    assert text == "true|1|2|0.5|0.25|st|3|[7, 7]|[]|[0.5, 0.5]|[]|2|kFloat|()|0|0|none|0"
    text = oneop._C.fn_types(
        False, 3, 4, 1, 2, b"by", 2.5, [1, 2], (5,), [1, 2], ["p", "q"], [True, False], torch.int64, torch.Size([2, 3]),
        [(1,), (2, 3)], [torch.float32], "cpu", [1, 2.5, True],
    )  # fmt: skip
    assert text == "false|3|4|1|2|by|2.5|[1, 2]|[5]|[1, 2]|[p, q]|2|kInt64|(2,3)|2|1|cpu|3"
    assert oneop._C.fn_types(il=9).split("|")[7] == "[9, 9]"


def test_named_tuple_and_packed_arguments():
    pair = oneop._C.fn_pair(X)
    assert torch.equal(pair.first, X) and torch.equal(pair.second, torch.tensor([-0.5, 2.0]))
    assert type(pair).__name__ == "fn_pair" and pair == (pair[0], pair[1])
    assert oneop._C.fn_pack(1, 2, 3) == torch.Size([1, 2, 3]) == oneop._C.fn_pack((1, 2, 3))
    assert oneop._C.fn_pack(4) == torch.Size([4])
    assert oneop._C.fn_shape_of(torch.ones(2, 3)) == torch.Size([2, 3])


def test_torchs_functions_in_a_functor():
    x = X.clone().requires_grad_()
    oneop._C.fn_torch(x, X).sum().backward()
    assert torch.equal(x.grad, X)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda f: f(), "fn_leaky(): missing required argument x"),
        (lambda f: f(...), "fn_leaky(): argument 'x' must be Tensor, not <class 'ellipsis'>"),
        (lambda f: f(X, "a"), "fn_leaky(): argument 'alpha' must be float, not <class 'str'>"),
        (lambda f: f(X, None), "fn_leaky(): argument 'alpha' must be float, not <class 'NoneType'>"),
        (lambda f: f(X, 1.0, 2.0), "fn_leaky(): takes 2 positional arguments but 3 were given"),
        (lambda f: f(X, beta=1.0), "fn_leaky(): got an unexpected keyword argument 'beta'"),
        (lambda f: f(X, 1.0, x=X), "fn_leaky(): got multiple values for argument 'x'"),
    ],
)
def test_wrong_arguments(call, text):
    with pytest.raises(ArgumentError) as caught:
        call(oneop._C.fn_leaky)
    assert str(caught.value).startswith(text)
    assert "Tensor (Tensor x, Float alpha=0.1)" in str(caught.value) and "api.yaml:1" in str(caught.value)
    assert isinstance(caught.value, TypeError)


def test_each_overload_says_why_not():
    with pytest.raises(TypeError) as caught:
        oneop._C.fn_overloaded(X, 1.5)
    lines = str(caught.value).split("\n")
    assert lines[0].startswith(
        "fn_overloaded(): received an invalid combination of arguments. The valid signatures are:"
    )
    assert "*0: Tensor (Tensor x, Int64 n)" in lines[1]
    assert "argument 'n' must be int, not <class 'float'>" in lines[2]
    assert "argument 'other' must be Tensor" in lines[6]
    with pytest.raises(TypeError, match="'twice' is keyword only"):
        oneop._C.fn_overloaded(X, X, True)


def test_errors_of_functors():
    assert oneop._C.fn_fails(0) is None
    with pytest.raises(CheckError, match="how is one"):
        oneop._C.fn_fails(1)
    with pytest.raises(TypeError, match="how is two"):
        oneop._C.fn_fails(2)
    with pytest.raises(RuntimeError, match="how is three"):
        oneop._C.fn_fails(3)
    with pytest.raises(OpNotFoundError, match="no_such_op"):
        oneop._C.fn_fails(4)
    with pytest.raises(KernelNotFoundError, match="fn_leaky"):
        oneop._C.fn_leaky(X.double())


def test_gradients_across_versions_of_the_abi():
    with pytest.raises(RuntimeError) as caught:
        oneop._C.fn_fails(5)
    assert str(caught.value).startswith(
        'function "fn_fails": the gradient of op "fn_leaky" calls torch\'s functions, '
        "which this oneop cannot record (plugin ABI 1.3 can)\n  update oneop\n"
    )
    with pytest.raises(NotImplementedError) as caught:
        oneop._C.fn_fails(6)
    assert str(caught.value) == (
        "aten::cos is called in a gradient of a library that was built with an older oneop\n  rebuild that library"
    )


def test_as_an_object():
    function = oneop._C.fn_overloaded
    assert function.__name__ == "fn_overloaded" and function is oneop._C.fn_overloaded
    assert len(function.signatures) == 3 and repr(function) == "<oneop function fn_overloaded>"
    assert "Tensor (Tensor x, Int64 n)" in function.__doc__


def test_fake_tensors_go_through():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        out = oneop._C.fn_leaky(torch.empty(3, 4), 0.5)
    assert out.shape == (3, 4)


def test_functor_may_keep_a_tensor(library):
    first = torch.arange(4.0)
    assert oneop._C.fn_previous(first).data_ptr() == first.data_ptr()
    address = first.data_ptr()
    del first
    others = [torch.rand(4) for _ in range(8)]  # would take the memory if it were free
    kept = oneop._C.fn_previous(torch.zeros(4))
    assert kept.data_ptr() == address
    assert all(other.data_ptr() != address for other in others)
    assert torch.equal(kept, torch.arange(4.0))


@pytest.mark.filterwarnings("ignore")  # of Inductor's
def test_in_a_compiled_function():
    def f(x):
        return oneop._C.fn_leaky(x * 2, 0.25) + oneop._C.fn_overloaded(x, x, twice=True)

    x = torch.randn(7, requires_grad=True)
    compiled = torch.compile(f, fullgraph=True, backend="aot_eager")
    assert torch.allclose(compiled(x), f(x))
    (expected,) = torch.autograd.grad(f(x).sum(), x)
    (found,) = torch.autograd.grad(compiled(x).sum(), x)
    assert torch.allclose(found, expected)
