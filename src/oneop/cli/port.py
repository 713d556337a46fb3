"""`oneop port`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop.cli.new import owner_of_name
from oneop.cli.output import add_command, add_json, note, paint, print_json, table
from oneop.errors import ArgumentError

if TYPE_CHECKING:
    from oneop.port.survey import FileReport, Survey


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "port",
        "bring ops from OneFlow: make a project of them, say which sources build, check them against torch",
        "oneop port relu_op.cpp relu_kernel.cpp -o my_relu\n"
        "oneop port --survey ~/oneflow\n"
        "oneop port --survey ~/oneflow --group kernels --json > kernels.json\n"
        "oneop port --survey ~/oneflow --failed-in kernels.json   # these again\n"
        "oneop port --survey ~/oneflow --group cuda --jobs 16\n"
        "oneop port --survey my_ops\n"
        "oneop port --check ~/oneflow --work objects --op relu --op softmax",
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="sources of ops, kernels and gradients")
    parser.add_argument("-o", dest="project", type=Path, metavar="PROJECT", help="make a project of the FILEs there")
    parser.add_argument(
        "--reference",
        action="append",
        default=[],
        metavar="OP=FUNCTION",
        help="with FILEs: what an op should compute: relu=torch.relu",
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--survey", type=Path, metavar="PATH", help="a OneFlow checkout, or a folder or file of sources")
    what.add_argument(
        "--check", type=Path, metavar="PATH", help="a OneFlow checkout: build its ops, compare them with torch"
    )
    parser.add_argument("--op", action="append", default=[], metavar="NAME", help="with --check: only this op")
    parser.add_argument("--work", type=Path, metavar="FOLDER", help="with --check: keep objects here for the next time")
    parser.add_argument("--examples", type=int, default=12, metavar="N", help="with --check: calls a family tries (12)")
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME",
        help="of a checkout: ops, kernels, gradients, functors; cuda",
    )
    parser.add_argument(
        "-I", dest="include", action="append", default=[], type=Path, metavar="FOLDER", help="of headers"
    )
    parser.add_argument("--failed-in", type=Path, metavar="FILE", help="only files that need something in this report")
    parser.add_argument("--all", action="store_true", help="list the files that build too")
    parser.add_argument(
        "-j", "--jobs", type=int, metavar="N", help="compilers or checks run at once (one on each core)"
    )
    parser.add_argument(
        "--batch", type=int, default=8, metavar="N", help="with --check: ops that one process checks, one by one (8)"
    )
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Do what is asked for, print what was found, and return 1 if something does not build or is wrong."""
    _refuse(options)
    if options.files or options.project is not None:
        return run_project(options)
    if options.check is not None:
        return run_trial(options)
    if options.survey is None:
        raise ArgumentError("expected FILE... and -o PROJECT, --survey PATH or --check PATH")
    from oneop.port.survey import NEEDS, survey

    result = survey(
        options.survey,
        groups=options.group,
        include_dirs=[folder.resolve() for folder in options.include],
        only=_failed_in(options.failed_in) if options.failed_in else None,
        jobs=options.jobs or 0,
        progress=_show,
    )
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    if options.json:
        print_json(result.as_dict())
    else:
        _print(result, everything=options.all)
    return 1 if any(report.verdict == NEEDS for report in result.files) else 0


def _refuse(options: argparse.Namespace) -> None:
    """Raise `ArgumentError` for what makes no sense, before anything is compiled."""
    for flag, number in (("--jobs", options.jobs), ("--batch", options.batch), ("--examples", options.examples)):
        if number is not None and number < 1:
            raise ArgumentError(f"{flag}: expected a number from 1, found {number}")
    for folder in options.include:
        if not folder.is_dir():
            raise ArgumentError(f"-I: there is no folder {folder}")
    if options.op and options.check is None:
        raise ArgumentError("--op goes with --check PATH")
    if options.op:
        from oneop.port.references import REFERENCES

        for name in options.op:
            if name not in REFERENCES:
                near = get_close_matches(name, REFERENCES, n=3)
                raise ArgumentError(
                    f'--op: no reference is known of an op "{name}", so it cannot be checked'
                    + (f"\n  did you mean {' or '.join(near)}?" if near else "")
                )


