"""`oneop verify`: repeat what a certificate says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command, add_json, paint, print_json
from oneop.cli.targets import load_path


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "verify",
        "repeat the checks of a certificate on the files that it names",
        "oneop check fast_gelu.so --certificate fast_gelu.so.certificate.json\n"
        "oneop verify fast_gelu.so.certificate.json fast_gelu.so",
    )
    parser.add_argument("certificate", type=Path, help="what `oneop check --certificate` wrote")
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="what brings the ops, as for `oneop check`")
    parser.add_argument("--files-only", action="store_true", help="compare the files; run no checks")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Load, compare the files, repeat the checks; return 1 if something differs."""
    from oneop.registry import get_op, list_ops
    from oneop.testing.certificate import changed_files, differences, files_of, read_certificate
    from oneop.testing.checker import progress_line, run_check
    from oneop.testing.subject import Hints

    content = read_certificate(options.certificate)
    for path in options.paths:
        load_path(path)
    names = [entry["op"] for entry in content["ops"] if entry["op"] in list_ops()]
    texts = [
        f"{name}: the file is not the one that was certified"
        for name in changed_files(content, [file for name in names for file in files_of(get_op(name))])
    ]
    reports = []
    if not options.files_only:
        settings = content["settings"]
        for name in names:
            reports.append(
                run_check(
                    name,
                    Hints(),
                    only=settings["only"],
                    skip=settings["skip"],
                    examples=settings["examples"],
                    progress=progress_line(),
                )
            )
        texts += differences(content, reports)
    if options.json:
        print_json({"ok": not texts, "differences": texts, "ops": [report.to_json() for report in reports]})
    else:
        for text in texts:
            print(f"{paint('differs', 'red')}  {text}")
        what = "files" if options.files_only else f"{len(reports)} op{'s' if len(reports) != 1 else ''} checked again"
        print(f"{options.certificate}: {'differs' if texts else 'holds'} ({what})")
    return 1 if texts else 0
