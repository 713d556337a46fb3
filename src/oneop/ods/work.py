"""How much work a file may be. TableGen can double a value in every line, so a short file can ask for any amount.

Whatever loops or makes a value larger calls `spend`; whoever runs a statement turns `TooMuchWork` into an error that
points at it. OneFlow's own 12,000 lines need about a tenth of the limit.
"""

from __future__ import annotations

import threading

#: Steps for one file with all it includes: values found, statements run, tokens read. About a million take a second.
STEPS = 1_500_000
#: Characters of one string, elements of one list.
LONGEST = 1 << 20
#: So many characters count as one step.
CHARACTERS = 32


class TooMuchWork(Exception):
    """The limit is reached; the message says which. Never leaves this package."""


class _Left(threading.local):
    steps = STEPS


_left = _Left()


def begin() -> None:
    """Start to count for another file."""
    _left.steps = STEPS


def spend(steps: int = 1) -> None:
    """Count some steps. Raises `TooMuchWork`."""
    _left.steps -= steps
    if _left.steps < 0:
        raise TooMuchWork(f"this takes more than {STEPS:,} steps; is something doubled in a loop?")


def spend_text(length: int) -> None:
    """Count the making of a string of this length. Raises `TooMuchWork`, before the string is made."""
    if length > LONGEST:
        raise TooMuchWork(f"a string of {length:,} characters; the longest may have {LONGEST:,}")
    spend(1 + length // CHARACTERS)


def spend_list(length: int) -> None:
    """Count the making of a list of this length. Raises `TooMuchWork`, before the list is made."""
    if length > LONGEST:
        raise TooMuchWork(f"a list of {length:,} elements; the longest may have {LONGEST:,}")
    spend(1 + length)
