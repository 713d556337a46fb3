"""What torch.autocast does to ops with a policy."""

import pytest
import torch

import oneop
from oneop.errors import ArgumentError, OpNotFoundError


@pytest.fixture
def op():
    op = oneop.define("autocast_sum(Tensor a, Tensor b, *, float scale=1.0) -> Tensor c", infer="elementwise")
    op.register_kernel(language="torch")(lambda a, b, scale: (a + b) * scale)
    op.register_grad(lambda ctx, dc: (dc * ctx.scale, dc * ctx.scale))
    yield op
    oneop.register_autocast("autocast_sum", None)


A, B = torch.randn(4), torch.randn(4)


def dtype_under_autocast(op, a, b):
    with torch.autocast("cpu", torch.bfloat16):
        return op(a, b, scale=2.0).dtype


def test_without_a_policy_inputs_come_as_they_are(op):
    assert dtype_under_autocast(op, A, B) is torch.float32
    assert dtype_under_autocast(op, A.bfloat16(), B.bfloat16()) is torch.bfloat16


def test_low(op):
    oneop.register_autocast("autocast_sum", "low")
    assert dtype_under_autocast(op, A, B) is torch.bfloat16
    assert dtype_under_autocast(op, A.double(), B.double()) is torch.float64
    assert op(A, B).dtype is torch.float32  # outside of a region


def test_float32(op):
    oneop.register_autocast("autocast_sum", "float32")
    assert dtype_under_autocast(op, A.bfloat16(), B.bfloat16()) is torch.float32
    assert dtype_under_autocast(op, A.bfloat16(), B) is torch.float32


def test_promote(op):
    oneop.register_autocast("autocast_sum", "promote")
    assert dtype_under_autocast(op, A.bfloat16(), B) is torch.float32
    assert dtype_under_autocast(op, A.bfloat16(), B.bfloat16()) is torch.bfloat16


def test_gradients_come_back_in_the_dtype_of_the_inputs(op):
    oneop.register_autocast("autocast_sum", "low")
    a = A.clone().requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        op(a, B, scale=2.0).sum().backward()
    assert a.grad.dtype is torch.float32
    assert torch.equal(a.grad, torch.full((4,), 2.0))


def test_only_on_the_devices_asked_for(op):
    oneop.register_autocast("autocast_sum", "low", devices=["cuda"])
    assert dtype_under_autocast(op, A, B) is torch.float32


def test_bad_input(op):
    with pytest.raises(ArgumentError, match="knows the policies low, float32, promote and None, found 'fp16'"):
        oneop.register_autocast("autocast_sum", "fp16")
    with pytest.raises(ArgumentError, match="knows the devices cpu and cuda, found 'tpu'"):
        oneop.register_autocast("autocast_sum", "low", devices=["tpu"])
    with pytest.raises(OpNotFoundError, match="autocast_sun"):
        oneop.register_autocast("autocast_sun", "low")
