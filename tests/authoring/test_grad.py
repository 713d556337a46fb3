"""Gradients and forward-mode rules written in Python."""

import pytest
import torch
from torch.autograd import forward_ad, gradcheck, gradgradcheck

import oneop
from oneop.errors import GradientError, GradientNotFoundError


def define_cube(name="t_cube"):
    """y = scale * x**3; its gradient uses torch's ops, so every order follows."""
    op = oneop.define(f"{name}(Tensor x, *, float scale=1.0) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu")(lambda x, scale: x**3 * x.dtype.type(scale))

    @op.register_grad
    def grad(ctx, dy):
        return 3 * ctx.scale * ctx.x**2 * dy

    return op


def define_tanh():
    """Its gradient is an op with a kernel and a gradient of its own, and reads the output."""
    backward = oneop.define("t_tanh_grad(Tensor y, Tensor dy) -> Tensor dx", infer="elementwise")
    backward.register_kernel("cpu")(lambda y, dy: dy * (1 - y * y))

    @backward.register_grad
    def backward_grad(ctx, ddx):
        return -2 * ctx.y * ctx.dy * ddx, backward(ctx.y, ddx)

    op = oneop.define("t_tanh(Tensor x) -> Tensor y", infer="elementwise")
    import numpy as np

    op.register_kernel("cpu")(np.tanh)

    @op.register_grad
    def grad(ctx, dy):
        return backward(ctx.y, dy)

    return op


