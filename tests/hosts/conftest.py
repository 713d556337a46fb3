"""Libraries that the tests of hosts load."""

from pathlib import Path

import pytest

from oneop._build.library import build

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def leaky_relu_path():
    return build("leaky_relu", [ROOT / "examples/leaky_relu/leaky_relu.cpp"]).path
