"""`oneop check`."""

from __future__ import annotations

import argparse
import contextlib
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop.cli.output import add_command, add_json, paint, print_json
from oneop.cli.targets import add_load, find_ops

if TYPE_CHECKING:
    from oneop.testing.report import CheckReport


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
    parser.add_argument("--hosts", action="store_true", help="only compare hosts: numpy, jax, onnxruntime")
    parser.add_argument("--examples", type=int, default=24, metavar="N", help="calls that a family tries (24)")
    parser.add_argument("--strict", action="store_true", help="what is missing, such as a gradient, fails too")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="write what was found there, as JSON")
    parser.add_argument(
        "--timeout",
        type=float,
        default=120.0,
        metavar="S",
        help="seconds that one call may take (120)",
    )
    parser.add_argument("--state", type=Path, help=argparse.SUPPRESS)
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check, print the reports, and return 1 if something failed; as a command, in a process of its own."""
    if options.words is not None and options.state is None:
        return run_guarded(options.words, options.timeout)
    return run_here(options)


def run_guarded(words: list[str], timeout: float) -> int:
    """Run the same command in another process; if a kernel ends that or does not return, say which call it is."""
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder) / "state.json"
        child = subprocess.Popen([sys.executable, "-m", "oneop", *words, "--state", str(state)])
        hangs = _wait(child, state, timeout)
        if not hangs and child.returncode >= 0:
            return child.returncode
        known = json.loads(state.read_text()) if state.is_file() else {}
        where = f"{known['op']}, {known['family']}: " if known else ""
        if hangs:
            print(f"{where}this call did not return within {timeout:g} s", file=sys.stderr)
        else:
            name = signal.Signals(-child.returncode).name
            print(f"{where}the process was ended by {name} during this call", file=sys.stderr)
        for line in [known.get("case", ""), "reproduce:", *(f"  {line}" for line in known.get("reproduce", []))]:
            print(f"  {line}", file=sys.stderr)
        return 1


def _wait(child: subprocess.Popen[bytes], state: Path, timeout: float) -> bool:
    """Wait for the child; end it and return True if it is at the same call for too long."""
    before, since = "", time.monotonic()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(0.5)
            return False
        now = state.read_text() if state.is_file() else ""
        if now != before:
            before, since = now, time.monotonic()
        elif now and time.monotonic() - since > timeout:
            child.kill()
            child.wait()
            return True


def _write_state(path: Path) -> Callable[[str, str], None]:
    """Have each call written down before it is tried; return what says which family it belongs to."""
    from oneop.testing import explore
    from oneop.testing.case import Case
    from oneop.testing.report import lines_for

    now = {"op": "", "family": ""}

    def write(case: Case) -> None:
        path.write_text(json.dumps({**now, "case": str(case), "reproduce": lines_for(case, now["family"], ())}))

    explore.watchers.append(write)
    return lambda op, family: now.update(op=op, family=family)


def run_here(options: argparse.Namespace) -> int:
    """Check in this process."""
    from oneop.testing.checker import progress_line, run_check
    from oneop.testing.subject import Hints

    note_family = _write_state(options.state) if options.state is not None else None
    bar = progress_line()

    def progress(op: str, family: str, done: int, total: int) -> None:
        if note_family is not None:
            note_family(op, family)
        if bar is not None:
            bar(op, family, done, total)

    reports = []
    for op in find_ops(options.target, options.load):
        report = run_check(
            op,
            Hints(),
            only=["hosts", *(options.only or ())] if options.hosts else options.only,
            skip=options.skip,
            examples=options.examples,
            strict=options.strict,
            progress=progress,
        )
        reports.append(report)
        if not options.json:
            print(_painted(str(report)), flush=True)
    if options.json:
        print_json([report.to_json() for report in reports])
    if options.certificate is not None:
        _write_certificate(options, reports)
    return 0 if all(report.ok for report in reports) else 1


def _write_certificate(options: argparse.Namespace, reports: list[CheckReport]) -> None:
    from oneop.testing.certificate import Settings, make_certificate

    only = tuple(options.only) if options.only else None
    settings = Settings(only=only, skip=tuple(options.skip), examples=options.examples)
    options.certificate.write_text(json.dumps(make_certificate(reports, settings), indent=1) + "\n")


def _painted(text: str) -> str:
    colors = {"passed": "green", "failed": "red", "partial": "yellow", "missing": "yellow", "skipped": "dim"}
    lines = []
    for line in text.splitlines():
        word = line.split()[0] if line.startswith("  ") and line.strip() else ""
        plain = not line.startswith("  ") or word not in colors
        lines.append(line if plain else line.replace(word, paint(word, colors[word], stream=sys.stdout), 1))
    return "\n".join(lines)
