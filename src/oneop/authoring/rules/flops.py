"""Counts of arithmetic operations: an author's function of specs and attributes, as the core calls it."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneop.authoring.binding import Source, caller_of, source_of, taken_by
from oneop.authoring.gaps import with_gaps
from oneop.authoring.schema import Schema
from oneop.authoring.spec import RawSpec, group
from oneop.errors import CheckError, RegistrationError, described


@dataclass(frozen=True, kw_only=True)
class FlopsRule:
    """How many operations a call takes."""

    function: Callable[[Sequence[Any], Mapping[str, Any]], Any]  # of (inputs, attributes)
    source: Source
    takes_out: bool


def from_function(schema: Schema, function: Callable[..., Any], caller: Source) -> FlopsRule:
    """Return the rule of a function that takes specs in place of tensors, and `out` for those of the outputs."""
    if not callable(function):
        raise RegistrationError(
            f'op "{schema.name}": flops is a function of shapes that counts, found {described(function)}\n  at {caller}'
        )
    source = source_of(function, caller)
    function = with_gaps(schema, function)
    taken = taken_by(function, schema, "flops", source)
    names = (*taken.attrs, "out") if taken.out else taken.attrs
    return FlopsRule(function=caller_of(function, names), source=source, takes_out=taken.out)


def entry(
    schema: Schema, rule: FlopsRule
) -> Callable[[Sequence[Sequence[RawSpec]], Sequence[Sequence[RawSpec]], Mapping[str, Any]], float]:
    """Return the function that the core calls; the core checks that the number can be a count."""

    def count(
        inputs: Sequence[Sequence[RawSpec]], outputs: Sequence[Sequence[RawSpec]], attrs: Mapping[str, Any]
    ) -> float:
        values = dict(attrs)
        if rule.takes_out:
            specs = group(schema.outputs, outputs)
            values["out"] = specs[0] if len(specs) == 1 else tuple(specs)
        number = rule.function(group(schema.inputs, inputs), values)
        if not isinstance(number, numbers.Real) or isinstance(number, bool):
            raise CheckError(
                f'op "{schema.name}": its flops function gave {described(number)}, expected a number\n'
                f"  at {rule.source}"
            )
        try:
            return float(number)
        except OverflowError:  # of an int beyond all floats
            return math.inf

    return count
