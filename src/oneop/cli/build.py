"""`oneop build`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from oneop.cli.output import add_command, add_json, note, print_json
from oneop.cli.project import find_project
from oneop.cli.targets import CPP
from oneop.errors import ArgumentError


def add(commands: Any) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "build",
        "build an op library from sources, or the sources of a folder",
        "oneop build leaky_relu.cpp\noneop build --name ops relu.cpp gelu.cpp --ods ops.td\noneop build .",
    )
    parser.add_argument("paths", nargs="*", type=Path, default=[], metavar="PATH", help="sources, or a folder of them")
    parser.add_argument("--name", help="name of the library; by default that of the first source or the folder")
    parser.add_argument("--ods", action="append", default=[], type=Path, metavar="FILE", help="op definitions (.td)")
    parser.add_argument(
        "--functional", action="append", default=[], type=Path, metavar="FILE", help="functions (.yaml)"
    )
    parser.add_argument("--portable", action="store_true", help="for processors other than this one too")
    parser.add_argument("--force", action="store_true", help="compile every source again")
    parser.add_argument("-o", "--output", type=Path, help="copy the library there")
    parser.add_argument("-v", "--verbose", action="store_true", help="show commands and all that compilers say")
    parser.add_argument("-j", "--jobs", type=int, help="compilers run at once")
    add_json(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Build, and print where the library is."""
    from oneop._build.library import build
    from oneop.settings import settings

    paths = options.paths or [find_project() or Path.cwd()]
    sources = [source for path in paths for source in _sources(path)]
    ods = options.ods + [file for path in paths if path.is_dir() for file in sorted(path.glob("*.td"))]
    functional = options.functional + [file for path in paths if path.is_dir() for file in sorted(path.glob("*.yaml"))]
    if not sources:
        raise ArgumentError(f"there is no C++ or CUDA source in {', '.join(str(path) for path in paths)}")
    name = options.name or (paths[0].resolve().name if paths[0].is_dir() else paths[0].stem)
    with settings.override(**({"max_jobs": options.jobs} if options.jobs else {})):
        library = build(
            name.replace("-", "_"),
            sources,
            ods=ods,
            functional=functional,
            portable=options.portable,
            force=options.force,
            verbose=options.verbose or None,
        )
    path = library.path
    if options.output is not None:
        import shutil

        target = options.output / path.name if options.output.is_dir() else options.output
        shutil.copyfile(path, target)
        path = target
    note(f"{'from the cache' if library.cached else f'built in {library.build_seconds:.2f} s'}, log {library.log_path}")
    if options.json:
        print_json({"path": str(path), "cached": library.cached, "seconds": library.build_seconds})
    else:
        print(path)
    return 0


def _sources(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise ArgumentError(f"there is no file or folder {path}")
    folders = [path, *sorted(path.glob("src/*")), path / "csrc"]
    return [file for folder in folders for file in sorted(folder.glob("*")) if file.suffix in CPP]
