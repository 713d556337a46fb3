"""Ops that are called for what they do: torch's compilers keep every call of them, in order.

Such an op gets an effect in torch's sense: functionalization threads a token through all calls with effects, and dead
code elimination leaves them alone. Ops that change an argument in place need none, since the change is a use.
"""

from __future__ import annotations

from collections.abc import Iterable

from oneop._runtime import core

_declared: set[str] = set()


def declare(names: Iterable[str]) -> None:
    """Tell torch which of these ops have effects."""
    for name in names:
        info = core().op_info(name)
        has_effect = info["side_effect"] and not any(arg["is_mutable"] for arg in info["inputs"])
        if has_effect != (name in _declared):
            from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

            _register_effectful_op(f"oneop::{name}", _EffectType.ORDERED if has_effect else None)
            _declared.add(name) if has_effect else _declared.discard(name)
