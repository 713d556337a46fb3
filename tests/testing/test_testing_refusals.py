"""What `oneop.testing` refuses and reports of its own, each with its text."""

import pytest
import torch

import oneop
from oneop.errors import ArgumentError
from oneop.testing.compare import Broken, assert_close


@pytest.fixture(scope="module")
def summed():
    """An op of many inputs."""
    inputs = ", ".join(f"Tensor x{i}" for i in range(8))
    op = oneop.define(f"t_refused_sum({inputs}) -> Tensor y", infer="elementwise")

    @op.register_kernel()
    def kernel(*values):
        return sum(values)

    return op


def test_hints_of_cases(summed):
    with pytest.raises(ArgumentError) as raised:
        oneop.testing.cases("t_refused_sum", shape=[(2,)])
    assert str(raised.value) == "cases: expected shapes, attrs or values, found shape"


def test_results_that_are_missing():
    with pytest.raises(Broken, match="compiled: 1 results on one side, 2 on the other"):
        assert_close([torch.ones(1)], [torch.ones(1)] * 2, "compiled", ["y"])


def test_too_many_ways_to_place(summed):
    with pytest.raises(ArgumentError) as raised:
        oneop.testing.check_sbp("t_refused_sum", [torch.ones(2, 2, 2, 2, 2)] * 8)
    text = str(raised.value)
    assert text.startswith('check_sbp: op "t_refused_sum" has ')
    assert text.endswith("too many to try\n  pass discover=False, or inputs of fewer axes")
