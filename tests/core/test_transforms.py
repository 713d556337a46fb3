"""torch.func, forward mode, hooks into dispatch: what works and what must raise rather than give zeros."""

import copy
import pickle
from typing import ClassVar

import pytest
import torch
import torch.autograd.forward_ad as fwad
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap
from torch.overrides import TorchFunctionMode
from torch.testing import assert_close
from torch.utils._python_dispatch import TorchDispatchMode

import oneop
from oneop.errors import GradientNotFoundError, OpNotImplementedError
from oneop.registry import isolated

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # by torch's forward mode itself
SLOW_VMAP = pytest.mark.filterwarnings("ignore:There is a performance drop")


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def test_func_grad(ops):
    x = double(4)
    assert_close(grad(lambda t: ops.t_multiply(t, t).sum())(x), 2 * x)
    assert_close(grad(lambda t: grad(lambda u: ops.t_multiply(ops.t_multiply(u, u), u).sum())(t).sum())(x), 6 * x)


def test_func_grad_of_missing_gradients_raises(ops):
    with pytest.raises(GradientNotFoundError, match='op "t_copy" has no gradient'):
        grad(lambda t: ops.t_copy(t).sum())(torch.ones(3))
    x = torch.rand(3)
    assert_close(grad(lambda t: ops.t_square(t).sum())(x), 2 * x)
    with pytest.raises(GradientNotFoundError, match='op "t_square_grad" has no gradient'):
        grad(lambda t: grad(lambda u: ops.t_square(u).sum())(t).sum())(x)


def test_vjp(ops):
    x, v = double(4), double(4)
    _, pull = vjp(ops.t_relu, x)
    assert_close(pull(v)[0], torch.where(x > 0, v, 0.5 * v))


@SLOW_VMAP
def test_jacrev(ops):
    x = double(3)
    assert_close(jacrev(lambda t: ops.t_multiply(t, t))(x), torch.diag(2 * x))


@SLOW_VMAP
def test_vmap(ops):
    x = double(5, 3)
    assert_close(vmap(ops.t_relu)(x), torch.where(x > 0, x, 0.5 * x))
    assert_close(vmap(ops.t_multiply, in_dims=(0, None))(x, x[0]), x * x[0])
    assert_close(vmap(ops.t_relu, in_dims=1, out_dims=1)(x), torch.where(x > 0, x, 0.5 * x))
    assert_close(vmap(grad(lambda t: ops.t_multiply(t, t).sum()))(x), 2 * x)
    assert_close(vmap(lambda a, b: ops.t_add_n([a, b]))(x, x), 2 * x)


@SLOW_VMAP
def test_hessian_by_reverse_over_reverse(ops):
    x = double(3)
    got = jacrev(jacrev(lambda t: ops.t_multiply(ops.t_multiply(t, t), t).sum()))(x)
    assert_close(got, torch.diag(6 * x))


CALLS = pytest.mark.parametrize(
    "call",
    [
        lambda f, x: jvp(f, (x,), (x,)),
        lambda f, x: jacfwd(f)(x),
        lambda f, x: hessian(lambda t: f(t).sum())(x),
        lambda f, x: jvp(lambda t: f(t * 2) + t, (x,), (x,)),
        lambda f, x: jvp(grad(lambda t: f(t).sum()), (x,), (x,)),
        lambda f, x: grad(lambda t: jvp(f, (t,), (t,))[1].sum())(x),
        lambda f, x: jvp(lambda t: jvp(f, (t,), (t,))[1], (x,), (x,)),
    ],
    ids=["jvp", "jacfwd", "hessian", "composed", "jvp of grad", "grad of jvp", "jvp of jvp"],
)


@CALLS
@SLOW_VMAP
def test_forward_mode_is_derived_from_the_gradient(ops, call):
    """Ops whose gradient can be differentiated have tangents, as torch's own ops do."""
    x = double(3)
    cubed = lambda f: lambda t: f(t) ** 3  # noqa: E731
    assert_close(call(cubed(lambda t: ops.t_multiply(t, t)), x), call(cubed(torch.square), x))


@CALLS
@SLOW_VMAP
def test_forward_mode_is_right_or_refused(ops, call):
    """The gradient of t_relu's gradient is zeros that no longer depend on anything: not to be told from a mistake."""
    x = double(3)
    try:
        result = call(lambda t: ops.t_relu(t) ** 3, x)
    except OpNotImplementedError as error:
        assert "none can be derived" in str(error)
    else:
        assert_close(result, call(lambda t: torch.where(t > 0, t, 0.5 * t) ** 3, x))


