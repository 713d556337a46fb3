"""Eager gradients made of torch's own ops: every mode, every order, and shapes of what their calls return."""

from pathlib import Path

import numpy as np
import pytest
import torch

import oneop
from oneop import typing as tp
from oneop.errors import GradientError

SOURCE = Path(__file__).with_name("torch_steps.cpp")
FLOATS = (torch.float32, torch.float64)


@pytest.fixture(scope="module", autouse=True)
def steps(library):
    """Load the gradients, and define the ops that they are for."""
    oneop.load("fn_torch_steps", [SOURCE])
    define("fn_sine(Tensor x) -> Tensor y", np.sin)
    define("fn_broadcast(Tensor x, Tensor w) -> Tensor y", np.multiply, infer="broadcast")
    define("fn_swap_halves(Tensor x) -> Tensor y", lambda x: np.concatenate(np.split(x, 2)[::-1]))
    columns = oneop.define("fn_columns(Tensor x, Tensor index) -> Tensor y", infer="n m, m -> n m")
    columns.register_kernel("cpu", dtypes={"x": FLOATS, "index": torch.int64})(lambda x, index: x[:, index])
    define("fn_twice(Tensor x) -> Tensor y", lambda x: 2 * x)
    define("fn_wrong_steps(Tensor x, *, int how) -> Tensor y", lambda x: x)


def define(schema, kernel, infer="elementwise"):
    oneop.define(schema, infer=infer).register_kernel("cpu", dtypes=FLOATS)(kernel)


def wide(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).requires_grad_()


INDEX = torch.tensor([2, 0, 1])
CALLS = {
    "fn_sine": (lambda x: oneop.ops.fn_sine(x), lambda x: torch.sin(x), [(3,)]),
    "fn_broadcast": (lambda x, w: oneop.ops.fn_broadcast(x, w), lambda x, w: x * w, [(2, 3), (3,)]),
    "fn_swap_halves": (
        lambda x: oneop.ops.fn_swap_halves(x),
        lambda x: torch.cat(x.chunk(2)[::-1]),
        [(4,)],
    ),
    "fn_columns": (lambda x: oneop.ops.fn_columns(x, INDEX), lambda x: x[:, INDEX], [(2, 3)]),
}


def inputs_of(name):
    return [wide(*shape, seed=i) for i, shape in enumerate(CALLS[name][2])]


@pytest.mark.parametrize("name", CALLS)
def test_first_and_second_order(name):
    inputs = inputs_of(name)
    assert torch.autograd.gradcheck(CALLS[name][0], inputs)
    assert torch.autograd.gradgradcheck(CALLS[name][0], inputs)


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_compiled(name, dynamic):
    call, expected, _ = CALLS[name]
    torch._dynamo.reset()
    compiled = torch.compile(
        lambda *args: call(*args).cos().sum(), backend="aot_eager", fullgraph=True, dynamic=dynamic
    )
    inputs = inputs_of(name)
    found = torch.autograd.grad(compiled(*inputs), inputs)
    torch.testing.assert_close(found, torch.autograd.grad(expected(*inputs).cos().sum(), inputs))


def test_compiled_autograd():
    torch._dynamo.reset()
    x = wide(3)
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager", fullgraph=True)):
        oneop.ops.fn_sine(x).sum().backward()
    torch.testing.assert_close(x.grad, x.detach().cos())


def test_in_a_train_job():
    @oneop.global_function(type="train")
    def job(x: tp.Numpy.Placeholder((2, 3), dtype=torch.float32)) -> tp.Numpy:
        w = oneop.get_variable("fn_steps_w", (3,), initializer=lambda shape, dtype: torch.ones(shape, dtype=dtype))
        loss = oneop.ops.fn_sine(oneop.ops.fn_broadcast(x, w)).sum()
        oneop.optimizer.SGD(oneop.optimizer.PiecewiseConstantScheduler([], [0.5]), momentum=0.0).minimize(loss)
        return loss

    given = np.arange(6, dtype=np.float32).reshape(2, 3)
    x, w = torch.from_numpy(given), torch.ones(3, requires_grad=True)
    for _ in range(3):
        loss = torch.sin(x * w).sum()
        np.testing.assert_allclose(job(given), loss.detach(), rtol=1e-5)
        (grad,) = torch.autograd.grad(loss, w)
        w = (w - 0.5 * grad).detach().requires_grad_()


