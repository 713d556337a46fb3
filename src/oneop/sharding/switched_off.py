"""The adapter for DTensors, switched off: said once as a warning, then by every word of oneop's that needs it.

The adapter uses parts of DTensor that are not public. Where the installed torch has others, ops go on working on plain
tensors, and nothing is registered with DTensor.
"""

from __future__ import annotations

import warnings

import torch

from oneop.errors import ShardingError

_reasons: list[str] = []  # none, or one


def switch_off(reason: str) -> None:
    """Leave DTensor alone from now on. The first reason is kept, and told by a warning."""
    if not _reasons:
        _reasons.append(reason)
        warnings.warn(text(), RuntimeWarning, stacklevel=2)


def is_switched_off() -> bool:
    """Tell whether the adapter is switched off."""
    return bool(_reasons)


def text() -> str:
    """Return what is the matter, and what still works."""
    return (
        f"oneop ops cannot take DTensors with torch {torch.__version__}: {_reasons[0]}\n"
        "  sharding is switched off; ops on plain tensors, gradients, torch.compile and jobs work"
    )


def check_switched_on() -> None:
    """Raise `ShardingError` if the adapter is switched off."""
    if _reasons:
        raise ShardingError(text())
