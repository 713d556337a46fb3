"""Every test starts with the registries as they were, and leaves them so."""

import sys
from pathlib import Path

import pytest

from oneop.registry import isolated

sys.path.insert(0, str(Path(__file__).parent))  # for faults.py and right_ops.py


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield
