"""The C++ core, loaded at first use, and the op objects made from it."""

from __future__ import annotations

import functools
import importlib.util
import sys
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import OpNotFoundError
from oneop.settings import settings

if TYPE_CHECKING:
    from oneop import _core

_ops: dict[str, _core.Op] = {}
_loaded_hooks: list[Callable[[Any], None]] = []
_defined_hooks: list[Callable[[Iterable[str]], None]] = []

#: What is loaded under each library name: the hash of its content, and what it brought.
loaded_libraries: dict[str, tuple[str, Any]] = {}


@functools.cache
def core() -> Any:
    """Return the core module, building it first if this torch and compiler have none in the cache."""
    from oneop._build.core import core_path  # late, so that `python -m oneop._build.core` finds it not yet imported

    path = core_path()
    spec = importlib.util.spec_from_file_location("oneop._core", path)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["oneop._core"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["oneop._core"]
        raise
    module.set_traced_call(_traced_call)
    module.set_cpu_fallback(settings.cpu_fallback)
    module.set_kernel_sync(settings.sync_kernels)
    for hook in _loaded_hooks:
        hook(module)
    return module


def after_loading(hook: Callable[[Any], None]) -> None:
    """Have `hook(core)` called once the core is there. For rooms above this one."""
    _loaded_hooks.append(hook)
    if "oneop._core" in sys.modules:
        hook(sys.modules["oneop._core"])


def after_defining(hook: Callable[[Iterable[str]], None]) -> None:
    """Have `hook(names)` called for ops that were defined, or defined anew; now for those that are there."""
    _defined_hooks.append(hook)
    if core.cache_info().currsize:
        hook(core().op_names())


def tell_defined(names: Iterable[str]) -> None:
    """Tell the hooks about ops that were defined, changed, or put back."""
    for hook in _defined_hooks:
        hook(names)


trace_hooks: list[Callable[[], None]] = []  # called when torch.compile traces a call of an op


def note_trace() -> int:
    """Tell the hooks. torch.compile runs this while it traces, and takes the result for a constant."""
    for hook in trace_hooks:
        hook()
    return 0


note_trace._dynamo_marked_constant = True  # type: ignore[attr-defined]  # torch.compiler.assume_constant_result


def _traced_call(op: _core.Op, /, *inputs: Any, **arguments: Any) -> Any:
    """What torch.compile sees of a call: the torch op behind it, with names and lists as torch wants them."""
    plan: _TraceNames = op._trace_names  # type: ignore[attr-defined]
    positional = list(inputs) + [None] * (len(plan.lists) - len(inputs))
    attrs = {}
    for name, value in arguments.items():
        if name in plan.positions:
            positional[plan.positions[name]] = value
        else:
            attrs[plan.attrs.get(name, name)] = [DTYPE_CODES[d] for d in value] if name in plan.dtype_lists else value
    for i, is_list in enumerate(plan.lists):
        value = positional[i]
        if is_list and value is None:
            positional[i] = []
        elif is_list and not isinstance(value, (list, tuple)):
            positional[i] = [value]
        elif not is_list and isinstance(value, (list, tuple)):
            positional[i] = value[0] if value else None
    results = op.overload(*positional, **attrs)
    note_trace()  # after the call, which has torch look at all of its tensors
    return tuple(results) if plan.returns_list else results


#: torch's numbers of dtypes, for lists of them, which its schemas do not have.
DTYPE_CODES = {
    getattr(torch, name): code
    for name, code in {
        **{"uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7},
        **{"complex32": 8, "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15},
        **{"float8_e5m2": 23, "float8_e4m3fn": 24, "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26},
        **{"uint16": 27, "uint32": 28, "uint64": 29},
    }.items()
}


_BY_NUMBER = {code: dtype for dtype, code in DTYPE_CODES.items()}


def dtypes_of(kind: str, value: Any) -> Any:
    """Return an attribute of this type with dtypes in place of torch's numbers of them, which its schemas give."""
    if kind == "dtype" and isinstance(value, int):
        return _BY_NUMBER[value]
    if kind == "list of dtype":
        return [_BY_NUMBER.get(one, one) for one in value]
    return value


class _TraceNames:
    """How the arguments of one op are called, by its author and in its schema."""

    def __init__(self, info: _core.OpInfo, schema: torch.FunctionSchema) -> None:
        names = [argument.name for argument in schema.arguments]
        count = len(info["inputs"])
        self.lists = [arg["count"] != 1 or arg["count_is_minimum"] for arg in info["inputs"]]
        self.positions = {name: i for i, name in enumerate(names[:count])}
        self.positions.update({arg["name"]: i for i, arg in enumerate(info["inputs"])})
        self.attrs = dict(zip((attr["name"] for attr in info["attrs"]), names[count:], strict=False))
        self.dtype_lists = {attr["name"] for attr in info["attrs"] if attr["type"] == "list of dtype"}
        self.returns_list = any(arg["is_optional"] or arg["count_is_minimum"] for arg in info["outputs"])


def find_op(name: str) -> _core.Op:
    """Return the callable of this op. Raises `OpNotFoundError`, with the nearest name, if there is none."""
    op = _ops.get(name)
    if op is None:
        op = _ops[name] = _make_op(name)
    return op


def find_info(name: str) -> _core.OpInfo:
    """Return what the core knows of an op; if it knows none, installed packages are asked for it first."""
    try:
        return core().op_info(name)  # type: ignore[no-any-return]
    except OpNotFoundError:
        from oneop.plugins import find_plugin

        if not find_plugin(name):
            raise
    return core().op_info(name)  # type: ignore[no-any-return]


def _make_op(name: str) -> _core.Op:
    info = find_info(name)
    overload = getattr(torch.ops.oneop, name).default
    op: Any = core().make_op(name, overload)
    op.__name__ = op.__qualname__ = name
    op.__module__ = "oneop.ops"
    op.__signature__ = _signature(info)
    op.__doc__ = f"{info['schema']}\n\nDefined at {info['source']['file']}:{info['source']['line']}."
    op._trace_names = _TraceNames(info, overload._schema)
    return op  # type: ignore[no-any-return]


def _signature(info: _core.OpInfo) -> Signature:
    inputs = info["inputs"]
    parameters = []
    for i, arg in enumerate(inputs):
        optional = all(later["is_optional"] for later in inputs[i:])
        parameters.append(
            Parameter(arg["name"], Parameter.POSITIONAL_OR_KEYWORD, default=None if optional else Parameter.empty)
            if arg["name"].isidentifier() and arg["name"] not in _KEYWORDS
            else Parameter(arg["name"] + "_", Parameter.POSITIONAL_OR_KEYWORD)
        )
    for attr in info["attrs"]:
        default: object = _Default(attr["default"]) if attr["has_default"] else Parameter.empty
        name = attr["name"] + "_" if attr["name"] in _KEYWORDS else attr["name"]
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=default))
    return Signature(parameters)


class _Default:
    """A default value in a signature, shown as the core prints it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


_KEYWORDS = frozenset(__import__("keyword").kwlist)


def forget_ops(names: Iterable[str]) -> None:
    """Drop what Python and torch remember of ops that are gone or have another schema."""
    for name in names:
        _ops.pop(name, None)
        if name in vars(torch.ops.oneop):
            delattr(torch.ops.oneop, name)


def restore(snapshot: object, libraries: dict[str, tuple[str, Any]]) -> None:
    """Put the registries and the list of loaded libraries back as they were."""
    changed = set(core().restore(snapshot))
    forget_ops(changed)
    forget_ops(set(_ops) - set(core().op_names()))
    for name in changed:
        find_op(name)
    loaded_libraries.clear()
    loaded_libraries.update(libraries)
    tell_defined(core().op_names())
