"""Every test starts with the registries as they were, and leaves them so."""

import sys
from pathlib import Path

import pytest

from oneop.registry import isolated
from oneop.testing.families import repetition

sys.path.insert(0, str(Path(__file__).parent))  # for faults.py and right_ops.py


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


@pytest.fixture
def short_races(monkeypatch):
    """For ops that are right: calls that might race are repeated as ever, but not for seconds until they do."""
    monkeypatch.setattr(repetition, "RACE_SECONDS", 0.01)
    monkeypatch.setattr(repetition, "SECONDS", 0.02)