def double(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("make", [define_cube, define_tanh])
def test_first_and_second_order(make):
    op = make()
    assert gradcheck(op, (double(2, 3),))
    assert gradgradcheck(op, (double(2, 3),))


def test_only_what_is_mentioned_is_kept():
    y = define_tanh()(double(3))
    assert y.grad_fn._saved_tensors if hasattr(y.grad_fn, "_saved_tensors") else True
    op = oneop.define("t_keep(Tensor x, Tensor w) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x, w: x + w)
    op.register_grad(lambda ctx, dy: (dy, dy))
    x = torch.ones(2, requires_grad=True)
    w = torch.ones(2)
    y = op(x, w)
    w.add_(1)  # not kept, so nobody minds
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.ones(2))


def test_a_kept_tensor_that_changes_is_noticed():
    op = define_cube()
    x = torch.ones(2, requires_grad=True)
    copy = x * 1
    y = op(copy)
    with torch.no_grad():
        copy.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_saves_by_name():
    def helper(ctx):
        return getattr(ctx, "x")  # noqa: B009 - what the code does not show

    op = oneop.define("t_saves(Tensor x) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x: x * x)
    op.register_grad(lambda ctx, dy: 2 * helper(ctx) * dy)
    with pytest.raises(GradientError, match=r"asks for ctx.x, which is not kept"):
        op(double(2)).sum().backward()

    @op.register_grad(saves=["x"])
    def grad(ctx, dy):
        return 2 * helper(ctx) * dy

    assert gradcheck(op, (double(2),))
    with pytest.raises(ValueError, match="its gradient saves z, expected some of x, out"):
        op.register_grad(saves=["z"])(grad)


def test_several_inputs_outputs_lists_and_dicts():
    op = oneop.define("t_many(Tensor[] xs, Tensor? w=None, *, int k=2) -> (Tensor sum, Tensor product)")
    op.register_infer(lambda xs, w: (xs[0], xs[0]))

    @op.register_kernel("cpu")
    def kernel(xs, w, k):
        return sum(xs) * k, xs[0] * (1 if w is None else w)

    @op.register_grad
    def grad(ctx, dsum, dproduct):
        w = 1 if ctx.w is None else ctx.w
        grads = [dsum * ctx.k for _ in ctx.xs]
        grads[0] = grads[0] + dproduct * w
        return {"xs": grads, "w": dproduct * ctx.xs[0] if ctx.needs["w"] else None}

    a, b, w = double(3), double(3), double(3)
    assert gradcheck(lambda a, b, w: op([a, b], w), (a, b, w))
    assert gradcheck(lambda a, b: op([a, b], k=3), (a, b))


def test_an_integer_output_has_no_gradient():
    op = oneop.define("t_argmax(Tensor x) -> (Tensor value, Tensor index)")
    op.register_infer(lambda x: (x.like(shape=()), oneop.TensorSpec((), torch.int64)))
    op.register_kernel("cpu")(lambda x: (x.max(), x.argmax()))

    @op.register_grad
    def grad(ctx, dvalue, dindex):
        assert dindex is None
        return torch.zeros_like(ctx.x).index_put((ctx.index,), dvalue)

    x = torch.tensor([1.0, 3.0, 2.0], requires_grad=True)
    value, index = op(x)
    assert not index.requires_grad
    value.backward()
    assert x.grad.tolist() == [0.0, 1.0, 0.0]


def test_broadcast_gradients_are_summed():
    op = oneop.define("t_mulb(Tensor x, Tensor y) -> Tensor", infer="broadcast")
    op.register_kernel("cpu")(lambda x, y: x * y)
    op.register_grad(lambda ctx, d: (d * ctx.y, d * ctx.x))
    assert gradcheck(op, (double(2, 1, 3), double(4, 1)))


def test_a_missing_one_says_how():
    op = oneop.define("t_nograd(Tensor x) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x: x)
    with pytest.raises(GradientNotFoundError) as error:
        op(torch.ones(2, requires_grad=True))
    assert "@oneop.ops.t_nograd.register_grad" in str(error.value)
    op = oneop.define("t_const(Tensor x) -> Tensor", infer="elementwise", differentiable=False)
    op.register_kernel("cpu")(lambda x: x)
    assert not op(torch.ones(2, requires_grad=True)).requires_grad


@pytest.mark.parametrize(
    "grad, text",
    [
        (lambda ctx, dy: (dy, dy, dy), "expected 2 gradients, found 3 gradients"),
        (lambda ctx, dy: dy, "expected 2 gradients, found Tensor"),
        (lambda ctx, dy: (dy, 1.0), 'for input "b" expected a tensor, found float'),
        (lambda ctx, dy: {"c": dy}, "there is no input c"),
        (lambda ctx, dy: (dy, dy[:1]), 'for input "b" expected a tensor of shape [2], found shape [1]'),
        (lambda ctx, dy: (dy, dy * 1j), 'for input "b" expected a real tensor, found a complex one'),
        (lambda ctx, dy: (dy.new_zeros(3), dy), 'for input "a" expected a tensor of shape [2], found shape [3]'),
    ],
)
def test_wrong_answers(grad, text):
    op = oneop.define("t_py_wrong(Tensor a, Tensor b) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda a, b: a + b)
    op.register_grad(grad)
    with pytest.raises(GradientError) as error:
        op(double(2), double(2)).sum().backward()
    assert text in str(error.value) and f"{__file__}:" in str(error.value)


def test_a_raising_one_is_chained():
    op = oneop.define("t_graise(Tensor x) -> Tensor", infer="elementwise")
    op.register_kernel("cpu")(lambda x: x)

    @op.register_grad
    def grad(ctx, dy):
        raise ZeroDivisionError("in the gradient")

    with pytest.raises(
        RuntimeError, match='the gradient of op "t_graise": ZeroDivisionError: in the gradient'
    ) as error:
        op(double(2)).sum().backward()
    assert isinstance(error.value.__cause__, ZeroDivisionError)


def test_torch_func():
    op = define_cube()
    x = torch.tensor(2.0, dtype=torch.float64)
    assert torch.func.grad(op)(x).item() == 12
    assert torch.func.grad(torch.func.grad(op))(x).item() == 12
    torch.testing.assert_close(torch.func.jacrev(op)(torch.ones(2)), 3 * torch.eye(2))


def test_compiled_autograd():
    op = define_cube()
    x = torch.full((3,), 2.0, requires_grad=True)
    torch._dynamo.reset()
    with torch._dynamo.compiled_autograd._enable(torch.compile(backend="eager")):
        op(x, scale=2.0).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((3,), 24.0))


def test_opcheck():
    op = define_cube()
    torch.library.opcheck(op.overload, (torch.randn(3, requires_grad=True),), {"scale": 2.0})


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # torch's own, at its first jvp
def test_jvp():
    op = define_cube()
    x, t = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0])
    with forward_ad.dual_level():  # derived from the gradient
        tangent = forward_ad.unpack_dual(op(forward_ad.make_dual(x, t), scale=2.0)).tangent
    torch.testing.assert_close(tangent, 6 * x**2 * t)

    @op.register_jvp
    def jvp(ctx, dx):
        return 3 * ctx.scale * ctx.x**2 * dx

    with forward_ad.dual_level():
        primal, tangent = forward_ad.unpack_dual(op(forward_ad.make_dual(x, t)))
    torch.testing.assert_close(primal, x**3)
    torch.testing.assert_close(tangent, 3 * x**2 * t)
    torch.testing.assert_close(torch.func.jvp(op, (x,), (t,))[1], 3 * x**2 * t)
    torch.testing.assert_close(torch.func.jacfwd(op)(x), torch.diag(3 * x**2))
    torch.testing.assert_close(torch.func.hessian(lambda x: op(x).sum())(x), torch.diag(6 * x))
    assert gradcheck(op, (double(3),), check_forward_ad=True)


def test_vmap():
    op = define_cube()  # elementwise: nothing to write
    x = torch.randn(4, 3)
    torch.testing.assert_close(torch.func.vmap(op)(x), x**3)
    torch.testing.assert_close(torch.func.vmap(op, in_dims=1, out_dims=1)(x), x**3)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(lambda r: op(r).sum()))(x), 3 * x**2)

    mm = oneop.define("t_vmm(Tensor a, Tensor b) -> Tensor", infer="... i k, ... k j -> ... i j")
    mm.register_kernel("cpu")(lambda a, b: a @ b)

    @mm.register_vmap
    def rule(info, in_dims, a, b):
        a, b = (
            t.expand(info.batch_size, *t.shape) if dim is None else t.movedim(dim, 0)
            for t, dim in zip((a, b), in_dims, strict=True)
        )
        return mm(a, b), 0

    a, b = torch.randn(5, 2, 3), torch.randn(3, 4)
    torch.testing.assert_close(torch.func.vmap(mm, in_dims=(0, None))(a, b), a @ b)
