"""What a command works on: an op by its name, or a path that brings ops.

A path is a C++ or CUDA source (built first), a shared object, a Python program, an op module, or a project: a folder
with a pyproject.toml whose entry points `oneop.ops` name the modules that bring its ops. The name of a package that can
be imported stands for its ops too. Beside such a module, `reference.py` may hold `@oneop.testing.reference` functions.
Inside a project its ops are there by name.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from oneop.cli.project import find_project, import_project, import_with_reference, is_project
from oneop.errors import ArgumentError, LoadError, OpNotFoundError, did_you_mean

CPP = (".cpp", ".cc", ".cxx", ".cu")


def add_load(parser: argparse.ArgumentParser) -> None:
    """Add `--load`."""
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="PATH",
        help="load this first: a source, library, program, folder or package",
    )


def load_all(paths: list[str]) -> list[str]:
    """Load what `--load` names; return the ops that came."""
    return [op for path in paths for op in load_path(Path(path))]


def find_ops(target: str | None, loads: list[str]) -> list[str]:
    """Return the ops that a target names, at least one. Raises `OpNotFoundError` or `ArgumentError`."""
    loaded = load_all(loads)
    project = find_project()
    if target is None:
        if loaded:
            return loaded
        if project is not None:
            return ops_at(project)
        raise ArgumentError("expected an op or a path\n  in the folder of a project it may be left out")
    path = Path(target)
    # In a project the name of its op is not the folder of its package, which may be in the working folder.
    is_name = target.isidentifier()
    if project is not None and is_name and target in load_path(project):
        return [target]
    if path.exists() and (path.suffix or path.is_dir()):
        return ops_at(path)
    return [_op_of_name(target)]


def _op_of_name(target: str) -> str:
    from oneop.plugins import load_plugins
    from oneop.registry import list_ops

    if target not in list_ops():
        load_plugins()
    names = list_ops()
    if target in names:
        load_references(target)
        return target
    raise OpNotFoundError(
        f'there is no op and no file "{target}"{did_you_mean(target, names)}\n'
        f"  ops that no installed package brings are loaded first: --load PATH"
    )


def load_references(op: str) -> None:
    """Import `reference.py` of the installed package whose entry point has the op's name, else of all of them."""
    from oneop.plugins import list_plugins

    points = [point for point in list_plugins() if point.module in sys.modules]
    for point in [point for point in points if point.name == op] or points:
        import_with_reference(point.module)


def load_project() -> None:
    """Load the ops of the project that the working folder is in, if it is in one."""
    project = find_project()
    if project is not None:
        load_path(project)


def ops_at(path: Path) -> list[str]:
    """Load what is at a path, and return the ops it brought, at least one. Raises `ArgumentError` if there is none."""
    ops = load_path(path)
    if not ops:
        raise ArgumentError(
            f"{path} brings no op\n"
            f"  expected a call of oneop.define or oneop.load there, or in C++ OP(...) or REGISTER_USER_OP"
        )
    return ops


def load_path(path: Path) -> list[str]:
    """Load what is at a path, and return the ops it brought; those that came from there before count."""
    from oneop.registry import list_ops

    before = {name: str(_source(name)) for name in list_ops()}
    brought = _load(path)
    if not brought:
        brought = [name for name in list_ops() if before.get(name) != str(_source(name))]
    return [name for name in brought or list_ops() if _is_from(path, name)] or brought


def _is_from(path: Path, name: str) -> bool:
    source = _source(name)
    return bool(source) and path.resolve() in (file := Path(source.file).resolve(), *file.parents)


def _source(name: str) -> Any:
    from oneop.registry import get_op

    return get_op(name).source


def _load(path: Path) -> list[str]:
    """Load it; return the ops of a library, and nothing for programs. Raises `ArgumentError` or `LoadError`."""
    if _is_package(path):
        import_with_reference(str(path))
        return []
    if not path.exists():
        raise ArgumentError(f"there is no file or folder {path}, and no package of this name")
    is_module = path.is_dir() and any(path.glob(f"{path.name}_*"))
    if path.suffix not in (*CPP, ".so", ".py") and not is_project(path) and not is_module:
        raise ArgumentError(
            f"cannot load {path}\n"
            f"  expected a source ({', '.join(CPP)}), a library (.so), a program (.py), an op module, "
            f"or a folder whose pyproject.toml has entry points oneop.ops"
        )
    try:
        return _load_kind(path)
    except SystemExit as error:  # else the command would end here, as if all were well
        raise LoadError(f"{path} could not be loaded\n  it ended the program: SystemExit({error.code!r})") from error
    except (ArgumentError, OpNotFoundError) as error:  # of the program: the command itself was used as it should be
        raise LoadError(f"{path} could not be loaded\n  {type(error).__name__}: {error}") from error


def _is_package(path: Path) -> bool:
    """Tell whether this is the name of something to import; a folder of this name is what would be imported."""
    name = str(path)
    if not all(part.isidentifier() for part in name.split(".")) or (path.exists() and not path.is_dir()):
        return False
    spec = find_spec(name.partition(".")[0])
    return spec is not None and spec.origin is not None and (not path.exists() or (path / "__init__.py").is_file())


def _load_kind(path: Path) -> list[str]:
    import oneop

    if path.suffix in CPP:
        return list(oneop.load(path.stem, [path]).ops)
    if path.suffix == ".so":
        return list(oneop.load(path).ops)
    if path.suffix == ".py":
        runpy.run_path(str(path), run_name=f"oneop_{path.stem}")
    elif is_project(path):
        import_project(path)
    else:
        oneop.load_module(path)
    return []
