"""Gradients and forward-mode rules: functions of tensors, written with oneop's or torch's ops."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import CodeType
from typing import Any

import torch

from oneop.authoring.binding import Source
from oneop.authoring.gaps import compacted, group_with_gaps
from oneop.authoring.schema import Arg, Schema
from oneop.authoring.spec import group_values
from oneop.errors import GradientError, RegistrationError, did_you_mean
from oneop.runtime.modes import untraced


class Context:
    """What a rule knows of the call: its inputs, outputs and attributes, by name. `needs` is {input: wanted}."""

    def __init__(self, op: str, values: dict[str, Any], needs: Mapping[str, bool]) -> None:
        """Keep the values."""
        self.__op = op
        self.__values = values
        self.needs = needs

    def __getattr__(self, name: str) -> Any:
        """Return an input, output or attribute."""
        try:
            return self.__values[name]
        except KeyError:
            hint = did_you_mean(name, self.__values)
            raise GradientError(
                f'op "{self.__op}": its rule asks for ctx.{name}, which is not kept{hint}\n'
                f"  it has: {', '.join(self.__values) or 'nothing'}; "
                "name more inputs and outputs with register_grad(saves=[...])"
            ) from None


def refuse_unreachable(schema: Schema, source: Source) -> None:
    """Refuse a rule of an op whose context would give something else by the name of an argument."""
    arguments = [*schema.inputs, *schema.outputs]
    for name in [*(arg.name for arg in arguments), *(attr.name for attr in schema.attrs)]:
        if name == "needs" or hasattr(Context, name):
            means = "which gradients are wanted" if name == "needs" else "what Python means by it"
            raise RegistrationError(
                f'op "{schema.name}": a rule cannot read its argument "{name}": ctx.{name} is {means}\n'
                f"  give the argument another name, {name.strip('_')}_ say\n  at {source}"
            )


def read_names(function: Callable[..., Any]) -> set[str]:
    """Return every attribute name that a function and those inside it mention."""

    def names(code: CodeType) -> Iterator[str]:
        yield from code.co_names
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from names(constant)

    code = getattr(function, "__code__", None)
    return set(names(code)) if code is not None else set()


def grad_fields(
    schema: Schema, function: Callable[..., Any], saves: Iterable[str] | None, source: Source
) -> dict[str, Any]:
    """Return what the core needs of a gradient."""
    refuse_unreachable(schema, source)
    tensors = [arg.name for arg in (*schema.inputs, *schema.outputs)]
    asked = read_names(function) if saves is None else set(saves)
    unknown = set() if saves is None else asked - set(tensors)
    if unknown:
        raise RegistrationError(
            f'op "{schema.name}": its gradient saves {", ".join(sorted(unknown))}, expected some of '
            f"{', '.join(tensors)}\n  at {source}"
        )
    kept = [name for name in tensors if name in asked]

    @untraced
    def bind(
        input_counts: Sequence[int], output_counts: Sequence[int], attrs: Mapping[str, Any], needs: Sequence[bool]
    ) -> Callable[..., list[torch.Tensor | None]]:
        sides = [*zip(schema.inputs, input_counts, strict=True), *zip(schema.outputs, output_counts, strict=True)]
        saved_sides = [(arg, count) for arg, count in sides if arg.name in kept]
        saved_args, saved_counts = [arg for arg, _ in saved_sides], [count for _, count in saved_sides]

        @untraced
        def call(
            saved: Sequence[torch.Tensor], grads: Sequence[torch.Tensor], wanted: Sequence[bool]
        ) -> list[torch.Tensor | None]:
            flags = [need and (not wanted or wanted[i]) for i, need in enumerate(needs)]
            by_input = group_values(schema.inputs, input_counts, flags)
            context = Context(
                schema.name,
                dict(
                    zip(
                        (a.name for a in saved_args),
                        group_with_gaps(saved_args, group_values(saved_args, saved_counts, saved), attrs),
                        strict=True,
                    )
                )
                | dict(attrs),
                {
                    arg.name: any(flag) if isinstance(flag, list) else bool(flag)
                    for arg, flag in zip(schema.inputs, by_input, strict=True)
                },
            )
            result = function(context, *group_values(schema.outputs, output_counts, grads))
            return _flatten(schema, source, result, input_counts, flags, attrs)

        return call

    return {"bind": bind, "saves": kept}


def _flatten(
    schema: Schema,
    source: Source,
    result: object,
    counts: Sequence[int],
    flags: Sequence[bool],
    attrs: Mapping[str, Any],
) -> list[torch.Tensor | None]:
    """Return one gradient for each input tensor. Raises `GradientError` where the author's answer does not fit."""
    names = [arg.name for arg in schema.inputs]

    def refuse(problem: str) -> GradientError:
        return GradientError(
            f'the gradient of op "{schema.name}": {problem}\n  return one for each input ({", ".join(names)}), '
            f"or a dict by name; None where there is none\n  at {source}"
        )

    if isinstance(result, Mapping):
        unknown = [name for name in result if name not in names]
        if unknown:
            raise refuse(f"there is no input {unknown[0]}")
        entries = [result.get(name) for name in names]
    elif len(names) == 1 and not (isinstance(result, tuple) and len(result) == 1):
        entries = [result]
    elif isinstance(result, (tuple, list)) and len(result) == len(names):
        entries = list(result)
    else:
        kind = f"{len(result)} gradients" if isinstance(result, (tuple, list)) else type(result).__name__
        raise refuse(f"expected {len(names)} gradients, found {kind}")
    flat: list[torch.Tensor | None] = []
    for arg, count, entry in zip(schema.inputs, counts, entries, strict=True):
        flat += _tensors(arg, count, compacted(arg, entry, attrs), refuse)
    return [grad if flag else None for grad, flag in zip(flat, flags, strict=True)]


