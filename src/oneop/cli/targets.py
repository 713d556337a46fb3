"""What a command works on: an op by its name, or a path that brings ops.

A path is a C++ or CUDA source (built first), a shared object, a Python program, an op module, or a project: a folder
with a pyproject.toml whose entry points `oneop.ops` name the modules that bring its ops. Beside such a module,
`reference.py` may hold `@oneop.testing.reference` functions.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import runpy
import sys
from pathlib import Path
from typing import Any

from oneop.errors import ArgumentError, OpNotFoundError, did_you_mean

CPP = (".cpp", ".cc", ".cxx", ".cu")


def add_load(parser: argparse.ArgumentParser) -> None:
    """Add `--load`."""
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="PATH",
        help="load this first: a source, library, program or folder",
    )


def load_all(paths: list[str]) -> list[str]:
    """Load what `--load` names; return the ops that came."""
    return [op for path in paths for op in load_path(Path(path))]


def find_ops(target: str | None, loads: list[str]) -> list[str]:
    """Return the ops that a target names. Raises `OpNotFoundError` or `ArgumentError`."""
    loaded = load_all(loads)
    if target is None:
        if loaded:
            return loaded
        if is_project(Path.cwd()):
            return load_path(Path.cwd())
        raise ArgumentError("expected an op or a path\n  in the folder of a project it may be left out")
    path = Path(target)
    if path.exists() and (path.suffix or path.is_dir()):
        return load_path(path)
    from oneop.plugins import load_plugins
    from oneop.registry import list_ops

    if target not in list_ops():
        load_plugins()
    names = list_ops()
    if target in names:
        return [target]
    raise OpNotFoundError(
        f'there is no op and no file "{target}"{did_you_mean(target, names)}\n'
        f"  ops that no installed package brings are loaded first: --load PATH"
    )


def load_path(path: Path) -> list[str]:
    """Load what is at a path, and return the ops it brought."""
    from oneop.registry import list_ops

    before = {name: str(_source(name)) for name in list_ops()}
    brought = _load(path)
    after = list_ops()
    return brought or [name for name in after if before.get(name) != str(_source(name))]


def _source(name: str) -> Any:
    from oneop.registry import get_op

    return get_op(name).source


def _load(path: Path) -> list[str]:
    import oneop

    if not path.exists():
        raise ArgumentError(f"there is no file or folder {path}")
    if path.suffix in CPP:
        return list(oneop.load(path.stem, [path]).ops)
    if path.suffix == ".so":
        return list(oneop.load(path).ops)
    if path.suffix == ".py":
        runpy.run_path(str(path), run_name=f"oneop_{path.stem}")
        return []
    if is_project(path):
        return _load_project(path)
    if path.is_dir() and any(path.glob(f"{path.name}_*")):
        oneop.load_module(path)
        return []
    raise ArgumentError(
        f"cannot load {path}\n  expected a source ({', '.join(CPP)}), a library (.so), a program (.py), an op module, "
        f"or a folder whose pyproject.toml has entry points oneop.ops"
    )


def project_modules(path: Path) -> list[str]:
    """Return the modules that the entry points of a project name."""
    import tomllib

    file = path / "pyproject.toml"
    if not file.is_file():
        return []
    points = tomllib.loads(file.read_text()).get("project", {}).get("entry-points", {})
    return [value.partition(":")[0] for value in points.get("oneop.ops", {}).values()]


def is_project(path: Path) -> bool:
    """Tell whether a folder is a project that brings ops."""
    return bool(project_modules(path))


def _load_project(path: Path) -> list[str]:
    source = path / "src" if (path / "src").is_dir() else path
    sys.path.insert(0, str(source.resolve()))
    from oneop.registry import list_ops

    before = set(list_ops())
    for name in project_modules(path):
        module = importlib.import_module(name)
        if hasattr(module, "__path__") and importlib.util.find_spec(f"{name}.reference") is not None:
            importlib.import_module(f"{name}.reference")
    return [op for op in list_ops() if op not in before]
