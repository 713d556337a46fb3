"""Starts the DTensor adapter once somebody imports torch.distributed.tensor, and not before: that takes a second."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from oneop.errors import ShardingError
from oneop.runtime.after_import import after_import
from oneop.runtime.core import after_defining, core
from oneop.runtime.traced_calls import trace_hooks
from oneop.sharding import switched_off
from oneop.sharding.waiting import wait

_MODULE = "torch.distributed.tensor"


def install() -> None:
    """Start the adapter now or when it is time."""
    after_import(_MODULE, lambda module: after_defining(_register))


def _register(names: Iterable[str]) -> None:
    module = sys.modules.get("oneop.sharding.dtensor")
    if module is not None and not hasattr(module, "register"):  # it is being imported, and asks for these at its end
        wait(_register, names)
        return
    if switched_off.is_switched_off():
        return
    try:
        from oneop.sharding import composition, dtensor, grads, self_test, symbolic
    except ShardingError:
        return
    if not _watched:
        problem = self_test.why_unusable()
        if problem:
            switched_off.switch_off(problem)
            return
        core().watch_sharded_calls(grads.place_gradients)
        core().set_sharded_composition(composition.run)
        trace_hooks.append(symbolic.guard_outer_sizes)
        _watched.append(True)
    dtensor.register(names)


_watched: list[bool] = []
