"""`oneop gen`: stubs and reference pages from what is registered, or from definitions alone."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command
from oneop.cli.targets import add_load, find_ops
from oneop.errors import ArgumentError
from oneop.model.stub_package import stub_package

DEFINITIONS = (".td", ".yaml", ".yml")


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "gen",
        "write type stubs and reference pages of ops and functions",
        "oneop gen . -o generated\n"
        "oneop gen . -o generated --check      # in CI: exit status 1 if a file is old\n"
        "oneop gen ops.td api.yaml             # stubs of definitions; nothing is built",
    )
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="OP|PATH",
        help="an op, a path that brings some, or definitions: .td and .yaml files",
    )
    parser.add_argument(
        "-I", dest="include", action="append", default=[], metavar="FOLDER", help="where .td files look"
    )
    add_load(parser)
    parser.add_argument(
        "-o", "--output", type=Path, default=Path("generated"), metavar="FOLDER", help="where (generated)"
    )
    parser.add_argument("--stubs", action="store_true", help="only stubs, no pages")
    parser.add_argument("--check", action="store_true", help="write nothing; say which files are old or missing")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files, or compare them."""
    definitions = [Path(target) for target in options.targets if target.endswith(DEFINITIONS)]
    if definitions and len(definitions) < len(options.targets):
        raise ArgumentError("expected definitions (.td, .yaml) only, or an op or path that is loaded\n  found both")
    if not definitions and len(options.targets) > 1:
        raise ArgumentError(f"expected one op or path, found {len(options.targets)}\n  more are loaded by --load")
    for path in definitions:
        if not path.exists():
            raise ArgumentError(f"there is no file {path}")
    files = _from_definitions(definitions, options.include) if definitions else _from_registry(options)
    old = []
    for name, text in files.items():
        path = options.output / name
        if path.is_file() and path.read_text() == text:
            continue
        if options.check:
            old.append(path)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        print(path)
    for path in old:
        print(f"{path} {'is old' if path.is_file() else 'is missing'}", file=sys.stderr)
    return 1 if old else 0


def _from_registry(options: argparse.Namespace) -> dict[str, str]:
    """Return the files for the ops that a target names, and for the functions that came with them."""
    from oneop.functional.stubs import bound_functions, function_stubs
    from oneop.reference_pages import page, stubs
    from oneop.registry import get_op
    from oneop.runtime.core import core
    from oneop.runtime.functions import find_function

    before = set(core().function_names())
    ops = [get_op(name) for name in find_ops(options.targets[0] if options.targets else None, options.load)]
    here = str(Path.cwd())
    texts = {"ops.pyi": stubs(ops)}
    pages = {} if options.stubs else {f"{op.name}.md": page(op, relative_to=here) for op in ops}
    libraries = {op.source.library for op in ops if op.source}
    names = [name for name in core().function_names() if name not in before or find_function(name).library in libraries]
    texts |= {"_C.pyi": function_stubs(bound_functions(names))} if names else {}
    return stub_package(texts) | pages


def _from_definitions(paths: list[Path], include: list[str]) -> dict[str, str]:
    """Return the stubs of what definitions describe."""
    from oneop.functional import read_yaml
    from oneop.functional.stubs import function_stubs, op_stubs
    from oneop.ods import read_ops

    ops = [op for path in paths if path.suffix == ".td" for op in read_ops(path, include_dirs=include)]
    functions = [function for path in paths if path.suffix != ".td" for function in read_yaml(path)]
    texts = {"ops.pyi": op_stubs(ops)} if ops else {}
    return stub_package(texts | ({"_C.pyi": function_stubs(functions)} if functions else {}))
