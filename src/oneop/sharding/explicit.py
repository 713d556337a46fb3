"""A mode in which tensors move between devices only where the program says so."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

from oneop.errors import ArgumentError, RedistributionError
from oneop.sharding import dtensor
from oneop.sharding.switched_off import check_switched_on


@contextlib.contextmanager
def explicit_redistribution(mode: str = "raise", *, strict: bool = False) -> Iterator[None]:
    """Raise `RedistributionError`, or with mode="warn" warn, where an op redistributes its inputs by itself.

    It is about all ops on DTensors, torch's too. What needs no communication, taking a part of what is whole, is let
    through unless `strict`. Backward runs outside the block if it is called there.
    """
    if mode not in ("raise", "warn"):
        raise ArgumentError(f'explicit_redistribution: expected "raise" or "warn", found {mode!r}')
    check_switched_on()
    with dtensor.observed_redistribution(mode, strict, lambda text: RedistributionError(_explained(text)), _warn):
        yield


def _warn(text: str) -> None:
    warnings.warn(_explained(text), RuntimeWarning, stacklevel=2)


def _explained(text: str) -> str:
    call = text.partition(" occurred for ")[2].partition(" while ")[0]
    return (
        f"an input is redistributed, and nobody asked for it\n  {call}\n"
        "  oneop.explain_sharding(op, ...) shows what moves, and the line that does so explicitly"
    )
