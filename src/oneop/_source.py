"""Text files that people write, and how a message points into them."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property
from pathlib import Path

#: Longer lines are not shown whole.
LONGEST_LINE = 240


class SourceText:
    """A file and its text; finds lines by offset."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text

    @cached_property
    def _line_starts(self) -> list[int]:
        starts = [0]
        starts.extend(newline.end() for newline in re.finditer("\n", self.text))
        return starts

    def line_column(self, offset: int) -> tuple[int, int]:
        """Return line and column, both counted from 1."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def offset_of(self, line: int, column: int) -> int:
        """Return the offset of a line and column, both counted from 1."""
        starts = self._line_starts
        return min(starts[min(line, len(starts)) - 1] + column - 1, len(self.text))

    def point_at(self, offset: int, message: str) -> str:
        """Return `file:line:column: error: message`, the source line and a caret under the place."""
        line, column = self.line_column(offset)
        where = f"{self.path}:{line}:{column}"
        start = self._line_starts[line - 1]
        end = self.text.find("\n", start)
        shown = self.text[start : end if end >= 0 else len(self.text)].rstrip("\r")
        if len(shown) > LONGEST_LINE:  # the part around the place
            first = max(0, min(column - LONGEST_LINE // 2, len(shown) - LONGEST_LINE))
            shown, column = shown[first : first + LONGEST_LINE], column - first
        indent = "".join("\t" if char == "\t" else " " for char in shown[: column - 1])
        return f"{where}: error: {message}\n{shown}\n{indent}^"


def cpp_string(text: str) -> str:
    """Return a C++ string literal: what is not plain ASCII as octal escapes, which end after three digits."""
    plain = {ord("\\"): "\\\\", ord('"'): '\\"', ord("?"): "\\?"}
    return '"' + "".join(plain.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text.encode()) + '"'
