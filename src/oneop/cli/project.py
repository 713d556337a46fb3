"""The project that a command runs in: a folder whose pyproject.toml names modules with ops, or a folder below it."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path

from oneop.errors import ArgumentError, LoadError


def project_modules(path: Path) -> list[str]:
    """Return the modules that the entry points of a project name; none if the folder is no project.

    Raises `ArgumentError` if the pyproject.toml cannot be read.
    """
    import tomllib

    file = path / "pyproject.toml"
    if not file.is_file():
        return []
    try:
        points = tomllib.loads(file.read_text()).get("project", {}).get("entry-points", {})
    except (OSError, ValueError) as error:
        raise ArgumentError(f"{file} cannot be read: {error}") from None
    return [value.partition(":")[0] for value in points.get("oneop.ops", {}).values()]


def is_project(path: Path) -> bool:
    """Tell whether a folder is a project that brings ops."""
    return bool(project_modules(path))


def find_project() -> Path | None:
    """Return the folder of the project that the working folder is in, or None."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        try:
            if is_project(folder):
                return folder
        except ArgumentError:
            if folder == here:
                raise
    return None


def import_project(path: Path) -> None:
    """Import the modules of a project, and beside each its `reference.py`."""
    source = (path / "src" if (path / "src").is_dir() else path).resolve()
    if str(source) not in sys.path:
        sys.path.insert(0, str(source))
    for name in project_modules(path):
        import_with_reference(name)


def import_with_reference(name: str) -> None:
    """Import a module that brings ops, and the `reference` beside it where there is one."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise LoadError(f'pyproject.toml names the module "{name}" in oneop.ops, and it is not there') from error
    if hasattr(module, "__path__") and importlib.util.find_spec(f"{name}.reference") is not None:
        importlib.import_module(f"{name}.reference")
