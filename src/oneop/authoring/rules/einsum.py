"""Inference and SBP from one line: `b k, k n -> b n`.

Axes with the same name have the same size. A name on the right that no input has is an int attribute. An axis that the
right lacks is summed over, which is what makes partial sums of it. `...` stands for any axes, the same everywhere; a
number for an axis of that size. An axis in brackets is mixed: elements along it depend on each other, `a [b] -> a [b]`
for a softmax of rows, `a [b] -> a` for a maximum. It is never split.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneop.authoring.rules.sbp_entries import Signature, along_axes
from oneop.authoring.schema import Schema
from oneop.authoring.spec import Size, TensorSpec
from oneop.errors import OpValueError, RegistrationError


@dataclass(frozen=True, kw_only=True)
class AxesRule:
    """A parsed line."""

    text: str
    inputs: tuple[tuple[str, ...], ...]
    outputs: tuple[tuple[str, ...], ...]
    mixed: frozenset[str] = frozenset()

    @property
    def attrs(self) -> tuple[str, ...]:
        """The attributes that are sizes of the outputs."""
        known = {axis for axes in self.inputs for axis in axes}
        return tuple(axis for axes in self.outputs for axis in axes if axis not in known and not axis.isdigit())

    def infer(self, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[TensorSpec]:
        """Return the outputs. Raises `OpValueError` where a size does not fit."""
        sizes: dict[str, tuple[Size, str]] = {}
        tensors = [spec for spec in inputs if spec is not None]
        for position, (axes, spec) in enumerate(zip(self._expanded(tensors)[0], tensors, strict=True)):
            for axis, size in zip(axes, spec.shape, strict=True):
                known, where = sizes.setdefault(axis, (int(axis) if axis.isdigit() else size, f"input {position}"))
                if known != size:
                    raise OpValueError(
                        f'"{self.text}": axis {axis} is {known} in {where} and {size} in input {position}'
                        if not axis.isdigit()
                        else f'"{self.text}": expected size {axis} in input {position}, found {size}'
                    )
        dtype = tensors[0].dtype
        return [
            TensorSpec(tuple(self._size(axis, sizes, attrs) for axis in axes), dtype)
            for axes in self._expanded(tensors)[1]
        ]

    def sbp(
        self, inputs: Sequence[Sequence[TensorSpec]], outputs: Sequence[Sequence[TensorSpec]], attrs: Mapping[str, Any]
    ) -> list[Signature]:
        """Return a signature for each axis that is not mixed."""
        axes_in, axes_out = self._expanded([spec for specs in inputs for spec in specs])
        return along_axes(
            [[axis if not axis.isdigit() else f"{axis}:{i}" for axis in axes] for i, axes in enumerate(axes_in)],
            axes_out,
            lambda axis: axis.partition(":")[0] in self.mixed or (axis.startswith("...") and "..." in self.mixed),
        )

    def _size(self, axis: str, sizes: Mapping[str, tuple[Size, str]], attrs: Mapping[str, Any]) -> Size:
        if axis in sizes:
            return sizes[axis][0]
        size: Size = int(axis) if axis.isdigit() else attrs[axis]
        return size

    def _expanded(self, tensors: Sequence[TensorSpec]) -> tuple[list[list[str]], list[list[str]]]:
        """Give the axes behind `...` names of their own."""
        if len(tensors) != len(self.inputs):
            raise OpValueError(f'"{self.text}": expected {len(self.inputs)} tensors, found {len(tensors)}')
        hidden: list[str] = []
        for position, (axes, spec) in enumerate(zip(self.inputs, tensors, strict=True)):
            more = spec.ndim - len([axis for axis in axes if axis != "..."])
            if more < 0 or (more > 0 and "..." not in axes):
                raise OpValueError(f'"{self.text}": input {position} has {spec.ndim} axes')
            if "..." in axes and more > len(hidden):
                hidden = [f"...{i}" for i in range(more)]

        def expand(axes: Sequence[str], ndim: int | None = None) -> list[str]:
            names: list[str] = []
            for axis in axes:
                count = len(hidden) if ndim is None else ndim - (len(axes) - 1)
                names += (hidden[len(hidden) - count :] if count else []) if axis == "..." else [axis]
            return names

        return (
            [expand(axes, spec.ndim) for axes, spec in zip(self.inputs, tensors, strict=True)],
            [expand(axes) for axes in self.outputs],
        )


def parse_axes(schema: Schema, text: str) -> AxesRule:
    """Read a line. Raises `RegistrationError` where it does not fit the schema."""
    sides = text.split("->")

    def refuse(problem: str) -> RegistrationError:
        return RegistrationError(f'op "{schema.name}", infer="{text}": {problem}\n  {schema.text}')

    if len(sides) != 2:
        raise refuse("expected one ->, as in b k, k n -> b n")
    mixed: set[str] = set()

    def axes_of(part: str) -> tuple[str, ...]:
        names, inside = [], False
        for token in part.replace("[", " [ ").replace("]", " ] ").split():
            if token in "[]":
                if inside == (token == "["):
                    raise refuse("brackets do not fit together")
                inside = token == "["
                continue
            names.append(token)
            mixed.update([token] if inside else [])
        if inside:
            raise refuse("brackets do not fit together")
        return tuple(names)

    inputs, outputs = (tuple(axes_of(part) for part in side.split(",")) for side in sides)
    if len(inputs) != len(schema.inputs) or len(outputs) != len(schema.outputs):
        raise refuse(
            f"expected {len(schema.inputs)} inputs and {len(schema.outputs)} outputs, "
            f"found {len(inputs)} and {len(outputs)}"
        )
    known = {axis for axes in inputs for axis in axes} | {
        attr.name for attr in schema.attrs if attr.type == "int" and not attr.is_optional
    }
    for axis in (axis for axes in outputs for axis in axes):
        if axis not in known and not axis.isdigit():
            raise refuse(f"no input has the axis {axis}, and no int attribute has that name")
    return AxesRule(text=text, inputs=inputs, outputs=outputs, mixed=frozenset(mixed))
