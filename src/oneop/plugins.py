"""Ops of installed packages: the entry points `oneop.ops` name modules that bring ops when they are imported.

In the pyproject.toml of such a package:

    [project.entry-points."oneop.ops"]
    fast_gelu = "fast_gelu"

Nothing is imported until an op is asked for that is not there: then the entry point of its name, else all of them.
"""

from __future__ import annotations

import sys
import threading
import warnings
from importlib.metadata import EntryPoint, entry_points

GROUP = "oneop.ops"

#: Entry points that were imported, or failed. No lock is held while a package is imported: threads that need the same
#: package wait for each other in Python's own import locks, which know about cycles.
_done: set[str] = set()
_lock = threading.Lock()
_of_thread = threading.local()


def list_plugins() -> list[EntryPoint]:
    """Return the entry points of all installed packages, sorted by name."""
    return sorted(entry_points(group=GROUP), key=lambda point: (point.name, point.value))


def load_plugins(name: str | None = None) -> list[str]:
    """Import the packages that bring ops, or the one whose entry point has this name; return what was imported.

    A package that another thread imports is waited for. One that cannot be imported, or that ends the program, is left
    out with a warning that names it.
    """
    importing: set[str] = _of_thread.__dict__.setdefault("importing", set())
    loaded = []
    for point in list_plugins():
        # A package that asks for an op while it is imported by this thread must not wait for itself.
        if point.value in _done or point.value in importing or (name is not None and point.name != name):
            continue
        importing.add(point.value)
        try:
            point.load()
        except (Exception, SystemExit) as error:
            if not _is_being_imported(point) and _finish(point):
                warnings.warn(
                    f"ops of {point.dist.name if point.dist else point.value} are not there: "
                    f"{point.value} raised {type(error).__name__}: {error}",
                    stacklevel=2,
                )
            continue
        finally:
            importing.discard(point.value)
        if not _is_being_imported(point) and _finish(point):
            loaded.append(point.name)
    return loaded


def _finish(point: EntryPoint) -> bool:
    """Note that an entry point is dealt with; tell whether this was the first time."""
    with _lock:
        first = point.value not in _done
        _done.add(point.value)
    return first


def _is_being_imported(point: EntryPoint) -> bool:
    """Tell whether the module is half imported: by this thread's own `import`, or by another one in a cycle."""
    spec = getattr(sys.modules.get(point.module), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))