def _tensors(arg: Arg, count: int, entry: object, refuse: Callable[[str], Exception]) -> list[torch.Tensor | None]:
    if entry is None:
        return [None] * count
    items: list[Any] = list(entry) if arg.is_list and isinstance(entry, (tuple, list)) else [entry]
    if len(items) != count:
        raise refuse(f'input "{arg.name}" has {count} tensors, found {len(items)} gradients')
    for item in items:
        if item is not None and not isinstance(item, torch.Tensor):
            raise refuse(f'for input "{arg.name}" expected a tensor, found {type(item).__name__}')
    return items


def forward_fields(schema: Schema, function: Callable[..., Any], source: Source) -> dict[str, Any]:
    """Return what the core needs of a forward-mode rule."""
    refuse_unreachable(schema, source)

    def call(
        counts: Sequence[int],
        primals: Sequence[torch.Tensor],
        tangents: Sequence[torch.Tensor | None],
        outputs: Sequence[torch.Tensor],
        attrs: Mapping[str, Any],
    ) -> list[torch.Tensor | None]:
        # An input without a tangent does not move: zeros keep the author's formula plain.
        moved = [
            torch.zeros_like(primal) if tangent is None and primal.is_floating_point() else tangent
            for primal, tangent in zip(primals, tangents, strict=True)
        ]
        output_counts = _spread(schema.outputs, len(outputs))
        inputs = group_with_gaps(schema.inputs, group_values(schema.inputs, counts, primals), attrs)
        values = dict(zip((a.name for a in schema.inputs), inputs, strict=True))
        values |= zip(
            (a.name for a in schema.outputs), group_values(schema.outputs, output_counts, outputs), strict=True
        )
        context = Context(schema.name, values | dict(attrs), {arg.name: True for arg in schema.inputs})
        tangents_of = group_with_gaps(schema.inputs, group_values(schema.inputs, counts, moved), attrs)
        result = function(context, *tangents_of)
        flat = [result] if isinstance(result, torch.Tensor) or result is None else list(result)
        if len(flat) != len(outputs) or not all(item is None or isinstance(item, torch.Tensor) for item in flat):
            raise GradientError(
                f'the forward-mode rule of op "{schema.name}" gave {len(flat)} tangents, '
                f"expected one for each of {len(outputs)} outputs\n  at {source}"
            )
        return flat

    return {"function": call}


def _spread(args: Sequence[Arg], total: int) -> list[int]:
    counts = [arg.count for arg in args]
    if args and sum(counts) != total:
        counts[-1] += total - sum(counts)
    return counts
