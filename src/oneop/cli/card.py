"""`oneop card`: one page that says everything about an op."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command, note
from oneop.cli.targets import add_load, find_ops, load_all, load_project
from oneop.errors import ArgumentError


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "card",
        "make a page of an op: schema, kernels, gradient, SBP, checks, speed",
        "oneop card myop -o myop.html\noneop card --all --load ops.py -o cards\noneop card myop --no-bench",
    )
    parser.add_argument("target", nargs="?", metavar="OP|PATH", help="an op, or a path that brings some")
    add_load(parser)
    parser.add_argument("--all", action="store_true", help="all ops, in a folder with an index")
    parser.add_argument("-o", "--output", type=Path, help="file, or folder for several (OP.html, cards)")
    parser.add_argument("--no-check", action="store_true", help="do not check the op")
    parser.add_argument("--no-bench", action="store_true", help="do not measure it")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the pages, and print their paths; return 1 if a check failed."""
    from oneop.card import collect, render, render_index
    from oneop.plugins import load_plugins
    from oneop.registry import list_ops

    if options.all:
        load_all([*options.load, *([options.target] if options.target else [])])
        load_project()
        load_plugins()
        names = list_ops()
        if not names:
            raise ArgumentError("there are no ops\n  load some: --load PATH")
    else:
        names = find_ops(options.target, options.load)
    cards = [collect(name, check=not options.no_check, bench=not options.no_bench, progress=note) for name in names]
    if len(cards) == 1 and not options.all:
        path = options.output or Path(f"{names[0]}.html")
        path.write_text(render(cards[0]))
        print(path)
    else:
        folder = options.output or Path("cards")
        folder.mkdir(parents=True, exist_ok=True)
        for name, card in zip(names, cards, strict=True):
            (folder / f"{name}.html").write_text(render(card))
        files = [(f"{name}.html", card) for name, card in zip(names, cards, strict=True)]
        (folder / "index.html").write_text(render_index(files))
        print(folder / "index.html")
    return 0 if all(card.report is None or card.report.ok for card in cards) else 1