NO_RULE = (
    r'op "t_\w+" has no rule for forward-mode differentiation \(jvp, jacfwd\), and none can be derived\n'
    r'  its gradient cannot be differentiated: op "t_\w+" has no gradient, and one is needed: an input requires grad\n'
    r"  use reverse mode \(grad, jacrev\)\n  defined at "
)


@pytest.fixture(scope="module")
def once():
    source = """#include "oneop/op.h"
    OP("t_once(Tensor x) -> Tensor y").elementwise<double>([](auto x) { return x * x; })
        .gradient("dx = t_once_grad(x, dy)");
    OP("t_once_grad(Tensor x, Tensor dy) -> Tensor dx")
        .elementwise<double>([](auto x, auto dy) { return 2 * x * dy; });
    """
    return oneop.load_inline("t_once", source).t_once


@CALLS
@SLOW_VMAP
def test_forward_mode_that_cannot_be_derived_raises(once, call):
    """It raises, and gives no zeros: the backward op has no gradient of its own."""
    with pytest.raises((OpNotImplementedError, GradientNotFoundError)):
        call(once, double(3))


def test_dual_numbers(ops, once):
    with fwad.dual_level():
        x, direction = double(3), double(3)
        dual = fwad.make_dual(x, direction)
        for _ in range(2):
            tangent = fwad.unpack_dual(ops.t_relu(dual)).tangent
            assert_close(tangent, torch.where(x > 0, direction, 0.5 * direction))
            with pytest.raises(OpNotImplementedError, match=NO_RULE):
                once(dual)
        assert fwad.unpack_dual(ops.t_relu(fwad.unpack_dual(dual).primal)).tangent is None


def test_a_gradient_that_autograd_cannot_follow():
    op = oneop.define("t_detaches(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=torch.float64)(lambda x: x * x)
    op.register_grad(lambda ctx, dy: 2 * ctx.x.detach() * dy.detach())
    with pytest.raises(OpNotImplementedError, match="autograd does not see how its gradient depends on those of its"):
        jvp(op, (double(3),), (double(3),))


def test_derived_tangents_of_several_inputs_and_outputs(ops):
    """Inputs without a tangent do not move; lists and several outputs have theirs."""
    a, b, v = double(3), double(3), double(3)
    assert_close(jvp(lambda t: ops.t_multiply(t, b), (a,), (v,))[1], v * b)
    assert_close(jvp(lambda t: ops.t_add_n([t, b, t]), (a,), (v,))[1], 2 * v)


@pytest.mark.parametrize("name", ["t_relu", "t_multiply"])
def test_derived_tangents_agree_with_gradcheck(ops, name):
    inputs = tuple(double(4).requires_grad_() for _ in range(1 if name == "t_relu" else 2))
    function = getattr(ops, name)
    assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True, check_backward_ad=False)


class Tagged(torch.Tensor):
    """A subclass that torch carries through functions."""


class Logged(torch.Tensor):
    seen: ClassVar[list[str]] = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        return super().__torch_function__(func, types, args, kwargs or {})


def test_torch_function_subclasses(ops):
    x = torch.ones(3).as_subclass(Tagged)
    assert type(ops.t_relu(x)) is Tagged
    assert type(ops.t_add_n([torch.ones(3), x])) is Tagged
    assert all(type(t) is Tagged for t in ops.t_parts(x))
    y = ops.t_relu(torch.ones(3).as_subclass(Logged), alpha=0.25)
    assert type(y) is Logged and "oneop.t_relu.default" in Logged.seen


def test_torch_function_of_things_that_are_no_tensors(ops):
    class Duck:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "quack", str(func), kwargs

    assert ops.t_relu(Duck(), alpha=0.25) == ("quack", "oneop.t_relu.default", {"alpha": 0.25})


