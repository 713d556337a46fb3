"""Classes of faults in gradients that usual calls do not show: layouts of the gradient, zero, and numbers of axes."""

import numpy as np
import pytest
import torch

import oneop
from oneop.registry import isolated
from oneop.testing.checker import run_check
from oneop.testing.subject import Hints

FLOATS = (torch.float32, torch.float64)


def define(name, kernel, grad, schema="(Tensor x) -> Tensor y", infer="elementwise", dtypes=FLOATS):
    op = oneop.define(name + schema, infer=infer)
    op.register_kernel("cpu", dtypes=dtypes)(kernel)
    op.register_grad(grad)
    return op


def failure_of(op, family):
    report = run_check(op, Hints(), only=family, examples=8)
    assert [outcome.family for outcome in report.failures] == [family], str(report)
    return report.failures[0].failure


def test_a_gradient_of_transposed_gradients():
    def grad(ctx, dy):
        is_transposed = dy.ndim == 2 and dy.stride() == (1, dy.shape[0])
        return (dy.T.reshape(dy.shape) if is_transposed else dy) * ctx.x * 2

    op = define("reads_dy_as_dense", lambda x: x * x, grad)
    message = failure_of(op, "gradient variants").message
    assert message.startswith("for a gradient that is transposed: the gradient of x[")


def test_a_gradient_that_raises_for_a_layout():
    def grad(ctx, dy):
        return dy.view(-1).view(dy.shape) * 3

    op = define("views_dy_flat", lambda x: 3 * x, grad)
    assert failure_of(op, "gradient variants").message.startswith(
        "for a gradient whose first axis is expanded (as that of sum(0) is), the gradient raises OpRuntimeError: "
    )


def test_a_gradient_at_zero():
    def kernel(x):
        with np.errstate(all="ignore"):
            return np.where(x == 0, 0.5, (1 - np.cos(x)) / (x * x)).astype(x.dtype)

    def grad(ctx, dy):
        return dy * (torch.sin(ctx.x) / ctx.x**2 - 2 * (1 - torch.cos(ctx.x)) / ctx.x**3)

    op = define("versine_by_square", kernel, grad, dtypes=torch.float64)
    assert failure_of(op, "gradient variants").message == (
        "the gradient of x is nan at zero, where the numerical one is 0: element 0"
    )


def test_gradients_at_zero_that_are_no_faults():
    """There the root, and the length of a vector, have no derivative."""

    def root_grad(ctx, dy):
        return dy * ctx.x.sign() / (2 * ctx.x.abs().sqrt())

    root = define("root_of_magnitude", lambda x: np.sqrt(np.abs(x)), root_grad)
    assert run_check(root, Hints(), only="gradient variants").ok

    def length_grad(ctx, dy):
        return dy[:, None] * ctx.x / ctx.x.norm(dim=1, keepdim=True)

    length = define("length_of_rows", lambda x: np.sqrt((x * x).sum(1)), length_grad, infer="r [n] -> r")
    assert run_check(length, Hints(), only="gradient variants").ok


def test_a_gradient_for_one_number_of_axes():
    """A scale for the last axis; of more than two axes the gradient forgets one of them."""
    op = oneop.define("scale_of_last_axis(Tensor x, Tensor w) -> Tensor y")

    @op.register_infer
    def infer(x, w):
        if x.ndim not in (2, 3) or w.shape != x.shape[-1:]:
            raise ValueError("the scale does not fit")
        return x

    op.register_kernel("cpu", dtypes=FLOATS)(lambda x, w: x * w)

    @op.register_grad
    def grad(ctx, dy):
        dw = dy * ctx.x
        return dy * ctx.w, dw.sum(tuple(range(dw.ndim - 1))) if dw.ndim < 3 else dw[:, 0].sum(0)

    for examples in (1, 8):
        report = run_check(op, Hints(), only="gradient", examples=examples)
        assert 'the gradient of input "w" differs from the numerical one' in str(report)


def test_second_derivatives_of_mixed_dtypes():
    op = oneop.define("weighted_in_double(Tensor x, Tensor w) -> Tensor y")
    op.register_infer(lambda x, w: w)
    op.register_check(lambda x, w: x.shape == w.shape or "shapes differ")
    op.register_kernel("cpu", dtypes={"x": torch.float32, "w": torch.float64})(lambda x, w: x * w * w)
    op.register_grad(lambda ctx, dy: ((dy * ctx.w * ctx.w).float(), 2 * dy * ctx.x * ctx.w))
    report = run_check(op, Hints(), only=["gradient", "second gradient"], examples=8)
    assert [outcome.status for outcome in report.outcomes] == ["passed", "passed"], str(report)

    wrong = oneop.define("weighted_wrongly(Tensor x, Tensor w) -> Tensor y")
    wrong.register_infer(lambda x, w: w)
    wrong.register_check(lambda x, w: x.shape == w.shape or "shapes differ")
    wrong.register_kernel("cpu", dtypes={"x": torch.float32, "w": torch.float64})(lambda x, w: x * w * w)
    wrong.register_grad(lambda ctx, dy: ((dy * ctx.w * ctx.w.detach()).float(), 2 * dy * ctx.x * ctx.w))
    report = run_check(wrong, Hints(), only="second gradient", examples=8)
    assert [outcome.status for outcome in report.outcomes] == ["failed"], str(report)


def product(grad, dtypes):
    op = oneop.define("gradient_product(Tensor a, Tensor b) -> Tensor y", infer="a, a -> a")
    op.register_kernel("cpu", dtypes=dtypes)(lambda a, b: a * b)
    op.register_grad(grad)
    return op


ALL = (torch.float32, torch.float64, torch.complex64, torch.complex128)


@pytest.mark.parametrize("dtypes", [ALL, torch.complex64, (torch.float64, torch.complex64), torch.complex128])
def test_complex_gradients(dtypes):
    """Each dtype has a gradient of its own; a derived tangent of a wrong gradient is no failure beside it."""
    families = ["gradient", "second gradient", "jvp"]
    with isolated():
        wrong = run_check(product(lambda ctx, dy: (dy * ctx.b, dy * ctx.a), dtypes), Hints(), only=families)
    assert [outcome.family for outcome in wrong.failures] == ["gradient"], str(wrong)
    with isolated():
        right = product(lambda ctx, dy: (dy * ctx.b.conj(), dy * ctx.a.conj()), dtypes)
        report = run_check(right, Hints(), only=families)
    assert report.ok and all(o.cases for o in report.outcomes if "needs" not in o.note), str(report)


def test_a_complex_gradient_that_is_wrong_in_one_dtype():
    def grad(ctx, dy):
        a, b = ctx.a, ctx.b
        return (dy * b, dy * a) if dy.dtype == torch.complex64 else (dy * b.conj(), dy * a.conj())

    with isolated():
        report = run_check(product(grad, ALL), Hints(), only=["gradient"])
    (outcome,) = report.failures
    assert "the gradient in complex64 differs from that in float64" in outcome.failure.message
