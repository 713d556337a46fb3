"""Every registered op as a function: `oneop.ops.myrelu(x)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oneop.runtime.core import core, find_op

if TYPE_CHECKING:
    from oneop._core import Op


def __getattr__(name: str) -> Op:
    if name.startswith("__"):
        raise AttributeError(name)
    return find_op(name)


def __dir__() -> list[str]:
    names: list[str] = core().op_names()
    return names
