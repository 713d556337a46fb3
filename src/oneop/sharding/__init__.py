"""Ops on many devices: SBP signatures as DTensor strategies.

Collectives, meshes and process groups are torch's.

    dtensor/        the adapter: what of DTensor is not public is used there, and in local.py and symbolic.py
    planning/       candidates for a call on a mesh, what each costs, and the one chosen
    local.py        what a call is on one device: shards, and attributes that are declared to hold sizes
    symbolic.py     sizes that are symbols while torch traces
    parts.py        where a kernel runs, and calls that tell it
    composition.py  compositions that torch differentiates, on parts
    random.py       random ops: numbers of its own for each shard
    grads.py        where gradients live
    explanation.py  explain, explain_sharding
    pinning.py      pin: a call under one signature
    pin_rules.py    whether a call can run under a pinned signature
    export.py       signatures for others: torch's strategy validation, Shardy-style rules
    explicit.py     warning or raising where tensors are moved unasked
    words.py        placement, global_tensor, to_global, to_local
    watch.py        starts the adapter once torch.distributed.tensor is imported
    self_test.py    whether the installed torch's DTensor is as the adapter needs it
    switched_off.py what is said where it is not
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from oneop.sharding.explanation import explain as explain
    from oneop.sharding.export import shardy_rule as shardy_rule
    from oneop.sharding.export import validate_strategies as validate_strategies
    from oneop.sharding.parts import Part as Part
    from oneop.sharding.parts import part as part
    from oneop.sharding.pinning import pin as pin

#: Names that are imported when they are first used: the module of this package that has them.
_LATER = {
    "Part": "parts",
    "explain": "explanation",
    "part": "parts",
    "pin": "pinning",
    "shardy_rule": "export",
    "validate_strategies": "export",
}


def __getattr__(name: str) -> object:
    if name not in _LATER:
        raise AttributeError(f"module 'oneop.sharding' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"oneop.sharding.{_LATER[name]}"), name)
    globals()[name] = value
    return value


__all__ = ["Part", "explain", "part", "pin", "shardy_rule", "validate_strategies"]
