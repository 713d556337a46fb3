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
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import EntryPoint, entry_points

GROUP = "oneop.ops"

#: Entry points that were imported, or failed. No lock is held while a package is imported: threads that need the same
#: package wait for each other in Python's own import locks, which know about cycles.
_done: set[str] = set()
_lock = threading.Lock()
_of_thread = threading.local()


@dataclass(frozen=True)
class _Import:
    """A package that a thread imports: the ops that were there before it, and whether it has ended."""

    ops_before: frozenset[str]
    has_ended: threading.Event = field(default_factory=threading.Event)


#: Imports under way, by thread. A package registers an op's kernel and gradient after its definition, so until its
#: import ends other threads must not use an op that it may have defined: see `wait_for_imports`.
imports_under_way: dict[int, _Import] = {}

#: Seconds that a thread waits for another one's import. A package may call its ops in threads of its own while it is
#: imported, and wait for them: without a limit both would wait for each other.
PATIENCE = 60.0


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
            with _noted():
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


def wait_for_imports(name: str) -> None:
    """Wait, at most `PATIENCE`, while another thread imports a package that may have registered half of this op.

    An op that was there before an import began does not wait for it. A thread that imports a package itself never
    waits: two packages that need each other's ops would never end.
    """
    own = threading.get_ident()
    for thread, running in list(imports_under_way.items()):
        if own not in imports_under_way and thread != own and name not in running.ops_before:
            running.has_ended.wait(PATIENCE)


@contextmanager
def _noted() -> Iterator[None]:
    """Keep an import in `imports_under_way` while it runs. An import inside another one belongs to that."""
    thread = threading.get_ident()
    if thread in imports_under_way:
        yield
        return
    # Not imported: the core asks this module for ops that it does not have. Without a core there are no ops yet.
    names_of_ops = getattr(sys.modules.get("oneop._core"), "op_names", tuple)
    running = _Import(frozenset(names_of_ops()))
    imports_under_way[thread] = running
    try:
        yield
    finally:
        del imports_under_way[thread]
        running.has_ended.set()


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
