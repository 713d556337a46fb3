"""The rules for vmap that authors wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_written: dict[str, Callable[..., Any]] = {}


def set_rule(name: str, rule: Callable[..., Any]) -> None:
    """Use an author's `rule(info, in_dims, *inputs, **attrs) -> (outputs, out_dims)` for this op."""
    _written[name] = rule


def forget_rule(name: str) -> None:
    """Drop the rule of an op that is defined again."""
    _written.pop(name, None)


def written_rule(name: str) -> Callable[..., Any] | None:
    """Return the rule that the author wrote."""
    return _written.get(name)
