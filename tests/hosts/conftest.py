"""Libraries that the tests of hosts load, and the devices of jax."""

import os
from pathlib import Path

import pytest

from oneop._build.library import build

# Before any test module asks jax for its devices: they are made once in a process.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def leaky_relu_path():
    return build("leaky_relu", [ROOT / "examples/leaky_relu/leaky_relu.cpp"]).path
