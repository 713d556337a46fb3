"""How commands print: tables, colours where a terminal shows them, JSON."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from oneop.settings import settings

#: Columns of a table get no narrower than this.
NARROWEST = 12

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def has_color(stream: TextIO) -> bool:
    """Tell whether a stream shows colours: a terminal does, unless NO_COLOR is set."""
    return stream.isatty() and not settings.no_color


def paint(text: str, *styles: str, stream: TextIO | None = None) -> str:
    """Return text in these styles if the stream shows them."""
    if not styles or not has_color(stream or sys.stdout):
        return text
    return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"


def table(rows: Sequence[Sequence[str]], *, header: Sequence[str] = (), indent: str = "", wrap: bool = True) -> str:
    """Return rows in columns; the header is bold on a terminal.

    On a terminal that is too narrow the widest cells continue on the next line, unless `wrap` is False. In a pipe a row
    is always one line.
    """
    everything = [list(header), *rows] if header else [list(row) for row in rows]
    if not everything:
        return ""
    widths = [max(len(row[i]) if i < len(row) else 0 for row in everything) for i in range(max(map(len, everything)))]
    if wrap and sys.stdout.isatty():
        _narrow(widths, shutil.get_terminal_size().columns - len(indent))
    lines = []
    for number, row in enumerate(everything):
        cells = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=False)]
        for parts in itertools.zip_longest(*cells, fillvalue=""):
            line = indent + "  ".join(f"{part:{width}}" for part, width in zip(parts, widths, strict=False)).rstrip()
            lines.append(paint(line, "bold") if header and number == 0 else line)
    return "\n".join(lines)


def _narrow(widths: list[int], columns: int) -> None:
    """Make the widest columns narrower until a row fits, or none is wider than a short word."""
    while sum(widths) + 2 * (len(widths) - 1) > columns and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1


def _wrapped(cell: str, width: int) -> list[str]:
    return [cell] if len(cell) <= width else textwrap.wrap(cell, max(width, 1))


def place_text(source: object) -> str:
    """Return where something is registered, relative to the working folder if it is below that."""
    return str(source).removeprefix(f"{Path.cwd()}{os.sep}")


def print_json(value: Any) -> None:
    """Print a value as JSON."""
    print(json.dumps(value, indent=2, default=str))


def note(text: str) -> None:
    """Print a line of progress, on stderr."""
    print(paint(text, "dim", stream=sys.stderr), file=sys.stderr, flush=True)


def add_command(commands: Any, name: str, help: str, examples: str, **options: Any) -> argparse.ArgumentParser:
    """Add a command with its examples."""
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=textwrap.fill(help[0].upper() + help[1:] + ".", 79),
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **options,
    )
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
