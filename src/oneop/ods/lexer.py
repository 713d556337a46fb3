"""Tokens of TableGen: comments, strings, code, includes and the preprocessor.

Written by hand, like the parser: a table-driven one (lark) needs 1.5 s for the 12,000 lines that this reads in a third
of that, and points less well at what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NoReturn

from oneop._source import SourceText
from oneop.errors import OdsError
from oneop.ods.work import TooMuchWork, spend, spend_text

KEYWORDS = frozenset(
    "class def defm multiclass let in foreach if then else defvar defset assert dump deftype field bit bits list int "
    "string code dag true false".split()
)

#: The files of OneFlow and MLIR that prelude/prelude.td stands in for, where they are not found.
BUILT_IN = (
    *(f"OneFlow/OneFlow{name}.td" for name in ("Base", "Dialect", "Enums", "Interfaces")),
    *(f"mlir/IR/{name}.td" for name in ("AttrTypeBase", "EnumAttr", "FunctionInterfaces", "OpAsmInterface", "OpBase")),
    "mlir/IR/SymbolInterfaces.td",
    *(f"mlir/Interfaces/{name}.td" for name in ("CallInterfaces", "ControlFlowInterfaces", "InferTypeOpInterface")),
    *(f"mlir/Interfaces/{name}.td" for name in ("LoopLikeInterface", "SideEffectInterfaces")),
    "mlir/Pass/PassBase.td",
)

#: Steps that an include counts, see work.py: a file that is opened costs more than a token.
INCLUDE_STEPS = 80

_TOKEN = re.compile(
    r"""(?:[ \t\r\n]++|//[^\n]*+)*+
    (?:(?P<name>[0-9]*[A-Za-z_][A-Za-z_0-9]*)
      |(?P<code>\[\{)
      |(?P<punct>\.\.\.|[{}\[\]()<>;:,=.?])
      |(?P<number>[+-]?[0-9]++)
      |(?P<string>"(?:[^"\\\n]++|\\[^\n])*+")
      |(?P<var>\$[A-Za-z_][A-Za-z_0-9]*)
      |(?P<bang>![a-zA-Z]+)
      |(?P<hash>\#)
      |(?P<block>/\*)
      |(?P<minus>-)
      |(?P<end>\Z)
    )""",
    re.VERBOSE,
)
_PREFIXED = re.compile(r"0[xX][0-9a-fA-F]+|0[bB][01]+")
_DIRECTIVE = re.compile(r"#(ifdef|ifndef|else|endif|define)\b[ \t]*([A-Za-z_]\w*)?[ \t]*")
_DIRECTIVE_LINE = re.compile(r"^[ \t]*(?=#(?:ifdef|ifndef|else|endif)\b)", re.MULTILINE)
_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


class Token:
    """A token and where it is. `kind` is a keyword, a punctuation mark, or one of those named in `_TOKEN`."""

    __slots__ = ("kind", "offset", "source", "value")

    def __init__(self, kind: str, value: str | int, source: SourceText, offset: int) -> None:
        self.kind = kind
        self.value = value
        self.source = source
        self.offset = offset

    @property
    def text(self) -> str:
        """The value of a token that is text."""
        return str(self.value)

    def fail(self, message: str) -> NoReturn:
        """Raise an `OdsError` that points at this token."""
        fail_at(self.source, self.offset, message)


def fail_at(source: SourceText, offset: int, message: str) -> NoReturn:
    """Raise an `OdsError` that points at this place."""
    line, column = source.line_column(offset)
    raise OdsError(source.point_at(offset, message), str(source.path), line, column)


class Lexer:
    """Reads a file and what it includes into one list of tokens."""

    def __init__(self, include_dirs: Sequence[Path], defines: Iterable[str]) -> None:
        self.include_dirs = include_dirs
        self.macros = set(defines)
        self.sources: list[SourceText] = []
        self.tokens: list[Token] = []
        self.absent: set[str] = set()  # where an included file was looked for and not found

    def read(self, source: SourceText) -> list[Token]:
        """Return all tokens; the last one is of the kind `end`."""
        self._read_source(source, [])
        return self.tokens

    # long: one loop over the tokens of a file, a case for each kind; calls in it would cost time for every token.
    def _read_source(self, source: SourceText, including: list[Path]) -> None:
        self.sources.append(source)
        text, match, tokens = source.text, _TOKEN.match, self.tokens
        open_ifs: list[tuple[int, bool]] = []  # offset of each #if, and whether its #else was seen
        offset = 0
        while True:
            token = match(text, offset)
            if token is None:
                self._fail_unknown(source, offset)
            kind = token.lastgroup
            start = token.start(kind or 0)
            offset = token.end()
            try:
                spend()
            except TooMuchWork as error:
                fail_at(source, start, str(error))
            if kind == "name":
                name = token[kind]
                if name == "include":
                    offset = self._include(source, offset, start, [*including, source.path])
                elif (
                    name[0] == "0" and len(name) > 1 and name[1] in "xXbB" and (number := _PREFIXED.match(text, start))
                ):
                    offset = number.end()
                    if name[1] in "bB":
                        self._check_length(source, start, len(number[0]))
                        tokens.append(Token("binary", number[0][2:], source, start))
                        continue
                    value = int(number[0], 0)
                    if value >= 1 << 64:
                        fail_at(source, start, f"{_shorten(number[0])} does not fit in 64 bits")
                    tokens.append(Token("number", value - (1 << 64) if value >= 1 << 63 else value, source, start))
                else:
                    tokens.append(Token(name if name in KEYWORDS else "name", name, source, start))
            elif kind == "punct" or kind == "minus":
                tokens.append(Token(token[kind], token[kind], source, start))
            elif kind == "number":
                digits = token[kind].lstrip("+-").lstrip("0")
                sign = -1 if token[kind][0] == "-" else 1
                value = sign * int(digits or "0") if len(digits) < 20 else 1 << 64  # int() refuses very many digits
                if not -(1 << 63) <= value < 1 << 63:
                    fail_at(source, start, f"{_shorten(token[kind])} does not fit in 64 bits")
                tokens.append(Token("number", value, source, start))
            elif kind == "string":
                self._check_length(source, start, len(token[kind]))
                tokens.append(Token("string", self._unescape(source, start, token[kind][1:-1]), source, start))
            elif kind == "var":
                tokens.append(Token("var", token[kind][1:], source, start))
            elif kind == "bang":
                tokens.append(Token("bang", token[kind][1:], source, start))
            elif kind == "code":
                offset = text.find("}]", offset)
                if offset < 0:
                    fail_at(source, start, "this code block is not closed: }] is missing")
                self._check_length(source, start, offset - start)
                tokens.append(Token("code", text[start + 2 : offset], source, start))
                offset += 2
            elif kind == "block":
                offset = self._skip_comment(source, start)
            elif kind == "hash":
                directive = self._directive_at(source, start)
                if directive is None:
                    tokens.append(Token("#", "#", source, start))
                else:
                    offset = self._run_directive(source, directive, open_ifs)
            else:
                break
        if open_ifs:
            fail_at(source, open_ifs[-1][0], "this #ifdef has no #endif")
        if not including:
            tokens.append(Token("end", "", source, offset))

    def _check_length(self, source: SourceText, start: int, length: int) -> None:
        try:
            spend_text(length)
        except TooMuchWork as error:
            fail_at(source, start, str(error))

    def _include(self, source: SourceText, offset: int, start: int, including: list[Path]) -> int:
        token = _TOKEN.match(source.text, offset)
        if token is None or token.lastgroup != "string":
            fail_at(source, start, "include needs a file name in quotes")
        name = self._unescape(source, token.start("string"), token["string"][1:-1])
        path = self._find(name, source.path)
        try:
            spend(INCLUDE_STEPS)
        except TooMuchWork as error:
            fail_at(source, start, str(error))
        if path is None:
            if name.lstrip("/") not in BUILT_IN:
                self._fail_missing(source, token.start("string"), name)
        elif path in including:
            fail_at(source, token.start("string"), f"'{name}' includes itself")
        else:
            self._read_source(read_source(path, source, token.start("string")), including)
        return token.end()

    def _find(self, name: str, including: Path) -> Path | None:
        # "/mlir/x.td" is not an absolute path: as in LLVM, a folder and the name are joined as texts.
        folders = [including.parent, *self.include_dirs]
        for path in (Path(name), *(Path(f"{folder}/{name}") for folder in folders)):
            if is_file(path):
                return path
            self.absent.add(str(path.absolute()))
        return None

    def _fail_missing(self, source: SourceText, offset: int, name: str) -> NoReturn:
        folders = dict.fromkeys(str(folder) for folder in (source.path.parent, *self.include_dirs))
        message = f"could not find include file '{name}' in {', '.join(folders)}"
        if name.lstrip("/").startswith(("OneFlow/", "mlir/")):
            message += f"; add its folder to include_dirs. Built in are {', '.join(BUILT_IN)}"
        fail_at(source, offset, message)

    def _directive_at(self, source: SourceText, start: int) -> re.Match[str] | None:
        line = source.text.rfind("\n", 0, start) + 1
        return _DIRECTIVE.match(source.text, start) if not source.text[line:start].strip() else None

    def _run_directive(self, source: SourceText, directive: re.Match[str], open_ifs: list[tuple[int, bool]]) -> int:
        word, name, start = directive[1], directive[2], directive.start()
        rest = source.text[directive.end() :].split("\n", 1)[0].strip()
        if word in ("ifdef", "ifndef", "define") and not name:
            fail_at(source, start, f"#{word} needs a name")
        if rest and not rest.startswith(("//", "/*")):
            fail_at(source, directive.end(), f"only comments may follow #{word}")
        if word == "define":
            if name in self.macros:
                fail_at(source, start, f"macro {name} is defined already")
            self.macros.add(name)
        elif word in ("ifdef", "ifndef"):
            open_ifs.append((start, False))
            if (name in self.macros) != (word == "ifdef"):
                return self._skip_branch(source, directive.end(), open_ifs)
        elif not open_ifs:
            fail_at(source, start, f"#{word} without #ifdef")
        elif word == "endif":
            open_ifs.pop()
        else:
            self._mark_else(source, start, open_ifs)
            return self._skip_branch(source, directive.end(), open_ifs)
        return directive.end()

    def _mark_else(self, source: SourceText, start: int, open_ifs: list[tuple[int, bool]]) -> None:
        opened, seen = open_ifs[-1]
        if seen:
            fail_at(source, start, "a second #else for one #ifdef")
        open_ifs[-1] = (opened, True)

    def _skip_branch(self, source: SourceText, offset: int, open_ifs: list[tuple[int, bool]]) -> int:
        """Go past a branch that is not taken; return where to read on."""
        depth = len(open_ifs)
        for line in _DIRECTIVE_LINE.finditer(source.text, offset):
            directive = _DIRECTIVE.match(source.text, line.end())
            if directive is None:
                continue
            if directive[1] in ("ifdef", "ifndef"):
                open_ifs.append((directive.start(), False))
            elif directive[1] == "else":
                self._mark_else(source, directive.start(), open_ifs)
                if len(open_ifs) == depth:
                    return directive.end()
            else:
                open_ifs.pop()
                if len(open_ifs) < depth:
                    return directive.end()
        fail_at(source, open_ifs[-1][0], "this #ifdef has no #endif")

    def _skip_comment(self, source: SourceText, start: int) -> int:
        depth = 0
        for mark in re.compile(r"/\*|\*/").finditer(source.text, start):
            depth += 1 if mark[0] == "/*" else -1
            if depth == 0:
                return mark.end()
        fail_at(source, start, "this comment is not closed")

    def _unescape(self, source: SourceText, start: int, text: str) -> str:
        if "\\" not in text:
            return text

        def escape(match: re.Match[str]) -> str:
            if match[1] not in _ESCAPES:
                fail_at(source, start + 1 + match.start(), f"unknown escape \\{match[1]} in a string")
            return _ESCAPES[match[1]]

        return re.sub(r"\\(.)", escape, text)

    def _fail_unknown(self, source: SourceText, offset: int) -> NoReturn:
        blank = re.compile(r"(?:[ \t\r\n]+|//[^\n]*)*").match(source.text, offset)
        at = blank.end() if blank else offset
        if source.text[at : at + 1] == '"':
            fail_at(source, at, "this string is not closed on its line")
        fail_at(source, at, f"unexpected character {source.text[at : at + 1]!r}")


def _shorten(number: str) -> str:
    return number if len(number) <= 40 else f"{number[:20]}... ({len(number)} digits)"


def is_file(path: Path) -> bool:
    """Tell whether this is a file; a name that no file can have is not an error."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def read_source(path: Path, source: SourceText | None = None, offset: int = 0) -> SourceText:
    """Return the file's text. Raises `OdsError` if it cannot be read; `source` and `offset` say who asked for it."""
    try:
        return SourceText(path, path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        message = f"{path} is not UTF-8 text: {error.reason} at byte {error.start}"
    except (OSError, ValueError) as error:
        message = f"cannot read {path}: {error.strerror if isinstance(error, OSError) else error}"
    if source is None:
        raise OdsError(f"{path}:1:1: error: {message}", str(path), 1, 1)
    fail_at(source, offset, message)
