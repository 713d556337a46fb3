"""`oneop gen`: stubs and reference pages from what is registered."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command
from oneop.cli.targets import add_load, find_ops


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "gen",
        "write type stubs and reference pages of ops",
        "oneop gen . -o generated\noneop gen . -o generated --check      # in CI: exit status 1 if a file is old",
    )
    parser.add_argument("target", nargs="?", metavar="OP|PATH", help="an op, or a path that brings some")
    add_load(parser)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("generated"), metavar="FOLDER", help="where (generated)"
    )
    parser.add_argument("--check", action="store_true", help="write nothing; say which files are old or missing")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files, or compare them."""
    from oneop.reference_pages import page, stubs
    from oneop.registry import get_op

    ops = [get_op(name) for name in find_ops(options.target, options.load)]
    here = str(Path.cwd())
    files = {"ops.pyi": stubs(ops)} | {f"{op.name}.md": page(op, relative_to=here) for op in ops}
    old = []
    for name, text in files.items():
        path = options.output / name
        if path.is_file() and path.read_text() == text:
            continue
        if options.check:
            old.append(path)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(path)
    for path in old:
        print(f"{path} {'is old' if path.is_file() else 'is missing'}", file=sys.stderr)
    return 1 if old else 0
