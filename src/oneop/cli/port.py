"""`oneop port`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop.cli.output import add_command, add_json, note, paint, print_json, table
from oneop.errors import ArgumentError

if TYPE_CHECKING:
    from oneop.port.survey import FileReport, Survey


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "port",
        "say which sources of a OneFlow checkout, or of a folder, build with this SDK",
        "oneop port --survey ~/oneflow\n"
        "oneop port --survey ~/oneflow --group kernels --json > kernels.json\n"
        "oneop port --survey ~/oneflow --failed-in kernels.json   # these again\n"
        "oneop port --survey my_ops",
    )
    parser.add_argument(
        "--survey", type=Path, required=True, metavar="PATH", help="a OneFlow checkout, or a folder or file of sources"
    )
    parser.add_argument(
        "--group", action="append", default=[], metavar="NAME", help="of a checkout: ops, kernels, gradients, functors"
    )
    parser.add_argument(
        "-I", dest="include", action="append", default=[], type=Path, metavar="FOLDER", help="of headers"
    )
    parser.add_argument("--failed-in", type=Path, metavar="FILE", help="only files that need something in this report")
    parser.add_argument("--all", action="store_true", help="list the files that build too")
    parser.add_argument("-j", "--jobs", type=int, default=2, help="compilers run at once (2)")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Survey, print what was found, and return 1 if a file in scope does not build."""
    from oneop.port.survey import NEEDS, survey

    result = survey(
        options.survey,
        groups=options.group,
        include_dirs=[folder.resolve() for folder in options.include],
        only=_failed_in(options.failed_in) if options.failed_in else None,
        jobs=options.jobs,
        progress=_show,
    )
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if options.json:
        print_json(result.as_dict())
    else:
        _print(result, everything=options.all)
    return 1 if any(report.verdict == NEEDS for report in result.files) else 0


def _failed_in(path: Path) -> set[str]:
    from oneop.port.survey import NEEDS

    try:
        files = json.loads(path.read_text())["files"]
        return {row["file"] for row in files if row["verdict"] == NEEDS}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArgumentError(f"{path} is no report of `oneop port --survey --json`: {error}") from None


def _show(done: int, total: int, report: FileReport) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{done} of {total}  {report.file}"[:110], end="", file=sys.stderr, flush=True)
    elif done % 50 == 0:
        note(f"{done} of {total}")


def _print(result: Survey, *, everything: bool) -> None:
    from oneop.port.survey import BUILDS, NEEDS, OUT, WARNS

    rows = []
    for report in result.files:
        if everything or report.verdict in (NEEDS, WARNS):
            said = report.text if report.verdict != OUT else ""
            rows.append([report.file, report.verdict, report.what, said[:100]])
    if rows:
        print(table(rows, header=["file", "verdict", "what", "the compiler's first words"]), end="\n\n")
    for text in result.notes:
        print(f"not made: {text}")
    lists = (("first thing missing", result.needed()), ("out of scope", result.left_out()))
    for title, counted in lists:
        if counted:
            print(table([[str(number), what] for what, number in counted], header=["files", title]), end="\n\n")
    rows = []
    for group, counts in result.counts().items():
        good = counts[BUILDS] + counts[WARNS]
        scope = good + counts[NEEDS]
        share = f"{100 * good / scope:.1f}%" if scope else "-"
        rows.append([group, str(good), str(counts[WARNS]), str(counts[NEEDS]), str(scope), share, str(counts[OUT])])
    header = ["group", "build", "of them with warnings", "need something", "in scope", "share", "out of scope"]
    print(table(rows, header=header))
    if not any(counts[NEEDS] for counts in result.counts().values()):
        print(paint("every file in scope builds", "green"))
