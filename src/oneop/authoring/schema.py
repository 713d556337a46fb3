"""The text of a schema, `leaky_relu(Tensor x, *, float alpha=0.01) -> Tensor y`, and what it says."""

from __future__ import annotations

import ast
import cmath
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from oneop.authoring.other_forms import EMPTY, VIEW, instead_of, instead_of_output
from oneop.errors import RegistrationError, described, did_you_mean
from oneop.model.attributes import BY_SCHEMA

_ALIASES = {"ScalarType": "dtype", "ScalarType[]": "dtype[]", "int64": "int", "int64[]": "int[]", "double": "float"}
_ALIASES |= {"SymInt": "int", "SymInt[]": "int[]", "string": "str", "string[]": "str[]"}


@dataclass(frozen=True, kw_only=True)
class Arg:
    """An input or output."""

    name: str
    count: int = 1
    count_is_minimum: bool = False
    is_optional: bool = False
    is_mutable: bool = False
    alias: str = ""  # the a of Tensor(a!)
    has_gaps: bool = False  # items of the list may be None
    is_keyword_only: bool = False  # written after the star; signatures show it

    @property
    def presence(self) -> str:
        """The attribute that says which items are given, where some may be None."""
        return f"{self.name}_given"

    @property
    def is_list(self) -> bool:
        """Whether it holds a list of tensors."""
        return self.count != 1 or self.count_is_minimum


@dataclass(frozen=True, kw_only=True)
class Attr:
    """An attribute; `default` counts only if `has_default`."""

    name: str
    type: str
    is_optional: bool = False  # the value may be None
    is_positional: bool = False  # a call may give it by position, after the inputs
    has_default: bool = False
    default: object = None
    list_size: int = 0  # the length that a list must have; 0: any


@dataclass(frozen=True, kw_only=True)
class Schema:
    """What a schema says."""

    text: str
    name: str
    inputs: tuple[Arg, ...]
    attrs: tuple[Attr, ...]
    outputs: tuple[Arg, ...]


#: Types of torch that schemas here have not, and what to write instead.
INSTEAD = {
    "Layout": "write str k, and its name",
    "MemoryFormat": "write str k, and its name",
    "Stream": "leave it out: kernels run on torch's current stream",
    "Storage": "write Tensor x, and give a tensor of the storage",
    "Generator": "leave it out and say random: kernels draw from torch's generator",
    "QScheme": "write str k, and its name",
    "Dimname": "write str k",
    "Any": "write a type; a choice of several is an attribute for each, with a default",
    "Dict": "write two lists, of keys and of values",
    "DeviceIndex": "leave it out: the inputs say where it runs",
    "Capsule": "leave it out: an op takes tensors, numbers, texts, dtypes and lists of them",
    "NoneType": "leave it out: its value is always None",
    "None": "leave it out: its value is always None",
    "SymFloat": "write float k",
    "SymBool": "write bool k",
    "complex[]": "write float[] k, real and imaginary parts in turn",
    "Scalar[]": "write float[] k, or int[] k",
}

_INPUTS_FIRST = "inputs come first, or after a star that stands before all attributes"

#: As many as the ABI allows for one argument.
MOST_TENSORS = 65536

#: Lists of a fixed length for which one number may stand in a default, as torch has it.
_SPREAD = ("int[]", "int32[]", "float[]", "float32[]", "bool[]")


def parse_schema(text: str) -> Schema:
    """Read a schema. Raises `RegistrationError` saying which part cannot be read and what could stand there."""
    if not isinstance(text, str):
        raise RegistrationError(
            f"expected the schema of an op, a text such as scale(Tensor x) -> Tensor y, found {described(text)}"
        )
    match = re.fullmatch(r"\s*([A-Za-z_]\w*)\s*\((.*)\)\s*->\s*(.+?)\s*", text, re.DOTALL)
    if not match:
        raise _error(text, _why_unreadable(text))
    name, arguments, returns = match.groups()
    inputs: list[Arg] = []
    attrs: list[Attr] = []
    after_star = False
    device = ""
    for part in _arguments(text, arguments):
        if part == "*":
            if after_star:
                raise _error(text, "there are two stars; one says that what follows is given by name")
            after_star = True
        elif part.startswith("Tensor"):
            positional = [attr.name for attr in attrs if attr.is_positional]
            if positional:
                raise _error(text, f'"{part}" comes after the attribute {positional[-1]}; {_INPUTS_FIRST}')
            inputs.append(replace(_tensor(text, part, f"input{len(inputs)}"), is_keyword_only=after_star))
        elif re.fullmatch(r"Device\b.*", part, re.DOTALL):
            device = part
        else:
            attrs.append(_attr(text, part, is_positional=not after_star))
    _check_device(text, device, inputs)
    _check_aliases(text, inputs)
    _check_positions(text, inputs, attrs)
    attrs += [Attr(name=arg.presence, type="bool[]", has_default=True, default=[]) for arg in inputs if arg.has_gaps]
    outputs = _outputs(text, returns)
    taken = {arg.name for arg in inputs} | {attr.name for attr in attrs}
    for output in outputs:
        if output.name in taken and output.name not in returns:
            raise _error(text, f"{output.name} is what a result without a name is called; give it one: -> Tensor y")
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
            raise _error(
                text, f"two inputs have the alias {alias}, as if they were one tensor; write Tensor(b!) for one"
            )


