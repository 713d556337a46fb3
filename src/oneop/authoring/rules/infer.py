"""Inference of Python ops: the author's function, or one of the kinds that most ops are."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from oneop.authoring.binding import Source, caller_of, taken_by
from oneop.authoring.gaps import with_gaps
from oneop.authoring.rules import sbp
from oneop.authoring.rules.einsum import parse_axes
from oneop.authoring.rules.sbp_entries import BROADCAST, SbpRule, Signature, split
from oneop.authoring.schema import Schema
from oneop.authoring.spec import RawSpec, Size, TensorSpec, flatten_result, group, watched
from oneop.errors import OpValueError, RegistrationError, described

#: (inputs as the schema groups them, attributes) -> what an author's function may return
Inference = Callable[[Sequence[Any], Mapping[str, Any]], Any]


@dataclass(frozen=True, kw_only=True)
class InferRule:
    """How outputs follow from inputs."""

    function: Inference
    source: Source
    kind: str = "function"
    attrs: tuple[str, ...] = ()  # those it takes


def from_function(schema: Schema, function: Callable[..., Any], source: Source) -> InferRule:
    """Return the rule of an author's function, which takes specs in place of tensors."""
    function = with_gaps(schema, function)
    taken = taken_by(function, schema, "infer", source, out=False)
    return InferRule(function=caller_of(function, taken.attrs), source=source, attrs=taken.attrs)


def from_text(schema: Schema, text: str, source: Source) -> tuple[InferRule, SbpRule | None]:
    """Return the rule that a word or a line of axes stands for, and the SBP rule that comes with it."""
    if not isinstance(text, str):
        raise RegistrationError(
            f'op "{schema.name}": infer is a text, one of {", ".join(_KINDS)} or axes, found {described(text)}\n'
            f"  for a function there is @op.register_infer\n  at {source}"
        )
    if "->" in text:
        axes = parse_axes(schema, text)
        return InferRule(function=axes.infer, source=source, kind=text, attrs=axes.attrs), axes.sbp
    if text not in _KINDS:
        raise RegistrationError(
            f'op "{schema.name}": there is no infer="{text}"\n  there are: {", ".join(_KINDS)}, '
            f"a line such as b k, k n -> b n, and @op.register_infer\n  at {source}"
        )
    if not schema.inputs:
        raise RegistrationError(f'op "{schema.name}": infer="{text}" needs an input\n  at {source}')
    infer, signatures = _KINDS[text]
    if any(arg.is_mutable for arg in schema.inputs):
        signatures = None  # a part of the outputs is not all that such a call does
    return InferRule(function=functools.partial(infer, len(schema.outputs)), source=source, kind=text), signatures


def ranks_of(schema: Schema, text: str) -> list[int | None]:
    """Return how many axes each output has; None where that depends on the call."""
    if "->" not in text:
        return [None] * len(schema.outputs)
    return [None if "..." in axes else len(axes) for axes in parse_axes(schema, text).outputs]


def independence_of(schema: Schema, text: str) -> SbpRule | None:
    """Return the SBP rule of a word or a line of axes by itself, also for ops that change inputs.

    For those nothing is implied by it; it still says that each index of an axis is treated by itself.
    """
    return parse_axes(schema, text).sbp if "->" in text else _KINDS.get(text, (None, None))[1]


def no_outputs(source: Source) -> InferRule:
    """Return the rule of an op that gives nothing back."""
    return InferRule(function=lambda inputs, attrs: [], source=source, kind="nothing")


def entry(
    schema: Schema, rule: InferRule, check: InferRule | None
) -> Callable[[Sequence[Sequence[RawSpec]], Mapping[str, Any], Sequence[int]], list[RawSpec]]:
    """Return the function that the core calls."""

    def infer(raw: Sequence[Sequence[RawSpec]], attrs: Mapping[str, Any], counts: Sequence[int]) -> list[RawSpec]:
        inputs = group(schema.inputs, raw)
        if check is not None:
            answer = check.function(inputs, attrs)
            if answer is False or isinstance(answer, str):
                values = ", ".join(f"{name}={value!r}" for name, value in attrs.items())
                problem = answer or f"its check refuses these arguments ({values})"
                raise OpValueError(f'op "{schema.name}": {problem}\n  at {check.source}')
        try:
            result = rule.function(inputs, watched(attrs))
        except OpValueError as error:  # of a declarative kind, which does not know the op
            raise OpValueError(f'op "{schema.name}": {error}\n  at {rule.source}') from None
        return flatten_result(schema, str(rule.source), result, inputs, sum(counts))

    return infer


