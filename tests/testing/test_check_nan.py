"""An op may give NaN for usual values; torch's own check takes that for a difference."""

import numpy as np
import pytest
import torch

import oneop


@pytest.mark.parametrize(
    ("name", "function", "slope"),
    [
        ("nan_acosh", np.arccosh, lambda x: torch.rsqrt((x - 1) * (x + 1))),
        ("nan_atanh", np.arctanh, lambda x: 1 / (1 - x * x)),
        ("nan_log", np.log, lambda x: 1 / x),
    ],
)
def test_op_of_a_small_domain_passes(name, function, slope):
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu", dtypes=(torch.float32, torch.float64))
    def kernel(x):
        with np.errstate(all="ignore"):
            return function(x)

    op.register_grad(lambda ctx, dy: dy * slope(ctx.x))
    report = oneop.testing.check(op, only=["opcheck", "compile", "export", "job"])
    assert all(outcome.status == "passed" for outcome in report.outcomes)
