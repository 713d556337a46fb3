"""The library that the tests of this folder share; each process of the tests builds or loads it once."""

from pathlib import Path

import pytest

import oneop

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def ops():
    return oneop.load("op_h_tests", [HERE / "ops.cpp"])
