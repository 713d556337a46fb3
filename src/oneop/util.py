"""Small helpers that programs for OneFlow use."""

from __future__ import annotations

import itertools

_numbers = itertools.count()


def unique_str(prefix: str = "") -> str:
    """Return a name that was not given before in this process."""
    return f"{prefix}_{next(_numbers)}" if prefix else f"unique_{next(_numbers)}"
