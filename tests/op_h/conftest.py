"""The library that the tests of this folder share; each process of the tests builds or loads it once."""

import os
from pathlib import Path

import pytest

import oneop

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def ops():
    return oneop.load("op_h_tests", [HERE / "ops.cpp"])


@pytest.fixture
def unoptimized(monkeypatch):
    """For tests that are not about speed or numbers: -O3 takes three times as long."""
    monkeypatch.setenv("ONEOP_CXXFLAGS", os.environ["ONEOP_CXXFLAGS"].replace("-O3", "-O0"))
