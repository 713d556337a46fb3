"""Every test starts with the registries as they were, and leaves them so."""

import pytest

from oneop.registry import isolated


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield
