"""oneop: define an operator once; call it, differentiate it, compile it, shard it, prove it."""

import contextlib
import gc
import importlib
from typing import TYPE_CHECKING

from oneop import errors as errors
from oneop import sysconfig as sysconfig
from oneop._version import __version__ as __version__
from oneop.errors import OneopError as OneopError
from oneop.settings import settings as settings

if TYPE_CHECKING:
    from oneop import functional as functional
    from oneop import jax as jax
    from oneop import numpy as numpy
    from oneop import ods as ods
    from oneop import onnx as onnx
    from oneop import testing as testing
    from oneop._public import *
    from oneop.authoring.kernels.tvm_functions import tvm_ffi_function as tvm_ffi_function
    from oneop.autocast import register_autocast as register_autocast
    from oneop.jobs import scope as scope
    from oneop.jobs.function import global_function as global_function
    from oneop.jobs.function_config import FunctionConfig as FunctionConfig
    from oneop.jobs.function_config import function_config as function_config
    from oneop.jobs.graph import Graph as Graph
    from oneop.jobs.graph import compile_job as compile_job
    from oneop.jobs.training import checkpoint as checkpoint
    from oneop.jobs.training import optimizer as optimizer
    from oneop.jobs.training.initializers import constant_initializer as constant_initializer
    from oneop.jobs.training.initializers import glorot_normal_initializer as glorot_normal_initializer
    from oneop.jobs.training.initializers import glorot_uniform_initializer as glorot_uniform_initializer
    from oneop.jobs.training.initializers import kaiming_initializer as kaiming_initializer
    from oneop.jobs.training.initializers import ones_initializer as ones_initializer
    from oneop.jobs.training.initializers import random_normal_initializer as random_normal_initializer
    from oneop.jobs.training.initializers import random_uniform_initializer as random_uniform_initializer
    from oneop.jobs.training.initializers import truncated_normal as truncated_normal
    from oneop.jobs.training.initializers import truncated_normal_initializer as truncated_normal_initializer
    from oneop.jobs.training.initializers import xavier_normal_initializer as xavier_normal_initializer
    from oneop.jobs.training.initializers import xavier_uniform_initializer as xavier_uniform_initializer
    from oneop.jobs.training.initializers import zeros_initializer as zeros_initializer
    from oneop.jobs.training.session import clear_default_session as clear_default_session
    from oneop.jobs.training.variables import get_variable as get_variable
    from oneop.jobs.training.variables import watch as watch
    from oneop.jobs.training.variables import watch_diff as watch_diff
    from oneop.runtime.requirement import require as require
    from oneop.sharding.explanation import explain_sharding as explain_sharding
    from oneop.sharding.explicit import explicit_redistribution as explicit_redistribution
    from oneop.sharding.words import global_tensor as global_tensor
    from oneop.sharding.words import placement as placement
    from oneop.sharding.words import to_global as to_global
    from oneop.sharding.words import to_local as to_local

#: The same for names that do not need torch.
_WITHOUT_TORCH = {
    "Library": "_build.library:Library",
    "build": "_build.library:build",
    "jax": "jax",
    "numpy": "numpy",
    "onnx": "onnx",
    "require": "runtime.requirement:require",
}

#: Names that are imported when they are first used, because what they need takes time to import.
_LATER = {
    "functional": "functional",
    "ods": "ods",
    "testing": "testing",
    "explain_sharding": "sharding.explanation:explain_sharding",
    "explicit_redistribution": "sharding.explicit:explicit_redistribution",
    "global_tensor": "sharding.words:global_tensor",
    "placement": "sharding.words:placement",
    "to_global": "sharding.words:to_global",
    "to_local": "sharding.words:to_local",
    "checkpoint": "jobs.training.checkpoint",
    "optimizer": "jobs.training.optimizer",
    "scope": "jobs.scope",
    "global_function": "jobs.function:global_function",
    "FunctionConfig": "jobs.function_config:FunctionConfig",
    "function_config": "jobs.function_config:function_config",
    "Graph": "jobs.graph:Graph",
    "compile_job": "jobs.graph:compile_job",
    "register_autocast": "autocast:register_autocast",
    "tvm_ffi_function": "authoring.kernels.tvm_functions:tvm_ffi_function",
    "clear_default_session": "jobs.training.session:clear_default_session",
    "get_variable": "jobs.training.variables:get_variable",
    "watch": "jobs.training.variables:watch",
    "watch_diff": "jobs.training.variables:watch_diff",
} | {
    name: f"jobs.training.initializers:{name}"
    for name in (
        "constant_initializer",
        "glorot_normal_initializer",
        "glorot_uniform_initializer",
        "kaiming_initializer",
        "ones_initializer",
        "random_normal_initializer",
        "random_uniform_initializer",
        "truncated_normal",
        "truncated_normal_initializer",
        "xavier_normal_initializer",
        "xavier_uniform_initializer",
        "zeros_initializer",
    )
}


def _load_public(name: str) -> None:
    """Import the names that need torch. Nothing above does, so that the command line starts quickly."""
    if "char" in globals():  # the last one
        return
    # Definitions are no garbage, and a full collection beside them looks at all objects of torch: 0.1 s.
    collects = gc.isenabled()
    gc.disable()
    try:
        public = importlib.import_module("oneop._public")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise errors.MissingDependencyError(
            f"oneop.{name} needs torch, which is not installed\n"
            f"  pip install torch; without it there are: {', '.join(f'oneop.{known}' for known in _WITHOUT_TORCH)}"
        ) from None
    finally:
        if collects:
            gc.enable()
    globals().update({name: value for name, value in vars(public).items() if not name.startswith("__")})


def __getattr__(name: str) -> object:
    if not name.startswith("__") and name not in _WITHOUT_TORCH:
        _load_public(name)
    if name in globals():
        return globals()[name]
    place = _WITHOUT_TORCH.get(name) or _LATER.get(name)
    if place is None:
        raise AttributeError(f"module 'oneop' has no attribute {name!r}")
    module, _, attribute = place.partition(":")
    value: object = importlib.import_module(f"oneop.{module}")
    if attribute:
        value = getattr(value, attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    with contextlib.suppress(errors.MissingDependencyError):
        _load_public("dir()")
    return sorted({*globals(), *_LATER, *_WITHOUT_TORCH})


__all__ = [
    "Graph",
    "Library",
    "LoadedLibrary",
    "OneopError",
    "Tensor",
    "TensorSpec",
    "__version__",
    "build",
    "checkpoint",
    "clear_default_session",
    "compile_job",
    "config",
    "define",
    "empty_cache",
    "errors",
    "experimental",
    "explain_sharding",
    "explicit_redistribution",
    "functional",
    "get_op",
    "get_variable",
    "global_function",
    "global_tensor",
    "jax",
    "list_ops",
    "list_pending",
    "load",
    "load_inline",
    "load_module",
    "numpy",
    "ods",
    "onnx",
    "ops",
    "optimizer",
    "placement",
    "register_autocast",
    "require",
    "sbp",
    "sbp_signatures",
    "scope",
    "set_cache_limit",
    "settings",
    "show",
    "sysconfig",
    "testing",
    "to_global",
    "to_local",
    "tvm_ffi_function",
    "typing",
    "usable_sources",
    "user_op_builder",
    "util",
    "watch",
    "watch_diff",
]