def _check_device(text: str, part: str, inputs: Sequence[Arg]) -> None:
    """Refuse a device in any form but that in which every op has it that may be called without tensors."""
    if not part:
        return
    if any(not arg.is_optional for arg in inputs):
        raise _error(text, f'"{part}": the inputs say where it runs; a device is for ops without inputs')
    if not re.fullmatch(r"Device\?\s+device\s*=\s*None", part):
        raise _error(text, f'cannot read "{part}"; a device is written Device? device=None')


def _check_positions(text: str, inputs: Sequence[Arg], attrs: Sequence[Attr]) -> None:
    """Refuse an argument by position that must be given after one that need not."""
    positional = [attr for attr in attrs if attr.is_positional]
    last = inputs[-1] if inputs else None
    left_out = last.name if positional and last and last.is_optional and not last.has_gaps else ""
    for attr in positional:
        if left_out and not attr.has_default:
            raise _error(
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
            raise _error(text, f'cannot read "{part}"; {instead}')
        word = part.split()[0].split("[")[0].split("(")[0].rstrip("?")
        if word in BY_SCHEMA or word in _ALIASES or word in INSTEAD or word == "Device":
            raise _error(text, f'"{part}": an op returns tensors; write -> Tensor, and return one of one element')
    outputs = [_tensor(text, part, "out" if len(parts) == 1 else f"out{i}") for i, part in enumerate(parts)]
    if any(output.has_gaps for output in outputs):
        raise _error(text, "a list of results has no items that are None; write -> Tensor[]")
    if any(output.is_mutable for output in outputs):
        raise _error(text, "an op that changes an input in place returns nothing for it; write -> ()")
    return tuple(outputs)


def _tensor(text: str, part: str, name: str) -> Arg:
    match = re.fullmatch(
        r"Tensor(\(\w+(!?)\))?(\?)?(\[(\d*)(\+?)\])?(\?)?\s*([A-Za-z_]\w*)?\s*(?:=\s*(None|\[\]))?", part
    )
    if not match:
        if re.match(r"Tensor\([^)!]*\)", part):
            raise _error(text, f'"{part}" is {VIEW}')
        if instead_of(part):
            raise _error(text, f'cannot read "{part}"; {instead_of(part)}')
        near = did_you_mean(re.split(r"\W", part)[0], ["Tensor"]) if not part.startswith("Tensor") else ""
        forms = "Tensor x, Tensor? x, Tensor[] x, Tensor[2] x or Tensor(a!) x"
        raise _error(text, f'cannot read "{part}"{near or ";"} expected {forms}')
    alias, writes, mark, bracket, count, plus, optional, own_name, default = match.groups()
    has_gaps = bool(mark and bracket)
    if has_gaps and (count or writes or optional):
        raise _error(text, f'cannot read "{part}"; a list of which items may be None is Tensor?[]')
    if alias and not writes:
        raise _error(text, f'"{part}" is {VIEW}')
    if count and int(count) > MOST_TENSORS:
        raise _error(text, f'"{part}" has too many tensors: at most {MOST_TENSORS} are possible')
    return Arg(
        name=own_name or name,
        count=int(count) if count else 1,
        count_is_minimum=bool(bracket) and (not count or bool(plus)),
        is_optional=bool(mark) or bool(optional) or bool(default),
        is_mutable=bool(writes),
        alias=alias[1:-2] if writes else "",
        has_gaps=has_gaps,
    )


def _attr(text: str, part: str, *, is_positional: bool) -> Attr:
    match = re.fullmatch(r"([A-Za-z_]\w*(?:\[\d*\])?\??)\s+([A-Za-z_]\w*)\s*(?:=\s*(.+))?", part, re.DOTALL)
    if not match:
        if instead_of(part):
            raise _error(text, f'cannot read "{part}"; {instead_of(part)}')
        near = [INSTEAD[word] for word in INSTEAD if part.startswith((f"{word}(", f"{word} ", f"{word}?"))]
        instead = f"\n  {near[0]}" if near else ""
        raise _error(text, f'cannot read "{part}"; expected a type and a name, such as float alpha=0.01{instead}')
    word, name, default = match.groups()
    is_optional = word.endswith("?")
    word = word.removesuffix("?")
    sized = re.fullmatch(r"(\w+)\[(\d+)\]", word)
    list_size = int(sized[2]) if sized else 0
    if sized and not 0 < list_size <= MOST_TENSORS:
        raise _error(text, f'"{part}": a list of a fixed length has 1 to {MOST_TENSORS} items, found {list_size}')
    listed = f"{sized[1]}[]" if sized else word
    kind = _ALIASES.get(listed, listed)
    if kind not in BY_SCHEMA:
        raise _no_type(text, part, word)
    attr = Attr(name=name, type=kind, is_optional=is_optional, is_positional=is_positional, list_size=list_size)
    if default is None:
        return attr
    default = default.strip()
    if default != "None":
        value = _default(text, part, kind, default)
        if list_size and kind in _SPREAD and not isinstance(value, (list, tuple)):
            value = [value] * list_size
        return replace(attr, has_default=True, default=value)
    if not is_optional:
        raise _error(text, f'"{part}": only an optional attribute may be None; write {word}? {name}=None')
    return replace(attr, has_default=True)


def _no_type(text: str, part: str, word: str) -> RegistrationError:
    instead = INSTEAD.get(word) or INSTEAD.get(word.split("[")[0])
    if instead is not None:
        return _error(text, f'"{part}": there is no attribute type {word}\n  {instead}')
    near = did_you_mean(word, ["Tensor", *BY_SCHEMA])
    types = ", ".join(["Tensor", *BY_SCHEMA])
    return _error(text, f'"{part}": there is no attribute type {word}{near}\n  there are: {types}')


def _default(text: str, part: str, kind: str, default: str) -> object:
    if kind == "dtype":
        named = _dtype(default)
        if named is not None:
            return named
    if kind == "dtype[]":
        dtypes = _dtypes(default)
        if dtypes is not None:
            return dtypes
    literal = default
    if kind in ("complex", "Scalar") and re.fullmatch(r"\(.*[jJ]\s*\)", default):
        literal = default[1:-1].strip()  # a complex number as Python prints it: (1+2j)
    try:
        tree = ast.parse(literal, mode="eval")
        if not _is_plain(literal, tree):
            raise ValueError
        value = ast.literal_eval(_Names().visit(tree))
    except (ValueError, SyntaxError):
        raise _error(text, f'"{part}": {default} is no literal of type {kind}') from None
    if any(isinstance(node, ast.Constant) and _is_cut(node.value) for node in ast.walk(ast.parse(literal))):
        raise _error(text, f'"{part}": {default} does not fit type {kind}')
    return value


#: A text or bytes: what C++ reads too. Names of characters, texts side by side and other prefixes are not.
_TEXT = re.compile(r"""[bB]?('([^'\\\n]|\\(?!N)(.|\n))*'|"([^"\\\n]|\\(?!N)(.|\n))*")""")


def _is_plain(default: str, tree: ast.Expression) -> bool:
    """Tell whether a literal is one that op.h reads too: no brackets around one value, and plain texts."""
    tuples = sum(isinstance(node, ast.Tuple) for node in ast.walk(tree))
    if _TEXT.sub("", default).count("(") != tuples:
        return False
    texts = [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, (str, bytes))]
    return all(_TEXT.fullmatch(ast.get_source_segment(default, node) or "") for node in texts)


