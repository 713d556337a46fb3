"""`oneop.require`: what a program asks of every kernel. It needs no torch: every host in the process follows it."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TypeVar

from oneop.errors import ArgumentError, described

#: ONEOP_REQUIRE_... in oneop/abi.h
DETERMINISTIC, BATCH_INVARIANT = 1, 2

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class _Wish:
    """What one `require` asks: bits that it sets, and bits that it clears."""

    on: int
    off: int
    is_block: bool  # it ends with a `with` block
    owner: weakref.ref[require]


_lock = threading.RLock()
#: In the order in which they began; a later one counts more. Blocks of several threads end in any order, so each takes
#: out its own wish and nothing else.
_wishes: list[_Wish] = []
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


def _changed() -> None:
    """Work out the bits from the wishes; neighbours that can end no more become one."""
    global _bits
    kept: list[_Wish] = []
    for wish in _wishes:
        lasts = not wish.is_block and wish.owner() is None
        if lasts and kept and not kept[-1].is_block and kept[-1].owner() is None:
            before = kept.pop()
            wish = _Wish(before.on & ~wish.off | wish.on, before.off & ~wish.on | wish.off, False, wish.owner)
        kept.append(wish)
    _wishes[:] = kept
    _bits = functools.reduce(lambda bits, wish: bits & ~wish.off | wish.on, _wishes, 0)
    for follower in _followers:
        follower(_bits)


class require:
    """Ask every kernel that runs from now on to be deterministic, batch invariant, or both.

    A kernel says what it is where it is registered; `oneop check` proves it. Where several kernels take a call, one
    that says what is required runs; where none does, the call is refused. It is a function, a context manager and a
    decorator; as the last two it ends with the block or the call. It holds for the whole process: backward passes run
    on threads of torch's.

    Args:
        deterministic: the same call gives the same bits each time. None leaves it as it is.
        batch_invariant: the bits of a row do not depend on the other rows of the batch, nor on their number.
    """

    def __init__(self, *, deterministic: bool | None = None, batch_invariant: bool | None = None) -> None:
        """Require it, at once."""
        self._on = self._off = 0
        for name, bit, wanted in (
            ("deterministic", DETERMINISTIC, deterministic),
            ("batch_invariant", BATCH_INVARIANT, batch_invariant),
        ):
            if wanted is not None and not isinstance(wanted, bool):
                raise ArgumentError(f"require, {name}: expected True, False or None, found {described(wanted)}")
            if wanted is not None:
                self._on |= bit if wanted else 0
                self._off |= 0 if wanted else bit
        self._waits_for_block = True
        self._begin(is_block=False)

    def _begin(self, *, is_block: bool) -> None:
        with _lock:
            _wishes.append(_Wish(self._on, self._off, is_block, weakref.ref(self)))
            _changed()

    def _end(self) -> None:
        with _lock:
            for i in reversed(range(len(_wishes))):
                if _wishes[i].owner() is self:
                    del _wishes[i]
                    break
            _changed()

    def __enter__(self) -> require:
        """Require it to the end of the block; the same object may begin several blocks."""
        with _lock:
            if self._waits_for_block:  # it holds since it was made; from here on it is the last one
                self._waits_for_block = False
                self._end()
            self._begin(is_block=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Require it no longer."""
        self._end()

    def __call__(self, function: F) -> F:
        """Return the function with the requirement during its calls alone."""
        if self._waits_for_block:
            self._waits_for_block = False
            self._end()

        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]
