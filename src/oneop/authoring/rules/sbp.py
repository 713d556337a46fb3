"""SBP signatures: written as text, as lists, with a builder, or made from what declarative inference knows of the axes.

All forms give one: for each tensor, inputs first, a (kind, axis).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import oneop.sbp as words
from oneop.authoring.binding import Source
from oneop.authoring.rules.einsum import parse_axes
from oneop.authoring.rules.sbp_builder import SbpContext
from oneop.authoring.rules.sbp_entries import BROADCAST, Entry, SbpRule, Signature, split
from oneop.authoring.schema import Schema
from oneop.authoring.spec import TensorSpec
from oneop.errors import RegistrationError, described, did_you_mean

#: How an author writes a signature: "S(0), B -> S(0)", {"x": split(0), ...}, or a list with one entry an argument.
Written = str | Mapping[str, words.Sbp | str] | Sequence[words.Sbp | str]


def rule_of_written(schema: Schema, written: Sequence[Written], source: Source) -> SbpRule:
    """Return the rule that gives these signatures. Raises `RegistrationError` for one that cannot be read."""
    rules: list[SbpRule] = []
    if not isinstance(written, (list, tuple)):
        raise RegistrationError(
            f'op "{schema.name}": sbp is a signature such as "S(0) -> S(0)" or a list of them, '
            f"found {described(written)}\n  for a function there is @op.register_sbp\n  at {source}"
        )
    for signature in written:
        if isinstance(signature, str) and not _is_plain(signature):
            rules.append(parse_axes(schema, signature).sbp)
        else:
            rules.append(_repeated(_read(schema, signature, source)))
    return lambda inputs, outputs, attrs: [signature for rule in rules for signature in rule(inputs, outputs, attrs)]


def rule_of_function(schema: Schema, function: Callable[[SbpContext], Any], source: Source) -> SbpRule:
    """Return the rule of an author's function, which uses the context's builders or returns signatures."""

    def rule(
        inputs: Sequence[Sequence[TensorSpec]], outputs: Sequence[Sequence[TensorSpec]], attrs: Mapping[str, Any]
    ) -> list[Signature]:
        context = SbpContext(schema, inputs, outputs, attrs)
        returned = function(context)
        signatures = context.signatures
        if returned is not None:
            written = [returned] if isinstance(returned, (str, Mapping)) else returned
            signatures += rule_of_written(schema, written, source)(inputs, outputs, attrs)
        return signatures

    rule.reads_sizes = True  # type: ignore[attr-defined]  # it may: then other sizes may have other signatures
    return rule


def _repeated(entries: Sequence[Entry]) -> SbpRule:
    """Give each tensor of an argument the entry of the argument."""

    def rule(
        inputs: Sequence[Sequence[TensorSpec]], outputs: Sequence[Sequence[TensorSpec]], attrs: Mapping[str, Any]
    ) -> list[Signature]:
        tensors = [*inputs, *outputs]
        return [
            [
                (kind, axis + spec.ndim if axis < 0 else axis)
                for (kind, axis), specs in zip(entries, tensors, strict=True)
                for spec in specs
            ]
        ]

    return rule


def _is_plain(text: str) -> bool:
    return any(re.fullmatch(r"(\w+\s*:)?\s*([SP]\(.*\)|[BPS])", item.strip()) for item in re.split(r",|->", text))


def _read(schema: Schema, written: Written, source: Source) -> list[Entry]:
    args = [*schema.inputs, *schema.outputs]

    def refuse(problem: str) -> RegistrationError:
        return RegistrationError(
            f'op "{schema.name}", SBP signature {written!r}: {problem}\n'
            f"  write S(axis), B or P for each input, ->, and for each output: S(0), B -> S(0)\n"
            f"  {schema.text}\n  at {source}"
        )

    def entry(value: object) -> Entry:
        if isinstance(value, words.Sbp):
            return (value.kind, value.axis)
        if not isinstance(value, str):
            raise refuse(f"cannot read {value!r}")
        try:
            sbp = words.parse(value.rpartition(":")[2])  # `x: S(0)` is fine too
        except TypeError:
            raise refuse(f'cannot read "{value.strip()}"') from None
        return (sbp.kind, sbp.axis)

    if isinstance(written, Mapping):
        names = [arg.name for arg in args]
        for name in written:
            if name not in names:
                raise refuse(f'there is no argument "{name}"{did_you_mean(name, names)}')
        absent = [name for name in names if name not in written]
        if absent:
            raise refuse(f"it says nothing about {', '.join(absent)}")
        return [entry(written[name]) for name in names]
    if not isinstance(written, str):
        if not isinstance(written, (list, tuple)):
            raise refuse(f"expected a text, a list, a mapping or a function, found {described(written)}")
        if len(written) != len(args):
            raise refuse(f"expected {len(args)} entries, for {', '.join(a.name for a in args)}; found {len(written)}")
        return [entry(value) for value in written]
    sides = written.split("->")
    if len(sides) != 2:
        raise refuse("expected one ->")
    entries = []
    for side, side_args, name in zip(sides, (schema.inputs, schema.outputs), ("inputs", "outputs"), strict=True):
        items = [item for item in side.split(",") if item.strip()]
        if len(items) != len(side_args):
            raise refuse(f"expected {len(side_args)} {name} as in the schema, found {len(items)}")
        entries += [entry(item) for item in items]
    return entries


def read_size_attrs(schema: Schema, written: Mapping[str, str], source: Source) -> dict[str, tuple[str, int | None]]:
    """Return {attribute: (argument, axis or None)} from {"rows": "y[0]", "shape": "y"}. Raises `RegistrationError`."""
    attrs = {attr.name: attr.type + "?" * attr.is_optional for attr in schema.attrs}
    args = {arg.name for arg in [*schema.inputs, *schema.outputs]}
    read: dict[str, tuple[str, int | None]] = {}
    for name, text in written.items():

        def refuse(problem: str, name: str = name, text: str = text) -> RegistrationError:
            return RegistrationError(
                f'op "{schema.name}", size attribute {name}="{text}": {problem}\n'
                f'  write rows="y[0]" for the size of an axis, shape="y" for a shape\n  {schema.text}\n  at {source}'
            )

        match = re.fullmatch(r"\s*(\w+)\s*(?:\[(-?\d+)\])?\s*", text)
        if name not in attrs:
            raise refuse(f"there is no such attribute{did_you_mean(name, attrs)}")
        if match is None or match[1] not in args:
            raise refuse(f"expected one of {', '.join(sorted(args))}, with an axis in brackets or without")
        wanted = ("int[]", "shape", "int32[]") if match[2] is None else ("int", "int32")
        if attrs[name] not in wanted:
            raise refuse(f"expected an attribute of type {wanted[0]}, found {attrs[name]}")
        read[name] = (match[1], None if match[2] is None else int(match[2]))
    return read


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
