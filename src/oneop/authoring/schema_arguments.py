"""One argument of a schema: `Tensor x`, `float alpha=0.01`."""

from __future__ import annotations

import re
from dataclasses import replace

from oneop.authoring.other_forms import INSTEAD, VIEW, instead_of
from oneop.authoring.schema import Arg, Attr, schema_error
from oneop.authoring.schema_defaults import read_default
from oneop.errors import RegistrationError, did_you_mean
from oneop.model.attributes import BY_SCHEMA

ALIASES = {"ScalarType": "dtype", "ScalarType[]": "dtype[]", "int64": "int", "int64[]": "int[]", "double": "float"}
ALIASES |= {"SymInt": "int", "SymInt[]": "int[]", "string": "str", "string[]": "str[]"}

#: As many as the ABI allows for one argument.
MOST_TENSORS = 65536

#: Lists of a fixed length for which one number may stand in a default, as torch has it.
_SPREAD = ("int[]", "int32[]", "float[]", "float32[]", "bool[]")


def read_tensor(text: str, part: str, name: str) -> Arg:
    """Return an input or output. `name` is for one without a name."""
    match = re.fullmatch(
        r"Tensor(\(\w+(!?)\))?(\?)?(\[(\d*)(\+?)\])?(\?)?\s*([A-Za-z_]\w*)?\s*(?:=\s*(None|\[\]))?", part
    )
    if not match:
        if re.match(r"Tensor\([^)!]*\)", part):
            raise schema_error(text, f'"{part}" is {VIEW}')
        if instead_of(part):
            raise schema_error(text, f'cannot read "{part}"; {instead_of(part)}')
        near = did_you_mean(re.split(r"\W", part)[0], ["Tensor"]) if not part.startswith("Tensor") else ""
        forms = "Tensor x, Tensor? x, Tensor[] x, Tensor[2] x or Tensor(a!) x"
        raise schema_error(text, f'cannot read "{part}"{near or ";"} expected {forms}')
    alias, writes, mark, bracket, count, plus, optional, own_name, default = match.groups()
    has_gaps = bool(mark and bracket)
    if has_gaps and (count or writes or optional):
        raise schema_error(text, f'cannot read "{part}"; a list of which items may be None is Tensor?[]')
    if alias and not writes:
        raise schema_error(text, f'"{part}" is {VIEW}')
    if count and int(count) > MOST_TENSORS:
        raise schema_error(text, f'"{part}" has too many tensors: at most {MOST_TENSORS} are possible')
    return Arg(
        name=own_name or name,
        count=int(count) if count else 1,
        count_is_minimum=bool(bracket) and (not count or bool(plus)),
        is_optional=bool(mark) or bool(optional) or bool(default),
        is_mutable=bool(writes),
        alias=alias[1:-2] if writes else "",
        has_gaps=has_gaps,
    )


def read_attr(text: str, part: str, *, is_positional: bool) -> Attr:
    """Return an attribute."""
    match = re.fullmatch(r"([A-Za-z_]\w*(?:\[\d*\])?\??)\s+([A-Za-z_]\w*)\s*(?:=\s*(.+))?", part, re.DOTALL)
    if not match:
        if instead_of(part):
            raise schema_error(text, f'cannot read "{part}"; {instead_of(part)}')
        near = [INSTEAD[word] for word in INSTEAD if part.startswith((f"{word}(", f"{word} ", f"{word}?"))]
        instead = f"\n  {near[0]}" if near else ""
        raise schema_error(text, f'cannot read "{part}"; expected a type and a name, such as float alpha=0.01{instead}')
    word, name, default = match.groups()
    is_optional = word.endswith("?")
    word = word.removesuffix("?")
    sized = re.fullmatch(r"(\w+)\[(\d+)\]", word)
    list_size = int(sized[2]) if sized else 0
    if sized and not 0 < list_size <= MOST_TENSORS:
        raise schema_error(text, f'"{part}": a list of a fixed length has 1 to {MOST_TENSORS} items, found {list_size}')
    listed = f"{sized[1]}[]" if sized else word
    kind = ALIASES.get(listed, listed)
    if kind not in BY_SCHEMA:
        raise _no_type(text, part, word)
    attr = Attr(name=name, type=kind, is_optional=is_optional, is_positional=is_positional, list_size=list_size)
    if default is None:
        return attr
    default = default.strip()
    if default != "None":
        value = read_default(text, part, kind, default)
        if list_size and kind in _SPREAD and not isinstance(value, (list, tuple)):
            value = [value] * list_size
        return replace(attr, has_default=True, default=value)
    if not is_optional:
        raise schema_error(text, f'"{part}": only an optional attribute may be None; write {word}? {name}=None')
    return replace(attr, has_default=True)


def _no_type(text: str, part: str, word: str) -> RegistrationError:
    instead = INSTEAD.get(word) or INSTEAD.get(word.split("[")[0])
    if instead is not None:
        return schema_error(text, f'"{part}": there is no attribute type {word}\n  {instead}')
    near = did_you_mean(word, ["Tensor", *BY_SCHEMA])
    types = ", ".join(["Tensor", *BY_SCHEMA])
    return schema_error(text, f'"{part}": there is no attribute type {word}{near}\n  there are: {types}')
