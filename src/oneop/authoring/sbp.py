"""SBP signatures: written as text, `S(0), B -> S(0)`, or made from what declarative inference knows of the axes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from oneop.authoring.schema import Schema
from oneop.authoring.spec import TensorSpec
from oneop.errors import RegistrationError

#: (kind, axis) with the plugin ABI's kinds.
Entry = tuple[int, int]
Signature = list[Entry]
BROADCAST: Entry = (2, 0)
PARTIAL_SUM: Entry = (3, 0)
#: (inputs, outputs, attributes) -> signatures; each has an entry for every tensor, inputs first.
SbpRule = Callable[[Sequence[Sequence[TensorSpec]], Sequence[Sequence[TensorSpec]], Mapping[str, Any]], list[Signature]]


def split(axis: int) -> Entry:
    """Return the entry of a tensor that is split along an axis."""
    return (1, axis)


def parse_signatures(schema: Schema, texts: Sequence[str]) -> SbpRule:
    """Return the rule that always gives these signatures. Raises `RegistrationError` for one that cannot be read."""
    parsed = [_parse(schema, text) for text in texts]

    def rule(
        inputs: Sequence[Sequence[TensorSpec]], outputs: Sequence[Sequence[TensorSpec]], attrs: Mapping[str, Any]
    ) -> list[Signature]:
        counts = [len(tensors) for tensors in [*inputs, *outputs]]
        return [
            [entry for entry, count in zip(entries, counts, strict=True) for _ in range(count)] for entries in parsed
        ]

    return rule


def _parse(schema: Schema, text: str) -> list[Entry]:
    def refuse(problem: str) -> RegistrationError:
        return RegistrationError(
            f'op "{schema.name}", SBP signature "{text}": {problem}\n'
            f"  write S(axis), B or P for each input, ->, and for each output: S(0), B -> S(0)"
        )

    sides = text.split("->")
    if len(sides) != 2:
        raise refuse("expected one ->")
    entries = []
    for side, args in zip(sides, (schema.inputs, schema.outputs), strict=True):
        items = [item.strip() for item in side.split(",") if item.strip()]
        if len(items) != len(args):
            raise refuse(f"expected {len(args)} before and after the arrow as in the schema, found {len(items)}")
        for item in items:
            item = item.rpartition(":")[2].strip()  # `x: S(0)` is fine too
            match = re.fullmatch(r"S\((\d+)\)", item)
            if not match and item not in ("B", "P"):
                raise refuse(f'cannot read "{item}"')
            entries.append(split(int(match[1])) if match else BROADCAST if item == "B" else PARTIAL_SUM)
    return entries


def elementwise(
    inputs: Sequence[Sequence[TensorSpec]], outputs: Sequence[Sequence[TensorSpec]], attrs: Mapping[str, Any]
) -> list[Signature]:
    """Split any axis of the result, and of each input that has it, counted from the right; a size of 1 is repeated."""
    tensors = [spec for specs in [*inputs, *outputs] for spec in specs]
    full = outputs[0][0]
    signatures = []
    for axis in range(full.ndim):
        entries = []
        for spec in tensors:
            own = axis - (full.ndim - spec.ndim)
            repeated = own < 0 or (spec.shape[own] == 1 and full.shape[axis] != 1)
            entries.append(BROADCAST if repeated else split(own))
        signatures.append(entries)
    return signatures


def along_axes(names_of_inputs: Sequence[Sequence[str]], names_of_outputs: Sequence[Sequence[str]]) -> list[Signature]:
    """Split each named axis wherever it is; a result that lacks it is a sum over it."""
    names = dict.fromkeys(name for axes in [*names_of_inputs, *names_of_outputs] for name in axes)
    bound = {name for axes in names_of_inputs for name in axes}
    signatures = []
    for name in names:
        if name not in bound or any(axes.count(name) > 1 for axes in [*names_of_inputs, *names_of_outputs]):
            continue
        entries = [split(axes.index(name)) if name in axes else BROADCAST for axes in names_of_inputs]
        entries += [split(axes.index(name)) if name in axes else PARTIAL_SUM for axes in names_of_outputs]
        signatures.append(entries)
    return signatures
