"""Ops of installed packages: the entry points `oneop.ops` name modules that bring ops when they are imported.

In the pyproject.toml of such a package:

    [project.entry-points."oneop.ops"]
    fast_gelu = "fast_gelu"

Nothing is imported until an op is asked for that is not there: then the entry point of its name, else all of them.
"""

from __future__ import annotations

import threading
import warnings
from importlib.metadata import EntryPoint, entry_points

GROUP = "oneop.ops"

_seen: set[str] = set()
_lock = threading.RLock()


def list_plugins() -> list[EntryPoint]:
    """Return the entry points of all installed packages, sorted by name."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def load_plugins(name: str | None = None) -> list[str]:
    """Import the packages that bring ops, or the one whose entry point has this name; return what was imported.

    One that cannot be imported is left out, with a warning that names it.
    """
    loaded = []
    with _lock:
        for point in list_plugins():
            if point.value in _seen or (name is not None and point.name != name):
                continue
            _seen.add(point.value)
            try:
                point.load()
            except Exception as error:
                warnings.warn(
                    f"ops of {point.dist.name if point.dist else point.value} are not there: "
                    f"{point.value} raised {type(error).__name__}: {error}",
                    stacklevel=2,
                )
                continue
            loaded.append(point.name)
    return loaded


def find_plugin(name: str) -> bool:
    """Import the package of this name, else all; tell whether anything new came. For lookups that found no op."""
    return bool(load_plugins(name) or load_plugins())