def _tensors(inputs: Sequence[Any]) -> list[TensorSpec]:
    flat: list[TensorSpec] = []
    for item in inputs:
        flat += item if isinstance(item, list) else [item] if item is not None else []
    return flat


def _dtype(tensors: Sequence[TensorSpec]) -> torch.dtype:
    return functools.reduce(torch.promote_types, (spec.dtype for spec in tensors))


def _elementwise(outputs: int, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[TensorSpec]:
    tensors = _tensors(inputs)
    for spec in tensors[1:]:
        if spec.shape != tensors[0].shape:
            raise OpValueError(f"expected inputs of one shape, found {tensors[0]} and {spec}")
    return [TensorSpec(tensors[0].shape, _dtype(tensors))] * outputs


def _broadcast(outputs: int, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[TensorSpec]:
    tensors = _tensors(inputs)
    shape: list[Size] = [1] * max(spec.ndim for spec in tensors)
    for spec in tensors:
        for i in range(1, spec.ndim + 1):
            if shape[-i] == 1:
                shape[-i] = spec.shape[-i]
            elif spec.shape[-i] != 1 and spec.shape[-i] != shape[-i]:
                raise OpValueError(f"cannot broadcast {', '.join(str(spec) for spec in tensors)}")
    return [TensorSpec(tuple(shape), _dtype(tensors))] * outputs


def _reduced_axes(spec: TensorSpec, attrs: Mapping[str, Any]) -> set[int]:
    written = next((attrs[name] for name in ("dim", "dims", "axis", "axes") if name in attrs), ())
    axes = (written,) if isinstance(written, int) else tuple(written)
    for axis in axes:
        if not -spec.ndim <= axis < spec.ndim:
            raise OpValueError(f"there is no axis {axis} in {spec}")
    return {axis % spec.ndim for axis in axes} if axes else set(range(spec.ndim))


def _keeps_axes(attrs: Mapping[str, Any]) -> bool:
    return bool(attrs.get("keepdim", attrs.get("keepdims", False)))


def _reduce(outputs: int, inputs: Sequence[Any], attrs: Mapping[str, Any]) -> list[TensorSpec]:
    spec = _tensors(inputs)[0]
    gone, keeps = _reduced_axes(spec, attrs), _keeps_axes(attrs)
    shape = [1 if axis in gone else size for axis, size in enumerate(spec.shape) if keeps or axis not in gone]
    return [spec.like(shape=shape)] * outputs


def _reduce_sbp(
    inputs: Sequence[Sequence[TensorSpec]], outputs: Sequence[Sequence[TensorSpec]], attrs: Mapping[str, Any]
) -> list[Signature]:
    """Split the axes that stay. Whether the others may be summed, only the author knows."""
    spec = inputs[0][0]
    gone, keeps = _reduced_axes(spec, attrs), _keeps_axes(attrs)
    others = sum(len(specs) for specs in inputs) - 1
    results = sum(len(specs) for specs in outputs)
    stay = [axis for axis in range(spec.ndim) if axis not in gone]
    return [
        [split(axis), *[BROADCAST] * others, *[split(axis if keeps else place)] * results]
        for place, axis in enumerate(stay)
    ]


_Kind = Callable[[int, Sequence[Any], Mapping[str, Any]], list[TensorSpec]]
_KINDS: dict[str, tuple[_Kind, SbpRule | None]] = {
    "same_shape": (_elementwise, None),
    "elementwise": (_elementwise, sbp.elementwise),
    "broadcast": (_broadcast, sbp.elementwise),
    "reduce": (_reduce, _reduce_sbp),
}
