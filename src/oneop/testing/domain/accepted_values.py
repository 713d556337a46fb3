"""What an op's kernels take that nothing declares: ranges of values, dtypes of indices, attributes that bound them.

An op may refuse values, as a logarithm does that raises an error for negative ones. Where its author gave no `values`,
guesses are tried in a child process until the op takes one: ranges for one input after the other and then for all of
them, an attribute that integers must stay below, and integers for inputs whose dtype no kernel declares.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from oneop.testing.memory.isolation import first_death
from oneop.testing.subject import Bounds

#: Away from their ends, so that a numerical derivative does not step over them: positive, between 0 and 1, between -1
#: and 1, and above 1.
RANGES: tuple[Bounds, ...] = ((0.0625, 4.0), (0.0625, 0.9375), (-0.9375, 0.9375), (1.0625, 4.0))
INTEGER_RANGES: tuple[Bounds, ...] = ((0, 9), (1, 9), (0, 1))
#: Values of an attribute that integers stay below, and their range then.
LIMITS, BELOW_LIMITS = (8, 64), (0, 7)
SECONDS = 5.0


@dataclass(frozen=True, kw_only=True)
class Guess:
    """Ranges of inputs, dtypes of inputs, and values of attributes, by name."""

    values: Mapping[str, Bounds] = field(default_factory=dict)
    dtypes: Mapping[str, torch.dtype] = field(default_factory=dict)
    attrs: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        """Tell whether it says anything."""
        return bool(self.values or self.dtypes or self.attrs)

    def __str__(self) -> str:
        """Return `x from 0 to 4, index as int64, count 8 or 64`."""
        parts = [f"{name} from {low:g} to {high:g}" for name, (low, high) in self.values.items()]
        parts += [f"{name} as {str(dtype).removeprefix('torch.')}" for name, dtype in self.dtypes.items()]
        parts += [f"{name} {' or '.join(map(repr, values))}" for name, values in self.attrs.items()]
        return ", ".join(parts)


@dataclass(frozen=True, kw_only=True)
class Open:
    """What may be guessed: inputs without a range, and whether they are integers; inputs without a dtype; attributes.

    Attributes are those that are integers.
    """

    values: Mapping[str, bool]
    dtypes: Sequence[str] = ()
    attrs: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Accepted:
    """What an op takes; nothing where it takes all calls, or none that was tried."""

    guess: Guess = Guess()
    refusal: str = ""  # what the op says of other calls; empty if it takes any

    @property
    def note(self) -> str:
        """What the report says."""
        if not self.guess:
            return f"the op refuses the values of every range that was tried: {self.refusal}; say some: values={{...}}"
        return f"values drawn: {self.guess}; of others the op says: {self.refusal}"


def find_accepted(unknown: Open, call: Callable[[Guess], None]) -> Accepted:
    """Return the first guess that an op takes.

    Args:
        unknown: what may be guessed.
        call: calls the op as a guess says, and raises what it raises.
    """
    tried = [Guess(), *_guesses(unknown)]
    with tempfile.TemporaryDirectory() as folder:
        taken, refusal = Path(folder) / "taken", Path(folder) / "refusal"

        def search() -> None:
            for place, guess in enumerate(tried):
                try:
                    call(guess)
                except Exception as error:
                    if place == 0:
                        refusal.write_text(_said(error))
                    continue
                taken.write_text(str(place))
                return

        if first_death([search], seconds=SECONDS) is not None:
            return Accepted()  # the family `crashes` tells of it
        said = refusal.read_text() if refusal.is_file() else ""
        return Accepted(guess=tried[int(taken.read_text())] if taken.is_file() else Guess(), refusal=said)


def _guesses(unknown: Open) -> list[Guess]:
    """Return guesses, those that say least first."""
    guesses = [Guess(values=values) for values in _ranges(unknown.values)]
    integers = {name: True for name, is_integer in unknown.values.items() if is_integer}
    guesses += _limits(integers, unknown.attrs, {})
    alone = [[name] for name in unknown.dtypes] if len(unknown.dtypes) > 1 else []
    for names in [*alone, list(unknown.dtypes)] if unknown.dtypes else []:
        dtypes = dict.fromkeys(names, torch.int64)
        guesses += [Guess(dtypes=dtypes), *_limits(dict.fromkeys(names, True), unknown.attrs, dtypes)]
    return guesses


def _ranges(names: Mapping[str, bool]) -> list[dict[str, Bounds]]:
    """Return ranges for each input alone, then for all of them."""
    pairs = list(itertools.zip_longest(RANGES, INTEGER_RANGES, fillvalue=INTEGER_RANGES[-1]))
    candidates = []
    for floats, integers in pairs:
        by_name = {name: integers if is_integer else floats for name, is_integer in names.items()}
        groups: Sequence[Sequence[str]] = [[name] for name in names] if len(names) > 1 else []
        candidates += [{name: by_name[name] for name in group} for group in (*groups, list(names))]
    return candidates


def _limits(integers: Mapping[str, bool], attrs: Sequence[str], dtypes: Mapping[str, torch.dtype]) -> list[Guess]:
    """Return guesses that integers stay below an attribute."""
    values = dict.fromkeys(integers, BELOW_LIMITS)
    return [Guess(values=values, dtypes=dtypes, attrs={attr: LIMITS}) for attr in attrs if integers]


def _said(error: Exception) -> str:
    """Return what the kernel said, without where it is."""
    first = (str(error).strip().splitlines() or [""])[0]
    return first.rpartition("Error: ")[2] or type(error).__name__
