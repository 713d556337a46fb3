"""Ops without inputs run on torch's default device, as `torch.arange` does.

`torch.set_default_device` and `with torch.device(...)` put `device` into calls of the functions in a set of torch's.
Such ops are entered there; then eager calls and torch.compile follow them in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils import _device

from oneop.runtime.core import core, find_op

#: What is in torch's set, for each op.
_entered: dict[str, list[Any]] = {}


def declare(names: Iterable[str]) -> None:
    """Enter those of these ops that have no inputs; take out ops that are gone or have some now."""
    constructors: Any = getattr(_device, "_device_constructors", None)
    if constructors is None:  # another version of torch: such ops run on the cpu unless a call says otherwise
        return
    gone = _entered.keys() - set(core().op_names()) if _entered else set()
    for name in [*gone, *names]:
        constructors().difference_update(_entered.pop(name, ()))
        if name not in gone and not core().op_info(name)["inputs"]:
            _entered[name] = [find_op(name).overload, getattr(torch.ops.oneop, name)]
            constructors().update(_entered[name])
