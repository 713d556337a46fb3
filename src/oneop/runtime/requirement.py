"""`oneop.require`: what a program asks of every kernel. It needs no torch: every host in the process follows it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import TracebackType

from oneop.errors import ArgumentError, described

#: ONEOP_REQUIRE_... in oneop/abi.h
DETERMINISTIC, BATCH_INVARIANT = 1, 2

_lock = threading.RLock()
_bits = 0
#: Each host's engine, and whatever else depends on which kernels run.
_followers: list[Callable[[int], None]] = []


def required() -> int:
    """Return what is required now, as the bits of oneop/abi.h."""
    return _bits


def follow(follower: Callable[[int], None]) -> None:
    """Call a function with the bits: now, and whenever they change."""
    with _lock:
        _followers.append(follower)
        follower(_bits)


def _set(bits: int) -> None:
    global _bits
    with _lock:
        _bits = bits
        for follower in _followers:
            follower(bits)


class require:
    """Ask every kernel that runs from now on to be deterministic, batch invariant, or both.

    A kernel says what it is where it is registered; `oneop check` proves it. Where several kernels take a call, one
    that says what is required runs; where none does, the call is refused. As a context manager, what was required
    before is required again at the end. It holds for the whole process: backward passes run on threads of torch's.

    Args:
        deterministic: the same call gives the same bits each time. None leaves it as it is.
        batch_invariant: the bits of a row do not depend on the other rows of the batch, nor on their number.
    """

    def __init__(self, *, deterministic: bool | None = None, batch_invariant: bool | None = None) -> None:
        """Require it, at once."""
        bits = self._before = _bits
        for name, bit, wanted in (
            ("deterministic", DETERMINISTIC, deterministic),
            ("batch_invariant", BATCH_INVARIANT, batch_invariant),
        ):
            if wanted is not None and not isinstance(wanted, bool):
                raise ArgumentError(f"require, {name}: expected True, False or None, found {described(wanted)}")
            if wanted is not None:
                bits = bits | bit if wanted else bits & ~bit
        _set(bits)

    def __enter__(self) -> require:
        """Return itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Require what was required before."""
        _set(self._before)
