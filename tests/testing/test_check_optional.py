"""Of several optional inputs each may be there without the others."""

import pytest
import torch

import oneop
from oneop.errors import OpCheckFailed


def define_affine(name, forgets_bias):
    op = oneop.define(f"{name}(Tensor x, Tensor? w, Tensor? b) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu", dtypes=(torch.float32, torch.float64))
    def kernel(x, w, b):
        if w is None:
            return x + b if b is not None and not forgets_bias else x.copy()
        return x * w if b is None else x * w + b

    return op


def reference(x, w, b):
    return (x if w is None else x * w) + (0 if b is None else b)


def test_bias_that_is_forgotten_without_weight_is_found():
    op = define_affine("optional_wrong", forgets_bias=True)
    with pytest.raises(OpCheckFailed, match="reference") as caught:
        oneop.testing.check(op, reference=reference, only=["reference"])
    assert "counts=(1, 0, 1)" in str(caught.value)


@pytest.mark.parametrize("family", ["memory", "reference", pytest.param("sizes", marks=pytest.mark.slow)])
def test_right_op_passes(family):
    op = define_affine("optional_right", forgets_bias=False)
    assert oneop.testing.check(op, reference=reference, only=family).ok
