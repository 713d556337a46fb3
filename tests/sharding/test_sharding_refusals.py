"""What sharding refuses in one process, each with its text."""

import sys

import pytest
import torch

import oneop
from oneop.errors import ArgumentError


@pytest.fixture(scope="module")
def doubled():
    """An op of one input."""
    return oneop.define("t_refused_double(Tensor x) -> Tensor y", infer="elementwise")


def test_more_inputs_than_an_op_takes(doubled):
    with pytest.raises(ArgumentError) as raised:
        oneop.sharding.pin(doubled, "B -> B")(torch.ones(1), torch.ones(1))
    assert str(raised.value) == 'pin: op "t_refused_double" takes 1 inputs (x), found 2'


def test_a_torch_without_a_test_of_strategies(doubled, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.distributed._local_tensor", None)
    with pytest.raises(ArgumentError, match="validate_strategies: this torch has no test of sharding strategies"):
        oneop.sharding.validate_strategies("t_refused_double", [torch.ones(4, 4)])
