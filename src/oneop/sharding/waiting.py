"""Ops that are defined while the DTensor adapter is being imported: they are registered at the end of the import."""

from __future__ import annotations

from collections.abc import Callable, Iterable

_calls: list[Callable[[], None]] = []


def wait(register: Callable[[Iterable[str]], None], names: Iterable[str]) -> None:
    """Have `register(names)` called when the adapter is there."""
    names = [*names]
    _calls.append(lambda: register(names))


def finish() -> None:
    """Make the calls that wait. The adapter does this at its end."""
    calls = [*_calls]
    _calls.clear()
    for call in calls:
        call()
