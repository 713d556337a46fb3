"""Reading the text of a schema, `leaky_relu(Tensor x, *, float alpha=0.01) -> Tensor y`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from oneop.authoring.other_forms import EMPTY, INSTEAD, instead_of_output
from oneop.authoring.schema import Arg, Attr, Schema, schema_error
from oneop.authoring.schema_arguments import ALIASES, read_attr, read_tensor
from oneop.errors import RegistrationError, described
from oneop.model.attributes import BY_SCHEMA

_INPUTS_FIRST = "inputs come first, or after a star that stands before all attributes"


def parse_schema(text: str) -> Schema:
    """Read a schema. Raises `RegistrationError` saying which part cannot be read and what could stand there."""
    if not isinstance(text, str):
        raise RegistrationError(
            f"expected the schema of an op, a text such as scale(Tensor x) -> Tensor y, found {described(text)}"
        )
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if not match:
        raise schema_error(text, _why_unreadable(text))
    name, arguments, returns = match.groups()
    inputs: list[Arg] = []
    attrs: list[Attr] = []
    after_star = False
    device = ""
    for part in _arguments(text, arguments):
        if part == "*":
            if after_star:
                raise schema_error(text, "there are two stars; one says that what follows is given by name")
            after_star = True
        elif part.startswith("Tensor"):
            positional = [attr.name for attr in attrs if attr.is_positional]
            if positional:
                raise schema_error(text, f'"{part}" comes after the attribute {positional[-1]}; {_INPUTS_FIRST}')
            inputs.append(replace(read_tensor(text, part, f"input{len(inputs)}"), is_keyword_only=after_star))
        elif re.fullmatch(r"Device\b.*", part, re.DOTALL):
            device = part
        else:
            attrs.append(read_attr(text, part, is_positional=not after_star))
    _check_device(text, device, inputs)
    _check_aliases(text, inputs)
    _check_positions(text, inputs, attrs)
    attrs += [Attr(name=arg.presence, type="bool[]", has_default=True, default=[]) for arg in inputs if arg.has_gaps]
    outputs = _outputs(text, returns)
    taken = {arg.name for arg in inputs} | {attr.name for attr in attrs}
    for output in outputs:
        if output.name in taken and output.name not in returns:
            raise schema_error(
                text, f"{output.name} is what a result without a name is called; give it one: -> Tensor y"
            )
    return Schema(
        text=" ".join(text.split()),
        name=name,
        inputs=tuple(inputs),
        attrs=tuple(attrs),
        outputs=outputs,
    )


def _why_unreadable(text: str) -> str:
    """Say what is wrong with a text that has not the form of a schema."""
    name = re.match(r"\s*(\w+)(::|\.)(\w+)", text)
    if name and name[2] == "::":
        return f"all ops are in the namespace oneop; write the name alone, {name[3]}(...), or {name[1]}__{name[3]}(...)"
    if name:
        return f"an op has no overloads; give it a name of its own, {name[1]}_{name[3]}(...)"
    return "expected name(inputs, *, attributes) -> outputs"


def _check_aliases(text: str, inputs: Sequence[Arg]) -> None:
    """Refuse one alias for two inputs: for torch they would be the same memory."""
    aliases = [arg.alias for arg in inputs if arg.is_mutable]
    for alias in aliases:
        if aliases.count(alias) > 1:
            raise schema_error(
                text, f"two inputs have the alias {alias}, as if they were one tensor; write Tensor(b!) for one"
            )


def _check_device(text: str, part: str, inputs: Sequence[Arg]) -> None:
    """Refuse a device in any form but that in which every op has it that may be called without tensors."""
    if not part:
        return
    if any(not arg.is_optional for arg in inputs):
        raise schema_error(text, f'"{part}": the inputs say where it runs; a device is for ops without inputs')
    if not re.fullmatch(r"Device\?\s+device\s*=\s*None", part):
        raise schema_error(text, f'cannot read "{part}"; a device is written Device? device=None')


def _check_positions(text: str, inputs: Sequence[Arg], attrs: Sequence[Attr]) -> None:
    """Refuse an argument by position that must be given after one that need not."""
    positional = [attr for attr in attrs if attr.is_positional]
    last = inputs[-1] if inputs else None
    left_out = last.name if positional and last and last.is_optional and not last.has_gaps else ""
    for attr in positional:
        if left_out and not attr.has_default:
            raise schema_error(
                text,
                f"{attr.name} has no default and comes after {left_out}, which has one\n"
                "  give it a default, or put a * before it: then it is given by name",
            )
        left_out = attr.name if attr.has_default else left_out


def _outputs(text: str, returns: str) -> tuple[Arg, ...]:
    parts = _arguments(text, returns[1:-1]) if returns.startswith("(") and returns.endswith(")") else [returns]
    for part in parts:
        instead = instead_of_output(part)
        if instead:
            raise schema_error(text, f'cannot read "{part}"; {instead}')
        word = part.split()[0].split("[")[0].split("(")[0].rstrip("?")
        if word in BY_SCHEMA or word in ALIASES or word in INSTEAD or word == "Device":
            raise schema_error(text, f'"{part}": an op returns tensors; write -> Tensor, and return one of one element')
    outputs = [read_tensor(text, part, "out" if len(parts) == 1 else f"out{i}") for i, part in enumerate(parts)]
    if any(output.has_gaps for output in outputs):
        raise schema_error(text, "a list of results has no items that are None; write -> Tensor[]")
    if any(output.is_mutable for output in outputs):
        raise schema_error(text, "an op that changes an input in place returns nothing for it; write -> ()")
    return tuple(outputs)


def _arguments(text: str, arguments: str) -> list[str]:
    """Split at commas. Nothing at all has no part; else each comma stands between two."""
    parts = _split(arguments)
    if not all(parts) and len(parts) > 1:
        raise schema_error(text, EMPTY)
    return [part for part in parts if part]


def _split(text: str) -> list[str]:
    """Split at commas that are in no brackets and no quotes."""
    parts, depth, quote, current = [], 0, "", ""
    escaped = False
    for char in text:
        if quote:
            quote = "" if char == quote and not escaped else quote
            escaped = char == "\\" and not escaped
        elif char in "\"'":
            quote = char
        elif char in "([":
            depth += 1
        elif char in ")]":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(current.strip())
            current = ""
            continue
        current += char
    parts.append(current.strip())
    return parts
