"""A schema from an annotated function: `def scale(x: Tensor, k: int = 2) -> Tensor` says what a schema's text says."""

from __future__ import annotations

import dis
import inspect
import types
import typing
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch

from oneop.authoring.binding import Source
from oneop.authoring.other_forms import INSTEAD
from oneop.errors import RegistrationError, described
from oneop.model.attributes import ATTR_TYPES

#: What an annotation means; where several types of attributes look alike in Python, the widest one.
_KINDS: dict[Any, str] = {
    torch.Tensor: "Tensor",
    list[torch.Tensor]: "Tensor[]",
    Sequence[torch.Tensor]: "Tensor[]",
    list[torch.Tensor | None]: "Tensor?[]",
    Sequence[torch.Tensor | None]: "Tensor?[]",
    tuple[int, ...]: "shape",
    list[tuple[int, ...]]: "shape[]",
    torch.types.Number: "Scalar",  # int | float | bool
}
#: Annotations of types that torch's schemas have and ours have not, and what to write instead.
_OTHERS: dict[Any, str] = {
    torch.device: "leave it out: the inputs say where it runs, and an op without inputs takes device by itself",
    torch.layout: INSTEAD["Layout"],
    torch.memory_format: INSTEAD["MemoryFormat"],
    torch.Generator: INSTEAD["Generator"],
    torch.Stream: INSTEAD["Stream"],
    torch.SymBool: INSTEAD["SymBool"],
    torch.SymFloat: INSTEAD["SymFloat"],
    typing.Any: INSTEAD["Any"],
    dict: INSTEAD["Dict"],
    int | float: "write int | float | bool for a number that keeps its kind, or float",
}
_WIDEST = {"int": "int", "float": "float", "list[int]": "int[]", "list[float]": "float[]"}
for _kind in ATTR_TYPES:
    _annotation = eval(_kind.annotation, {"torch": torch})
    _KINDS.setdefault(_annotation, _WIDEST.get(_kind.annotation, _kind.schema))
    if typing.get_origin(_annotation) is list:
        _KINDS.setdefault(types.GenericAlias(Sequence, typing.get_args(_annotation)), _KINDS[_annotation])


def schema_of_function(function: Callable[..., Any], mutates: Collection[str], source: Source) -> str:
    """Return the schema that a function's name, parameters and annotations say. Raises `RegistrationError`."""
    name = function.__name__

    def refuse(problem: str) -> RegistrationError:
        return RegistrationError(f"{name}: {problem}\n  at {source}")

    try:
        hints = typing.get_type_hints(function)
    except Exception as error:
        raise refuse(f"its annotations cannot be read: {error}") from error
    parameters = inspect.signature(function).parameters
    unknown = [changed for changed in mutates if changed not in parameters]
    if unknown:
        raise refuse(f"mutates names {unknown[0]}, which is no parameter; there are: {', '.join(parameters)}")
    parts: list[str] = []
    for parameter in parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            stars = "*" if parameter.kind is parameter.VAR_POSITIONAL else "**"
            raise refuse(f"an op has a fixed number of arguments, found {stars}{parameter.name}; use list[Tensor]")
        if parameter.name not in hints:
            raise refuse(f"parameter {parameter.name} has no annotation, such as {parameter.name}: Tensor")
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        kind = _kind_of(hints[parameter.name])
        if kind is None:
            raise refuse(
                f"parameter {parameter.name}: no schema has the type {_text(hints[parameter.name])}\n"
                f"  {_instead_of(hints[parameter.name])}"
            )
        if kind.startswith("Tensor") and not _is_absent(parameter.default):
            raise refuse(
                f"parameter {parameter.name}: an input may have the default None and no other, "
                f"found {described(parameter.default)}\n"
                f"  write {parameter.name}: Tensor | None = None, and put the tensor in its place in the body"
            )
        parts.append(_parameter(parameter, kind, len(parts) if parameter.name in mutates else None))
    if "return" not in hints:
        raise refuse("the result has no annotation; write -> Tensor, -> tuple[Tensor, Tensor] or -> None")
    return f"{name}({', '.join(parts)}) -> {_returns(hints['return'], refuse)}"


def _instead_of(annotation: Any) -> str:
    """Say what to write in place of an annotation that no schema has."""
    choices = [kind for kind in typing.get_args(annotation) if kind is not type(None)]
    is_optional = type(None) in typing.get_args(annotation)
    plain = typing.Union[tuple(choices)] if is_optional else annotation  # noqa: UP007
    plain = typing.get_origin(plain) if typing.get_origin(plain) is dict else plain
    for other, instead in _OTHERS.items():
        if plain == other:
            return instead
    return f"there are: {', '.join(dict.fromkeys(_text(known) for known in _KINDS))}, each with | None"


def _is_absent(default: object) -> bool:
    return default is inspect.Parameter.empty or default is None or (isinstance(default, (list, tuple)) and not default)


def _parameter(parameter: inspect.Parameter, kind: str, alias: int | None) -> str:
    if alias is not None:
        name = chr(ord("a") + alias) if alias < 26 else f"a{alias}"
        kind = kind.replace("Tensor", f"Tensor({name}!)", 1)
    if parameter.default is parameter.empty:
        return f"{kind} {parameter.name}"
    if kind.startswith("Tensor"):
        return f"{kind} {parameter.name}=None"
    default = list(parameter.default) if isinstance(parameter.default, tuple) else parameter.default
    text = repr(default)
    return f"{kind} {parameter.name}={text.replace('torch.', '') if kind.startswith('dtype') else text}"


def _kind_of(annotation: Any) -> str | None:
    """Return how a schema writes a type, None if it has no such type."""
    if typing.get_origin(annotation) in (typing.Union, types.UnionType) and annotation not in _KINDS:
        others = tuple(kind for kind in typing.get_args(annotation) if kind is not type(None))
        inner = _kind_of(typing.Union[others]) if len(others) < len(typing.get_args(annotation)) else None  # noqa: UP007
        return None if inner is None else f"{inner}?"
    try:
        return _KINDS.get(_plain(annotation))
    except TypeError:  # not hashable: no type
        return None


def _plain(annotation: Any) -> Any:
    """Return typing.List[int] as list[int], which it is not equal to."""
    origin = typing.get_origin(annotation)
    if origin not in (list, tuple, Sequence):
        return annotation
    return types.GenericAlias(origin, tuple(_plain(item) for item in typing.get_args(annotation)))


def _returns(annotation: Any, refuse: Callable[[str], RegistrationError]) -> str:
    if annotation is type(None):
        return "()"
    items = typing.get_args(annotation) if typing.get_origin(annotation) is tuple else (annotation,)
    kinds = [_kind_of(item) for item in items]
    if any(kind not in ("Tensor", "Tensor[]") for kind in kinds):
        raise refuse(
            f"an op returns tensors, found -> {_text(annotation)}\n  return a tensor of one element for a number"
        )
    return str(kinds[0]) if len(kinds) == 1 else f"({', '.join(map(str, kinds))})"


def _text(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) and not typing.get_args(annotation) else str(annotation)


#: What a function that does nothing is compiled to.
_NOTHING = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}


def has_body(function: Callable[..., Any]) -> bool:
    """Tell whether a function does anything: `def f(x: Tensor) -> Tensor: ...` only says what it takes."""
    steps = list(dis.get_instructions(function))
    constants = {step.argval for step in steps if step.opname in ("LOAD_CONST", "RETURN_CONST")}
    return not ({step.opname for step in steps} <= _NOTHING and constants <= {None, function.__doc__})
