"""Work that waits until somebody imports a large module: oneop uses some of torch's that most programs never load."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Callable, Sequence
from types import ModuleType

_Hook = Callable[[ModuleType], None]
_waiting: dict[str, list[_Hook]] = {}
_lock = threading.Lock()  # guards _waiting; no hook runs while it is held


def after_import(name: str, hook: _Hook) -> None:
    """Have `hook(module)` called when the module of this name has been imported: now, if it has been already."""
    with _lock:
        module = sys.modules.get(name)
        if module is None:
            _waiting.setdefault(name, []).append(hook)
            if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
                sys.meta_path.insert(0, _Finder())
    if module is not None:
        hook(module)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself; it adds a step to the import of the modules that are waited for."""

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        with _lock:
            hooks = _waiting.pop(name, None)
        if hooks is None:
            return None
        spec = importlib.util.find_spec(name)  # by the other finders
        if spec is None or spec.loader is None:
            with _lock:
                _waiting[name] = hooks
            return None
        spec.loader = _Loader(spec.loader, hooks)
        return spec


class _Loader(importlib.abc.Loader):
    """Runs the hooks after the module's own loader has run it."""

    def __init__(self, loader: importlib.abc.Loader, hooks: list[_Hook]) -> None:
        self._loader, self._hooks = loader, hooks

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # Whoever asks for the module's loader later, to read its source for example, gets its own.
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        try:
            self._loader.exec_module(module)
        except BaseException:  # the import failed and may be tried again
            with _lock:
                _waiting.setdefault(module.__name__, []).extend(self._hooks)
            raise
        for hook in self._hooks:
            hook(module)
