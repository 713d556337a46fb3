"""Regular expressions as llvm-tblgen has them: POSIX's extended ones, read into those of Python."""

from __future__ import annotations

import functools
import re

_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "blank": r" \t",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t-\r ",
    "upper": "A-Z",
    "xdigit": "0-9A-Fa-f",
}
_TOKEN = re.compile(
    r"\\(?P<escaped>.)|(?P<set>\[\^?\]?(?:\[:\w+:\]|[^\]])*\])|(?P<bound>\{\d+(?:,\d*)?\})|(?P<plain>.)", re.DOTALL
)


class BadPattern(Exception):
    """An expression that is none."""


@functools.lru_cache(256)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Return the expression for `search`. Raises `BadPattern`."""
    parts: list[str] = []
    is_repeated = False
    for match in _TOKEN.finditer(pattern):
        kind, text = match.lastgroup, match[match.lastgroup or 0]
        repeats = kind == "bound" or (kind == "plain" and text in "*+?")
        if repeats and (is_repeated or not parts or parts[-1] in ("(", "|", "^")):
            raise BadPattern(f"there is nothing that {text!r} could repeat")
        is_repeated = repeats
        if kind == "escaped":
            parts.append(f"\\{text}" if text in "123456789" else re.escape(text))
        elif kind == "set":
            parts.append(_set(text))
        elif kind == "bound" or text in "*+?()|^.":
            parts.append(text)
        elif text == "[":
            raise BadPattern("a [ is not closed")
        else:
            parts.append(r"\Z" if text == "$" else re.escape(text))
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error as error:
        raise BadPattern(str(error)) from None


def _set(text: str) -> str:
    """Return a set of characters; in POSIX's a backslash is a character like others."""
    start = "[^" if text.startswith("[^") else "["
    inner = text[len(start) : -1]
    read = []
    for part in re.split(r"(\[:\w+:\])", inner):
        if part.startswith("[:") and part.endswith(":]"):
            if part[2:-2] not in _CLASSES:
                raise BadPattern(f"there is no class of characters {part}")
            read.append(_CLASSES[part[2:-2]])
        else:
            read.append(re.sub(r"([\\\[\]&~|^])", r"\\\1", part))
    return f"{start}{''.join(read)}]"
