"""`oneop run` and `oneop compat-path`: programs that say `import oneflow`."""

from __future__ import annotations

import argparse
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command

COMPAT = Path(__file__).resolve().parents[1] / "compat"


def add(commands: Any) -> None:
    """Add the commands."""
    parser = add_command(commands, "run", "run a program that says `import oneflow`", "oneop run program.py --epochs 3")
    parser.add_argument("script", type=Path, help="the Python program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    parser.set_defaults(run=run_script)

    parser = add_command(
        commands,
        "compat-path",
        "print the folder that makes `import oneflow` mean oneop",
        'PYTHONPATH="$(oneop compat-path)" python program.py',
    )
    parser.set_defaults(run=lambda options: print(COMPAT))


def run_script(options: argparse.Namespace) -> int:
    """Run the program as if it were started by itself."""
    if not options.script.is_file():
        print(f"oneop run: there is no file {options.script}", file=sys.stderr)
        return 2
    script = options.script.resolve()
    sys.argv = [str(options.script), *options.arguments]
    sys.path[:0] = [str(script.parent), str(COMPAT)]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(COMPAT), os.environ.get("PYTHONPATH")]))
    runpy.run_path(str(script), run_name="__main__")
    return 0
