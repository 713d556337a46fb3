"""How commands print: tables, colours where a terminal shows them, JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any, TextIO

from oneop.settings import settings

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


def has_color(stream: TextIO) -> bool:
    """Tell whether a stream shows colours: a terminal does, unless NO_COLOR is set."""
    return stream.isatty() and not settings.no_color


def paint(text: str, *styles: str, stream: TextIO | None = None) -> str:
    """Return text in these styles if the stream shows them."""
    if not styles or not has_color(stream or sys.stdout):
        return text
    return f"\033[{';'.join(_CODES[style] for style in styles)}m{text}\033[0m"


def table(rows: Sequence[Sequence[str]], *, header: Sequence[str] = (), indent: str = "") -> str:
    """Return rows in columns; the header is bold on a terminal."""
    everything = [list(header), *rows] if header else [list(row) for row in rows]
    if not everything:
        return ""
    widths = [max(len(row[i]) if i < len(row) else 0 for row in everything) for i in range(max(map(len, everything)))]
    lines = []
    for number, row in enumerate(everything):
        line = indent + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)).rstrip()
        lines.append(paint(line, "bold") if header and number == 0 else line)
    return "\n".join(lines)


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
        description=help[0].upper() + help[1:] + ".",
        epilog="examples:\n" + "\n".join(f"  {line}" for line in examples.strip().splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        **options,
    )
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`."""
    parser.add_argument("--json", action="store_true", help="print JSON")
