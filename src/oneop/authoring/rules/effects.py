"""Ops whose calls torch's compilers may not merge: those that are called for what they do, and random ones.

An op that is called for what it does is kept at every call, in order.

Such an op gets an effect in torch's sense: functionalization threads a token through all calls with effects, and dead
code elimination leaves them alone. Ops that change an argument in place need none, since the change is a use.

A random op has torch's tag for them. That is not enough: where gradients are needed AOTAutograd replaces two equal
calls by one, tag or not, except for ops of a list.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch._ops import OpOverloadPacket

from oneop.runtime.after_import import after_import
from oneop.runtime.core import core

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
        if info["random"]:
            keep_apart(getattr(torch.ops.oneop, name))


def keep_apart(op: OpOverloadPacket) -> None:
    """Have AOTAutograd keep equal calls of an op apart."""

    def add(compile_utils: Any) -> None:
        if op not in compile_utils.rand_ops:
            compile_utils.rand_ops.append(op)

    after_import("torch._functorch.compile_utils", add)
