"""`import oneflow` for programs written for OneFlow's user ops: oneop's names, and a few that only such programs need.

This folder is put on PYTHONPATH by `oneop run` or by hand, see `python -m oneop compat-path`.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from types import ModuleType
from typing import Any

import oneop

#: Names that oneop does not have -> where they are in this folder.
_MORE = {
    "FixedTensorDef": "names:FixedTensorDef",
    "MirroredTensorDef": "names:MirroredTensorDef",
    "dtypes": "names:dtypes",
    "FunctionConfig": "names:FunctionConfig",
    "function_config": "names:FunctionConfig",
    "cast_to_current_logical_view": "names:cast_to_current_logical_view",
    "constant": "names:constant",
    "convert_oneflow_dtype_to_numpy_dtype": "names:convert_oneflow_dtype_to_numpy_dtype",
    "current_global_function_desc": "names:current_global_function_desc",
    "current_scope": "names:current_scope",
    "eager_execution_enabled": "eager:eager_execution_enabled",
    "enable_eager_execution": "eager:enable_eager_execution",
    "get_all_variables": "stored:get_all_variables",
    "get_variable": "names:get_variable",
    "load_variables": "stored:load_variables",
    "placement": "names:placement",
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
_SUBMODULES = ("checkpoint", "deprecated", "math", "nn", "train", "unittest")


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
    try:
        return getattr(oneop, name)
    except AttributeError:
        if name.startswith("__"):
            raise
        near = get_close_matches(name, __dir__(), n=1)
        meant = f"; did you mean {near[0]}?" if near else ""
        raise AttributeError(
            f"module 'oneflow' has no attribute {name!r}: this is oneop's alias, with the names that programs of user "
            f"ops need{meant}\n  what computes on tensors is torch's: use torch.{name} or another function of torch"
        ) from None


def __dir__() -> list[str]:
    return sorted({*dir(oneop), *_MORE, *_SUBMODULES})


sys.meta_path.insert(0, _AliasFinder())
