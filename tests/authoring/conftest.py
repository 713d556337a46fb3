"""Every test starts with the registries as they were, and leaves them so."""

import os

# Before numba is imported: what LLVM makes of its functions is its own, and takes a quarter of their time to compile.
os.environ.setdefault("NUMBA_OPT", "0")

import pytest

from oneop.registry import isolated


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield
