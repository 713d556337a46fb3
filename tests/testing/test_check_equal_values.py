"""Values that are all equal, zero or the lowest are compared with the reference, also where an op mixes elements."""

import numpy as np
import pytest
import torch

import oneop
from oneop.errors import OpCheckFailed


def define_standardize(name, eps_for_equal):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="... [n] -> ... [n]")

    @op.register_kernel("cpu", dtypes=(torch.float32, torch.float64))
    def kernel(x):
        wide = x.astype(np.float64)
        away = wide - wide.mean(-1, keepdims=True)
        scale = np.sqrt((away * away).mean(-1, keepdims=True) + 1e-5)
        if not eps_for_equal:  # a shortcut that is wrong for rows of one value
            scale = np.where((wide == wide[..., :1]).all(-1, keepdims=True), 0, scale)
        with np.errstate(all="ignore"):
            return (away / scale).astype(x.dtype)

    return op


def reference(x):
    away = x - x.mean(-1, keepdim=True)
    return away * torch.rsqrt((away * away).mean(-1, keepdim=True) + 1e-5)


def test_rows_of_one_value_are_compared():
    with pytest.raises(OpCheckFailed, match="special values"):
        oneop.testing.check(define_standardize("equal_wrong", False), reference=reference, only=["special values"])


def test_op_that_mixes_elements_is_compared_for_special_values():
    report = oneop.testing.check(define_standardize("equal_right", True), reference=reference, only=["special values"])
    assert [outcome.status for outcome in report.outcomes if outcome.family == "special values"] == ["passed"]