def test_torch_function_mode(ops):
    seen = []

    class Mode(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append((str(func), kwargs))
            return func(*args, **(kwargs or {}))

    x = torch.ones(3)
    ops.t_relu(x)
    with Mode():
        assert ops.t_relu(x, alpha=0.25).sum() == 3
        assert isinstance(ops.t_multiples(x), tuple)
        with_dtypes = ops.t_attrs(x, dtypes=[torch.bfloat16], dtype=torch.int8)
    assert torch.equal(with_dtypes, ops.t_attrs(x, dtypes=[torch.bfloat16], dtype=torch.int8))
    assert ("oneop.t_relu.default", {"alpha": 0.25}) in seen


def test_dispatch_mode(ops):
    seen = []

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    x = torch.ones(3, requires_grad=True)
    ops.t_relu(x).sum().backward()
    with Mode():
        ops.t_relu(x).sum().backward()
    assert "oneop.t_relu.default" in seen and "oneop.t_relu_grad.default" in seen


def test_dispatch_subclass(ops):
    class Wrapper(torch.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return torch.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            plain = [a.inner if isinstance(a, cls) else a for a in args]
            return cls(func(*plain, **(kwargs or {})))

        __torch_function__ = torch._C._disabled_torch_function_impl

    y = ops.t_relu(Wrapper(torch.tensor([-2.0, 2.0])))
    assert type(y) is Wrapper and y.inner.tolist() == [-1, 2]


def test_autocast_leaves_dtypes_alone(ops):
    x = torch.ones(3, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ops.t_relu(x).dtype == torch.float32
        assert ops.t_relu(x @ x).dtype == torch.bfloat16


def test_inference_mode(ops):
    x = torch.ones(3, requires_grad=True)
    with torch.inference_mode():
        y = ops.t_relu(x)
        assert y.is_inference() and not y.requires_grad
        assert ops.t_relu(torch.ones(2)).is_inference()
    assert ops.t_relu(y).sum() == 3
    with pytest.raises(RuntimeError, match="Inference tensors cannot be saved for backward"):
        ops.t_multiply(torch.ones(3, requires_grad=True), y)


def test_parameters_and_modules(ops):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.act = oneop.ops.t_relu

        def forward(self, x):
            return self.act(oneop.ops.t_multiply(x, self.weight))

    net = Net()
    clone = copy.deepcopy(net)
    assert clone.act is net.act
    clone(torch.ones(3)).sum().backward()
    assert clone.weight.grad.tolist() == [1, 1, 1] and net.weight.grad is None


def test_op_objects(ops):
    op = ops.t_relu
    assert pickle.loads(pickle.dumps(op)) is op
    assert copy.copy(op) is op and copy.deepcopy([op])[0] is op
    assert repr(op) == "<oneop op t_relu>" and op.__name__ == "t_relu"
    assert str(op.__signature__) == "(x, *, alpha=0.5)"
    assert op.overload is torch.ops.oneop.t_relu.default
    assert {op: 1}[ops.t_relu] == 1


def test_the_profiler_shows_ops(ops):
    x = torch.ones(3, requires_grad=True)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], acc_events=True) as profile:
        ops.t_relu(x).sum().backward()
    names = {event.key for event in profile.key_averages()}
    assert {"oneop::t_relu", "oneop::t_relu_grad"} <= names


def rows_of_a_draw():
    """A random op whose gradient knows what was drawn, and a list of its calls."""
    op = oneop.define("t_draw(Tensor x, *, int count=3) -> (Tensor y, Tensor rows)", random=True)
    op.register_infer(lambda x, count: (x.like(shape=(count,)), oneop.TensorSpec((count,), torch.int64)))
    calls = []

    @op.register_kernel("cpu", dtypes=torch.float64)
    def draw(x, count):
        calls.append(count)
        rows = torch.randperm(len(x))[:count].numpy()
        return x[rows], rows

    op.register_grad(lambda ctx, dy, drows: torch.zeros_like(ctx.x).index_add(0, ctx.rows, dy))
    return op, calls


def test_derived_tangents_are_those_of_the_numbers_that_were_drawn():
    with isolated():
        op, calls = rows_of_a_draw()
        x, v = double(50), double(50)
        for seed in range(4):
            torch.manual_seed(seed)
            (y, rows), (dy, _) = jvp(op, (x,), (v,))
            assert_close(y, x[rows])
            assert_close(dy, v[rows])
            torch.manual_seed(seed)
            assert_close(op(x)[1], rows)  # as many numbers were drawn as by a plain call
        assert len(calls) == 8
        # Where inputs need gradients, and where they do not.
        leaf = x.clone().requires_grad_()
        for primal in (x, leaf):
            with fwad.dual_level():
                y, rows = op(fwad.make_dual(primal, v))
                value, tangent = fwad.unpack_dual(y)
                assert_close(tangent, v[rows])
                assert value.requires_grad == (primal is leaf) and not rows.requires_grad
        assert_close(torch.autograd.grad(value.sum(), leaf)[0], torch.zeros_like(x).index_fill(0, rows, 1))
        # Reverse over forward by torch.func: the derivative of the sum of 2 * u[rows] * v[rows].
        torch.manual_seed(5)
        gradient = grad(lambda t: jvp(lambda u: op(u * u)[0], (t,), (v,))[1].sum())(x)
        torch.manual_seed(5)
        assert_close(gradient, 2 * v * torch.zeros_like(x).index_fill(0, op(x)[1], 1))
