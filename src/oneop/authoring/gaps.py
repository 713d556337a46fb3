"""Lists of which items may be None: a call has those that are given, and an attribute that says where they stand."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any

from oneop.authoring.schema import Arg, Schema


def restored(arg: Arg, items: Any, values: Mapping[str, Any]) -> Any:
    """Return the items of an input as the caller gave them, with None where none was given."""
    flags = values.get(arg.presence, ()) if arg.has_gaps else ()
    if not flags:
        return items
    rest = iter(items)
    return [next(rest) if flag else None for flag in flags]


def compacted(arg: Arg, items: Any, values: Mapping[str, Any]) -> Any:
    """Return one item for each tensor that is given, of a list that has one for each place."""
    flags = values.get(arg.presence, ()) if arg.has_gaps else ()
    if not flags or not isinstance(items, (list, tuple)) or len(items) != len(flags):
        return items
    return [item for item, flag in zip(items, flags, strict=True) if flag]


def with_gaps(schema: Schema, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return an author's function as one that takes the attributes of gaps too, and calls it with None in the lists."""
    gapped = [(i, arg) for i, arg in enumerate(schema.inputs) if arg.has_gaps]
    if not gapped or not inspect.isfunction(function):
        return function
    signature = inspect.signature(function)
    hidden = {arg.presence for _, arg in gapped} - set(signature.parameters)

    @functools.wraps(function)
    def filled(*inputs: Any, **values: Any) -> Any:
        arranged: list[Any] = list(inputs)
        for i, arg in gapped:
            arranged[i] = restored(arg, arranged[i], values)
        return function(*arranged, **{name: value for name, value in values.items() if name not in hidden})

    own = [p for p in signature.parameters.values() if p.kind is not Parameter.VAR_KEYWORD]
    rest = [p for p in signature.parameters.values() if p.kind is Parameter.VAR_KEYWORD]
    added = [Parameter(name, Parameter.KEYWORD_ONLY) for name in sorted(hidden)]
    filled.__signature__ = signature.replace(parameters=[*own, *added, *rest])  # type: ignore[attr-defined]
    return filled


def group_with_gaps(args: Sequence[Arg], grouped: Sequence[Any], values: Mapping[str, Any]) -> list[Any]:
    """Return entries of inputs, one for each, with None where an item was not given."""
    return [restored(arg, items, values) for arg, items in zip(args, grouped, strict=True)]
