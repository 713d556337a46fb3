"""`import oneflow` for programs written for OneFlow's user ops: the name is another one for oneop.

This folder is put on PYTHONPATH by `oneop run` or by hand, see `python -m oneop compat-path`.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

import oneop


class _AliasFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Makes `oneflow.x` the module `oneop.x` itself, not a second copy of it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for submodules of oneflow that oneop has."""
        head, _, rest = fullname.partition(".")
        if head != "oneflow" or not rest or importlib.util.find_spec(f"oneop.{rest}") is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the module of oneop."""
        return importlib.import_module("oneop" + spec.name.removeprefix("oneflow"))

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: the module has run already."""


sys.meta_path.insert(0, _AliasFinder())
sys.modules[__name__] = oneop