def _is_cut(value: object) -> bool:
    """Tell whether a number is written with digits and yet infinite."""
    return isinstance(value, (float, complex)) and not isinstance(value, bool) and cmath.isinf(value)


class _Names(ast.NodeTransformer):
    """Puts the numbers in place of `inf` and `nan`, as Python writes them in a repr."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """Return the number, or the name if it is another one."""
        return ast.Constant(float(node.id)) if node.id in ("inf", "nan") else node


def _dtypes(text: str) -> list[torch.dtype] | None:
    """Return the dtypes of a list or tuple of names, None if it is none."""
    if (text[:1], text[-1:]) not in (("[", "]"), ("(", ")")):
        return None
    names = [name.strip() for name in text[1:-1].split(",")]
    if text[0] == "(" and len(names) == 1 and names[0]:
        return None  # brackets around one name
    if not names[-1] and (len(names) == 1 or names[-2]):
        names.pop()  # after the last comma
    dtypes = [_dtype(name) for name in names]
    return None if None in dtypes else [dtype for dtype in dtypes if dtype is not None]


def _dtype(name: str) -> torch.dtype | None:
    value = getattr(torch, name.removeprefix("torch."), None)
    return value if isinstance(value, torch.dtype) else None


def _arguments(text: str, arguments: str) -> list[str]:
    """Split at commas. Nothing at all has no part; else each comma stands between two."""
    parts = _split(arguments)
    if not all(parts) and len(parts) > 1:
        raise _error(text, EMPTY)
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


def _error(text: str, problem: str) -> RegistrationError:
    return RegistrationError(f'schema "{" ".join(text.split())}": {problem}')
