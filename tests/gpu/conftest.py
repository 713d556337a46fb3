"""Libraries with CUDA kernels. Tests with the mark `gpu` are skipped where there is no device."""

from pathlib import Path

import pytest
import torch

import oneop

ROOT = Path(__file__).resolve().parents[2]


def pytest_collection_modifyitems(items):
    if torch.cuda.is_available():
        return
    for item in items:
        if item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="needs a CUDA device"))


@pytest.fixture(scope="session")
def leaky_relu():
    sources = [ROOT / "examples/leaky_relu/leaky_relu.cpp", ROOT / "examples/leaky_relu/leaky_relu.cu"]
    return oneop.load("leaky_relu_example", sources).leaky_relu  # the name that all tests use, so that it is replaced


@pytest.fixture(scope="session")
def rows():
    return oneop.load("cuda_rows", [ROOT / "examples/cuda_rows" / name for name in ("softmax.cu", "layer_norm.cu")])


@pytest.fixture(scope="session")
def gpu_ops():
    return oneop.load("gpu_ops", [ROOT / "tests/gpu/sources/gpu_ops.cu"])
