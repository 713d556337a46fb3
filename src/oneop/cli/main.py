"""The parser of the `oneop` command, and what becomes of errors.

Exit status: 0 is fine, 1 found problems, 2 is wrong usage: an argument that is not understood, an op or a file that is
not there, a path that brings no op. What a program raises while it is loaded is a problem, not wrong usage.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
import traceback
from collections.abc import Sequence
from pathlib import Path

from oneop._version import __version__
from oneop.cli import (
    audit,
    bench,
    build,
    cache,
    card,
    check,
    completion,
    config,
    gen,
    info,
    new,
    port,
    registry,
    run,
    verify,
)

COMMANDS = (new, build, registry, check, verify, bench, card, gen, port, run, audit, cache, config, info, completion)

EPILOG = """\
examples:
  oneop new myop         a project with an op, its tests and its reference
  oneop check myop       verify the op of the project in that folder
  oneop bench myop       measure it against its torch reference
  oneop show leaky_relu --load examples/leaky_relu/leaky_relu.cpp
  oneop info             versions, compilers, GPUs, settings

exit status: 0 fine, 1 problems found, 2 wrong usage.
Data goes to stdout, progress to stderr.
"""


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="oneop",
        description="Define an operator once.\nCall it, differentiate it, compile it, shard it, prove it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"oneop {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in COMMANDS:
        module.add(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = make_parser()
    words = sys.argv[1:] if arguments is None else list(arguments)
    commands = [word for word in completion.words_of(parser)[""] if not word.startswith("-")]
    if words and not words[0].startswith("-") and words[0] not in commands:
        from oneop.errors import did_you_mean

        print(f'oneop: there is no command "{words[0]}"{did_you_mean(words[0], commands)}', file=sys.stderr)
        print(
            textwrap.fill(f"there are: {', '.join(commands)}", 79, initial_indent="  ", subsequent_indent="  "),
            file=sys.stderr,
        )
        return 2
    options = parser.parse_args(arguments)
    options.parser = parser  # for completion
    options.words = sys.argv[1:] if arguments is None else None  # None: called from Python, not as a command
    try:
        return int(options.run(options) or 0)
    except BrokenPipeError:  # `oneop list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        if _is_of_a_program(error):
            raise
        where = f"{error.filename}: " if error.filename is not None else ""
        print(f"oneop {options.command}: {where}{error.strerror or error}", file=sys.stderr)
        return 1
    except Exception as error:
        from oneop.errors import ArgumentError, OneopError, OpNotFoundError

        if not isinstance(error, OneopError):
            raise
        print(f"oneop {options.command}: {error}", file=sys.stderr)
        return 2 if isinstance(error, (ArgumentError, OpNotFoundError)) else 1


def _is_of_a_program(error: BaseException) -> bool:
    """Tell whether an error was raised in a program that was loaded, whose traceback its author wants to see."""
    own = (str(Path(__file__).parents[1]), str(Path(os.__file__).parent), "<frozen")
    frames = traceback.extract_tb(error.__traceback__)
    first = next((number for number, frame in enumerate(frames) if frame.filename.startswith(own)), 0)
    return any(not frame.filename.startswith(own) for frame in frames[first:])