def run_project(options: argparse.Namespace) -> int:
    """Make a project of some sources, and print its files."""
    from oneop.port.project import port_files

    folder: Path | None = options.project
    if not options.files or folder is None:
        raise ArgumentError("a project needs both: oneop port FILE... -o PROJECT")
    name = folder.name
    if not (name.isidentifier() and name.isascii()) or owner_of_name(name):
        raise ArgumentError(f"{name!r} cannot be the name of a project\n  expected one that nothing has: my_ops")
    if folder.exists():
        raise ArgumentError(f"{folder} is there already\n  choose another name, or another folder")
    references = dict(pair.split("=", 1) if "=" in pair else (pair, "") for pair in options.reference)
    if not all(references.values()):
        raise ArgumentError("--reference: expected OP=FUNCTION, as in relu=torch.relu")
    ported = port_files(options.files, name, references)
    if not ported.ops:
        raise ArgumentError(f"{', '.join(map(str, options.files))}: no op is defined there, nor implemented")
    for path, text in sorted(ported.files.items()):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    print("\n".join(str(folder / path) for path in sorted(ported.files)))
    for text in ported.notes:
        note(text)
    unknown = [op for op in ported.ops if op not in ported.checked]
    if unknown:
        note(f"without a reference: {', '.join(unknown)}; name one in src/{name}/reference.py")
    note(f"next: cd {folder} && pytest, or oneop check")
    return 0


def run_trial(options: argparse.Namespace) -> int:
    """Build a checkout's ops and check them; return 1 if one is wrong."""
    from oneop.port.trial import ENDED, WRONG, build_library, check_ops

    with tempfile.TemporaryDirectory(prefix="oneop-port-") as folder:
        trial = build_library(options.check, options.work or Path(folder), jobs=options.jobs or 0, progress=_show_name)
        check_ops(
            trial,
            options.op,
            examples=options.examples,
            jobs=options.jobs or 0,
            batch=options.batch,
            progress=_show_name,
        )
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    absent = sorted(set(options.op) - {report.op for report in trial.reports})
    if absent:
        raise ArgumentError(
            f"--op: the library of {options.check} has no kernel of {', '.join(absent)}"
            + "".join(f"\n  does not build: {name}" for name in sorted(trial.failed)[:5])
        )
    if options.json:
        print_json(trial.as_dict())
    else:
        for name in sorted(trial.failed):
            print(f"does not build: {name}")
        for name in trial.left:
            print(f"needs a file that is not there: {name}")
        rows = [[report.op, report.verdict, str(report.calls), report.text[:100]] for report in trial.reports]
        print(table(rows, header=["op", "verdict", "calls", "notes"]), end="\n\n")
        counts = Counter(report.verdict for report in trial.reports)
        print(", ".join(f"{number} {verdict}" for verdict, number in counts.items()) or "no op has a reference")
    return 1 if any(report.verdict in (WRONG, ENDED) for report in trial.reports) else 0


def _show_name(done: int, total: int, name: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{done} of {total}  {name}"[:110], end="", file=sys.stderr, flush=True)
    elif done % 50 == 0:
        note(f"{done} of {total}")


def _failed_in(path: Path) -> set[str]:
    from oneop.port.survey import NEEDS

    try:
        files = json.loads(path.read_text())["files"]
        return {row["file"] for row in files if row["verdict"] == NEEDS}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ArgumentError(f"{path} is no report of `oneop port --survey --json`: {error}") from None


def _show(done: int, total: int, report: FileReport) -> None:
    _show_name(done, total, report.file)


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
