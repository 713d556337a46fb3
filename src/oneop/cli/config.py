"""`oneop config`: flags for Makefiles and CMake."""

from __future__ import annotations

import argparse
import shlex
from typing import Any

from oneop import sysconfig
from oneop.cli.output import add_command, add_json, print_json


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "config",
        "print flags for building an op library with other tools",
        "g++ -shared -fPIC $(oneop config --cflags) relu.cpp -o relu.so \\\n  $(oneop config --ldflags)",
    )
    parser.add_argument("--cflags", action="store_true", help="flags of the compiler")
    parser.add_argument("--ldflags", action="store_true", help="flags of the linker")
    parser.add_argument("--includedir", action="store_true", help="the folder of the SDK headers")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what was asked for, or everything with its name."""
    known = {
        "cflags": shlex.join(sysconfig.get_compile_flags()),
        "ldflags": shlex.join(sysconfig.get_link_flags()),
        "includedir": sysconfig.get_include(),
    }
    asked = [name for name in known if getattr(options, name)]
    if options.json:
        print_json({name: known[name] for name in asked or known})
    elif asked:
        print(" ".join(known[name] for name in asked))
    else:
        print("\n".join(f"{name:11} {value}" for name, value in known.items()))
    return 0