def test_batched():
    x, w = wide(4, 2, 3).detach(), wide(3, seed=1).detach()
    grad = torch.func.grad(lambda x, w: oneop.ops.fn_broadcast(x, w).cos().sum(), argnums=(0, 1))
    expected = torch.func.grad(lambda x, w: (x * w).cos().sum(), argnums=(0, 1))
    found = torch.func.vmap(grad, in_dims=(0, None))(x, w)
    torch.testing.assert_close(found, torch.func.vmap(expected, in_dims=(0, None))(x, w))


def test_a_graph_is_kept_for_the_shapes_it_looked_at():
    for shapes in [((2, 3), (3,)), ((2, 3), (1,)), ((2, 3), (2, 3)), ((1, 3), (4, 1)), ((2, 3), (3,))]:
        x, w = wide(*shapes[0]), wide(*shapes[1], seed=1)
        oneop.ops.fn_broadcast(x, w).sum().backward()
        grads = x.grad, w.grad
        expected = torch.autograd.grad((x * w).sum(), (x, w))
        torch.testing.assert_close(grads, expected)


def test_the_number_of_outputs_is_that_of_the_call():
    for size in (2, 6, 4):
        x = wide(size)
        oneop.ops.fn_swap_halves(x).dot(torch.arange(size, dtype=torch.float64)).backward()
        expected = torch.arange(size, dtype=torch.float64).view(2, -1).flip(0).flatten()
        assert torch.equal(x.grad, expected)


def test_only_what_is_wanted_is_computed():
    x, w = wide(2, 3), wide(3)
    y = oneop.ops.fn_broadcast(x, w).sum()
    (dw,) = torch.autograd.grad(y, w)
    torch.testing.assert_close(dw, x.detach().sum(0))


def test_shapes_of_what_registered_ops_return():
    for shape in [(2,), (3, 1)]:
        x = torch.ones(shape, requires_grad=True)
        oneop.ops.fn_twice(x).sum().backward()
        assert torch.equal(x.grad, torch.full(shape, 2.0))


def message(how):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(Exception) as caught:
        oneop.ops.fn_wrong_steps(x, how=how).sum().backward()
    return caught


def line():
    text = SOURCE.read_text().splitlines()
    return 1 + next(i for i, one in enumerate(text) if 'REGISTER_OP_EXPR_GRAD_FUNCTION("fn_wrong_steps"' in one)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        (
            1,
            'the gradient of op "fn_wrong_steps" calls "aten::mul.Tensor" with a tensor that exists already, '
            "in argument 1\n  a gradient is made of the op's own tensors and what calls on them return\n"
            "  make the tensor with such a call (aten::full_like), or give it to the op as an input",
        ),
        (
            2,
            'the gradient of op "fn_wrong_steps": "aten::add_.Tensor" changes its arguments, which others may still '
            "need\n  use the op that returns a new tensor, as aten::add in place of aten::add_",
        ),
        (
            3,
            'the gradient of op "fn_wrong_steps": argument "other" of "aten::mul.Tensor": expected Tensor, '
            "found a float\n  it is aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
        ),
        (4, 'the gradient of op "fn_wrong_steps": torch has no op "aten::no_such_op"'),
        (6, 'the gradient of op "fn_wrong_steps": "aten::item" returns something else than tensors'),
        (
            7,
            'the gradient of op "fn_wrong_steps": the shape of what "aten::mul.Tensor" returns cannot be inferred: ',
        ),
        (
            0,
            'the gradient of op "fn_wrong_steps": "aten::mul.Tensor" needs the argument "other"\n'
            "  it is aten::mul.Tensor(Tensor self, Tensor other) -> Tensor",
        ),
    ],
)
def test_what_cannot_be_recorded(how, text):
    caught = message(how)
    assert caught.type is GradientError
    assert str(caught.value).startswith(text)
    assert str(caught.value).endswith(f"\n  at {SOURCE}:{line()}")


def test_a_step_that_fails_says_whose_it_is():
    caught = message(5)
    assert caught.type is RuntimeError
    assert str(caught.value).splitlines()[0] == (
        "The size of tensor a (2) must match the size of tensor b (4) at non-singleton dimension 0 "
        '(in "aten::mul.Tensor", called by the gradient of op "fn_wrong_steps" '
        f"at {SOURCE}:{line()})"
    )
