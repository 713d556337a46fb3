"""Jobs share one small library of ops, and each test starts without variables."""

from pathlib import Path

import pytest
import torch

import oneop

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "leaky_relu" / "leaky_relu.cpp"


@pytest.fixture(scope="session")
def leaky_relu():
    """The op of examples/leaky_relu, with gradients."""
    oneop.load("leaky_relu_example", [EXAMPLE])
    return oneop.ops.leaky_relu


@pytest.fixture(autouse=True)
def fresh_session():
    """No variables of other tests; one thread, so that results do not depend on the machine."""
    oneop.clear_default_session()
    torch.manual_seed(0)
    yield
    oneop.clear_default_session()
