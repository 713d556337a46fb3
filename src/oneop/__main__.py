"""The `oneop` command, also as `python -m oneop`."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path

COMPAT = Path(__file__).resolve().parent / "compat"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(
        prog="oneop", description="Define an operator once; call, differentiate, compile it."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    path = commands.add_parser(
        "compat-path",
        help="print the folder that makes `import oneflow` mean oneop",
        epilog='example: PYTHONPATH="$(python -m oneop compat-path)" python program.py',
    )
    path.set_defaults(run=lambda options: print(COMPAT))

    run = commands.add_parser(
        "run",
        help="run a program that says `import oneflow`",
        epilog="example: oneop run program.py --epochs 3",
    )
    run.add_argument("script", type=Path, help="the Python program")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    run.set_defaults(run=_run_script)

    options = parser.parse_args(arguments)
    return options.run(options) or 0


def _run_script(options: argparse.Namespace) -> int:
    if not options.script.is_file():
        print(f"oneop run: there is no file {options.script}", file=sys.stderr)
        return 2
    script = options.script.resolve()
    sys.argv = [str(options.script), *options.arguments]
    sys.path[:0] = [str(script.parent), str(COMPAT)]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(COMPAT), os.environ.get("PYTHONPATH")]))
    runpy.run_path(str(script), run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
