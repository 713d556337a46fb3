"""The library that these tests share: ops from a .td file, functions from a yaml file, functors and eager gradients."""

from pathlib import Path

import pytest

import oneop

FOLDER = Path(__file__).parent / "library"


@pytest.fixture(scope="session")
def library():
    sources = sorted(FOLDER.glob("*.cpp"))
    return oneop.load(oneop.build("fn_library", sources, ods=[FOLDER / "ops.td"], functional=[FOLDER / "api.yaml"]))
