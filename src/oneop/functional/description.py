"""Reading `functional_api.yaml`: which functions there are and how they are called."""

from __future__ import annotations

import keyword
import os
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

import yaml

from oneop._source import SourceText
from oneop.errors import FunctionalError
from oneop.functional.signature import CPP_KEYWORDS, Signature, parse_signature

#: Several times the largest description there is; a megabyte takes seconds to parse.
LONGEST_FILE = 1_000_000

KEYS = ("name", "signature", "bind_python", "doc")


@dataclass(frozen=True, kw_only=True)
class Function:
    """An entry: a function and its signatures, tried in this order. `bind_python`: it is `oneop._C.<name>`."""

    name: str
    signatures: tuple[Signature, ...]
    bind_python: bool
    doc: str
    file: str
    line: int
    column: int


def read_yaml(path: str | os.PathLike[str]) -> tuple[Function, ...]:
    """Return the functions that a file describes, without building anything.

    Raises `FunctionalError`, with file, line, column, the source line and a caret, if it is malformed.
    """
    file = Path(path)
    try:
        source = SourceText(file, file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FunctionalError(f"{file}:1:1: error: not UTF-8 text: {error.reason}", str(file), 1, 1) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise FunctionalError(f"{file}:1:1: error: cannot read it: {reason}", str(file), 1, 1) from None
    if len(source.text) > LONGEST_FILE:
        text = f"the file has {len(source.text):,} characters; at most {LONGEST_FILE:,} are read"
        raise FunctionalError(f"{file}:1:1: error: {text}", str(file), 1, 1)
    return _Reader(source).read()


class _Reader:
    def __init__(self, source: SourceText) -> None:
        self.source = source

    def fail(self, offset: int, message: str) -> NoReturn:
        line, column = self.source.line_column(offset)
        text = self.source.point_at(offset, message)
        raise FunctionalError(text, str(self.source.path), line, column)

    def offset(self, mark: yaml.Mark) -> int:
        return self.source.offset_of(mark.line + 1, mark.column + 1)

    def read(self) -> tuple[Function, ...]:
        try:
            root = yaml.compose(self.source.text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self.fail(self.offset(mark) if mark else 0, f"not YAML: {error.problem or error.context}")
        except yaml.YAMLError as error:
            self.fail(getattr(error, "position", 0), f"not YAML: {getattr(error, 'reason', error)}")
        except RecursionError:
            self.fail(0, "nested too deeply")
        if root is None:
            return ()
        if not isinstance(root, yaml.SequenceNode):
            self.fail(self.offset(root.start_mark), "expected a list of functions: `- name: ...`")
        functions = [self.read_entry(node) for node in root.value]
        names: dict[str, Function] = {}
        for function in functions:
            first = names.setdefault(function.name, function)
            if first is not function:
                text = f'function "{function.name}" is there already, in line {first.line}; that one counts'
                warnings.warn(f"{function.file}:{function.line}: {text}", stacklevel=3)
        return tuple(names.values())

    def read_entry(self, node: yaml.Node) -> Function:
        if not isinstance(node, yaml.MappingNode):
            self.fail(self.offset(node.start_mark), "expected an entry with name, signature and bind_python")
        fields: dict[str, yaml.Node] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.value not in KEYS:
                self.fail(self.offset(key.start_mark), f"unknown key; there are {', '.join(KEYS)}")
            if key.value in fields:
                self.fail(self.offset(key.start_mark), f"a second {key.value}")
            fields[key.value] = value
        for key_name in ("name", "signature"):
            if key_name not in fields:
                self.fail(self.offset(node.start_mark), f"the entry has no {key_name}")
        name = self.scalar(fields["name"], "a name")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            self.fail(self.offset(fields["name"].start_mark), f"the name must be an identifier, not {name!r}")
        if name in CPP_KEYWORDS or keyword.iskeyword(name):
            language = "C++" if name in CPP_KEYWORDS else "Python"
            self.fail(
                self.offset(fields["name"].start_mark), f"{name!r} cannot be a name: it is a keyword of {language}"
            )
        line, column = self.source.line_column(self.offset(node.start_mark))
        return Function(
            name=name,
            signatures=tuple(self.signatures(fields["signature"])),
            bind_python=self.boolean(fields["bind_python"]) if "bind_python" in fields else False,
            doc=self.scalar(fields["doc"], "text") if "doc" in fields else "",
            file=str(self.source.path),
            line=line,
            column=column,
        )

    def signatures(self, node: yaml.Node) -> Iterator[Signature]:
        nodes: Sequence[yaml.Node] = node.value if isinstance(node, yaml.SequenceNode) else [node]
        if not nodes:
            self.fail(self.offset(node.start_mark), "expected at least one signature")
        for entry in nodes:
            text = self.scalar(entry, "a signature")
            start = self.offset(entry.start_mark)
            # In a one-line string the place can be told to the column; folded text only to its beginning.
            inside = self.source.text.find(text, start, self.offset(entry.end_mark))
            yield parse_signature(text, partial(self.fail_in, start, inside))

    def fail_in(self, start: int, inside: int, at: int, message: str) -> NoReturn:
        self.fail(inside + at if inside >= 0 else start, message)

    def scalar(self, node: yaml.Node, what: str) -> str:
        if not isinstance(node, yaml.ScalarNode):
            self.fail(self.offset(node.start_mark), f"expected {what}")
        return str(node.value)

    def boolean(self, node: yaml.Node) -> bool:
        value = self.scalar(node, "True or False")
        if value.lower() not in ("true", "false"):
            self.fail(self.offset(node.start_mark), f"expected True or False, found {value!r}")
        return value.lower() == "true"
