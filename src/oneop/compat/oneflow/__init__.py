"""`import oneflow` for programs written for OneFlow's user ops: oneop's names, and a few that only such programs need.

This folder is put on PYTHONPATH by `oneop run` or by hand, see `python -m oneop compat-path`.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import oneop

#: Names that oneop does not have -> where they are in this folder.
_MORE = {
    "FixedTensorDef": "names:FixedTensorDef",
    "MirroredTensorDef": "names:MirroredTensorDef",
    "dtypes": "names:dtypes",
    "eager_execution_enabled": "names:eager_execution_enabled",
    "global_function": "blobs:global_function",
    "user_op_builder": "blobs:user_op_builder",
    "consistent_user_op_builder": "blobs:user_op_builder",
    "consistent_user_op_module_builder": "modules:user_op_module_builder",
    "user_op_module_builder": "modules:user_op_module_builder",
    "watch": "watches:watch",
    "watch_diff": "watches:watch_diff",
    "find_or_create_module": "modules:find_or_create_module",
}
#: Modules that oneop does not have.
_SUBMODULES = ("deprecated", "math", "nn", "train", "unittest")


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


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _MORE:
        module, _, attribute = _MORE[name].partition(":")
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    return getattr(oneop, name)


def __dir__() -> list[str]:
    return sorted({*dir(oneop), *_MORE, *_SUBMODULES})


sys.meta_path.insert(0, _AliasFinder())
