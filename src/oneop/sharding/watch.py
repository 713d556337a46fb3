"""Starts the DTensor adapter once somebody imports torch.distributed.tensor, and not before: that takes a second."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from types import ModuleType

from oneop._runtime import after_defining, core, trace_hooks

_MODULE = "torch.distributed.tensor"


def install() -> None:
    """Start the adapter now or when it is time."""
    if _MODULE in sys.modules:
        after_defining(_register)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _register(names: Iterable[str]) -> None:
    module = sys.modules.get("oneop.sharding.dtensor")
    if module is not None and not hasattr(module, "register"):  # it is being imported, and asks for these at its end
        _waiting.extend(names)
        return
    from oneop.sharding import composition, dtensor, grads, symbolic

    if not _watched:
        core().watch_sharded_calls(grads.place_gradients)
        core().set_sharded_composition(composition.run)
        trace_hooks.append(symbolic.guard_outer_sizes)
        _watched.append(True)
    dtensor.register(names)


_watched: list[bool] = []
_waiting: list[str] = []


def register_waiting() -> None:
    """Register the ops that came while the adapter was being imported."""
    names = [*_waiting]
    _waiting.clear()
    if names:
        _register(names)


class _Finder(importlib.abc.MetaPathFinder):
    """Finds nothing itself; it adds a step to the import of one module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        after_defining(_register)
