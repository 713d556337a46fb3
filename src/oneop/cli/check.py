"""`oneop check`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from oneop.cli.output import add_command, add_json, paint, print_json
from oneop.cli.targets import add_load, find_ops


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "check",
        "verify ops: inference, memory, kernels, gradients, transforms, programs",
        "oneop check myop\noneop check leaky_relu.cpp --only memory\noneop check leaky_relu --load ops.py --json",
    )
    parser.add_argument("target", nargs="?", metavar="OP|PATH", help="an op, or a path that brings some")
    add_load(parser)
    parser.add_argument("--only", action="append", metavar="FAMILY", help="run this family of checks")
    parser.add_argument("--skip", action="append", default=[], metavar="FAMILY", help="leave this family out")
    parser.add_argument("--examples", type=int, default=24, metavar="N", help="calls that a family tries (24)")
    parser.add_argument("--strict", action="store_true", help="what is missing, such as a gradient, fails too")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check, print the reports, and return 1 if something failed."""
    from oneop.testing.checker import progress_line, run_check
    from oneop.testing.subject import Hints

    reports = []
    for op in find_ops(options.target, options.load):
        report = run_check(
            op,
            Hints(),
            only=options.only,
            skip=options.skip,
            examples=options.examples,
            strict=options.strict,
            progress=progress_line(),
        )
        reports.append(report)
        if not options.json:
            print(_painted(str(report)), flush=True)
    if options.json:
        print_json([report.to_json() for report in reports])
    return 0 if all(report.ok for report in reports) else 1


def _painted(text: str) -> str:
    colors = {"passed": "green", "failed": "red", "missing": "yellow", "skipped": "dim"}
    lines = []
    for line in text.splitlines():
        word = line.split()[0] if line.startswith("  ") and line.strip() else ""
        plain = not line.startswith("  ") or word not in colors
        lines.append(line if plain else line.replace(word, paint(word, colors[word], stream=sys.stdout), 1))
    return "\n".join(lines)
