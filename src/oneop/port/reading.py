"""From a compiler's output to the first thing that a file misses."""

from __future__ import annotations

import re

_ERROR = re.compile(r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:\d+:)? (?:fatal )?error: (?P<text>.*)$", re.MULTILINE)
_NVCC = re.compile(
    r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): (?:catastrophic )?error(?: #\S+)?: (?P<text>.*)$", re.MULTILINE
)
_WARNING = re.compile(r"^(?P<file>[^\s:][^:\n]*):\d+:(?:\d+:)? warning: (?P<text>.*)$", re.MULTILINE)
_QUOTED = r"['‘](?P<{}>[^'’]+)['’]"  # noqa: RUF001 (g++ quotes so)

#: (what g++, clang++ or nvcc says, what is missing). The first that fits names it.
_MISSING = tuple(
    (re.compile(pattern.format(a=_QUOTED.format("a"), b=_QUOTED.format("b"))), name)
    for pattern, name in (
        (r"^(?P<a>\S+): No such file or directory", "header {a}"),
        (r"^{a} file not found", "header {a}"),
        (r"^static assertion failed(?:: | due to requirement .*: )(?P<a>.*)", "{a}"),
        (r"^static_assert failed.*\"(?P<a>.*)\"", "{a}"),
        (r"^#error (?P<a>.*)", "{a}"),
        (r"{a} is not a member of {b}", "{b}::{a}"),
        (r"{a} in namespace {b} does not name", "{b}::{a}"),
        (r"no (?:type|member|template) named {a} in {b}", "{b}::{a}"),
        (r"{a} has no member named {b}", "{a}::{b}"),
        (r"(?:invalid use of )?incomplete type {a}", "{a} (declared only)"),
        (r"{a} was not declared in this scope", "{a}"),
        (r"{a} has not been declared", "{a}"),
        (r"{a} does not name a type", "{a}"),
        (r"there are no arguments to {a}", "{a}"),
        (r"use of undeclared identifier {a}", "{a}"),
        (r"no matching function for call to {a}", "a function {a}"),
        (r"could not convert {a} from {b}", "a conversion from {b}"),
        (r'^cannot open source file "(?P<a>[^"]+)"', "header {a}"),
        (r'^namespace "(?P<b>[^"]+)" has no member (?:class )?"(?P<a>[^"]+)"', "{b}::{a}"),
        (r'^(?:class|enum) "(?P<b>[^"]+)" has no member "(?P<a>[^"]+)"', "{b}::{a}"),
        (r'^incomplete type "(?P<a>[^"]+)" is not allowed', "{a} (declared only)"),
        (r'^identifier "(?P<a>[^"]+)" is undefined', "{a}"),
        (r'^(?P<a>[^" ]+) is not a template', "{a}"),
        (r'^no instance of .*"(?P<a>[^"]+)" matches', "a function {a}"),
        (r'^static assertion failed with "(?P<a>[^"]+)"', "{a}"),
        (r"pasting \"(?P<a>[^\"]+)\"", "macro {a}"),
    )
)


def missing_in(output: str) -> tuple[str, str, str]:
    """Return what the first error says is missing, its text, and where it is."""
    error = min(
        filter(None, (_ERROR.search(output), _NVCC.search(output))), key=lambda match: match.start(), default=None
    )
    if error is None:
        last = [line for line in output.splitlines() if line.strip()]
        return "something else", (last[-1] if last else "the compiler said nothing").strip(), ""
    text = error["text"].strip()
    where = f"{error['file']}:{error['line']}"
    for pattern, name in _MISSING:
        match = pattern.search(text)
        if match:
            parts = {key: shorten(_plain(value)) for key, value in match.groupdict().items()}
            return name.format(**parts), text, where
    return shorten(text), text, where


def warnings_in(output: str) -> list[str]:
    """Return the texts of the warnings."""
    return [match["text"] for match in _WARNING.finditer(output)]


def shorten(text: str, limit: int = 90) -> str:
    """Return the text, cut where it is long."""
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _plain(name: str) -> str:
    return re.sub(r"^(?:class|struct|const|using element_type = class) |oneflow::|\{aka .*", "", name).strip()
