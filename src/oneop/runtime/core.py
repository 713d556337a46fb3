"""The C++ core, loaded at first use, and the op objects made from it."""

from __future__ import annotations

import importlib.util
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from inspect import Parameter, Signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import torch

from oneop.errors import ArgumentError, OpNotFoundError, described
from oneop.runtime.aot_packages import refuse_in_packages
from oneop.runtime.modes import untraced, without_modes
from oneop.runtime.schema_memory import forget_schema
from oneop.runtime.traced_calls import TraceNames, traced_call
from oneop.settings import settings

if TYPE_CHECKING:
    from oneop import _core

_ops: dict[str, _core.Op] = {}
_loaded_hooks: list[Callable[[Any], None]] = []
_defined_hooks: list[Callable[[Iterable[str]], None]] = []

#: What is loaded under each library name: the hash of its content, and what it brought.
loaded_libraries: dict[str, tuple[str, Any]] = {}


#: The core, once it is loaded and every hook has run.
_ready: Any = None
#: The core while its hooks run. Only the thread that loads it sees it, since `_loading_lock` is held.
_loading: Any = None
#: Guards loading. Re-entrant: hooks ask for the core. Importing a module of oneop never waits for it, so it cannot be
#: part of a cycle with Python's import locks; see `after_loading`.
_loading_lock = threading.RLock()
#: Guards `_loaded_hooks` and the moment when `_ready` is set. Nothing is called while it is held.
_hooks_lock = threading.Lock()


def core() -> Any:
    """Return the core module, building it first if the cache has none for this torch."""
    return _ready if _ready is not None else _load_core()


def _load_core() -> Any:
    global _ready, _loading
    with _loading_lock:
        if _ready is not None:
            return _ready  # another thread was faster
        if _loading is not None:
            return _loading  # a hook asks for it
        _loading = module = _import_core()
        try:
            module.set_traced_call(traced_call)
            module.set_schema_hook(_follow_schemas)
            module.set_unstored_hook(refuse_in_packages)
            _apply_setting("cpu_fallback")
            _apply_setting("sync_kernels")
            done = 0
            while True:
                with _hooks_lock:
                    if done == len(_loaded_hooks):
                        _ready = module
                        return module
                    hook = _loaded_hooks[done]
                hook(module)
                done += 1
        finally:
            _loading = None


def _import_core() -> ModuleType:
    # Late, so that `python -m oneop._build.core` finds it not yet imported.
    from oneop._build.core import core_path
    from oneop._build.prebuilt import choose
    from oneop._build.torch_install import find_torch, warn_if_untested

    if "oneop._core" in sys.modules:
        return sys.modules["oneop._core"]  # a hook failed the first time
    warn_if_untested(torch.__version__)
    choice = choose(find_torch())
    problem = choice.why if choice.is_damage else ""
    if choice.path is not None:
        try:
            return _import_file(choice.path)
        except ImportError as error:
            problem = f"{choice.path} cannot be loaded: {error}"
    if problem:
        warnings.warn(
            f"the compiled core of this wheel is not used: {problem}\n"
            "  it is built from source instead, which takes minutes; install oneop again",
            RuntimeWarning,
            stacklevel=2,
        )
    return _import_file(core_path())


def _import_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("oneop._core", path)
    assert spec is not None and spec.loader is not None
    module: ModuleType = importlib.util.module_from_spec(spec)
    sys.modules["oneop._core"] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules["oneop._core"]
        raise
    return module


def _apply_setting(name: str) -> None:
    """Tell the core the value of a setting that it acts on."""
    module = _ready or _loading
    if module is not None and name == "cpu_fallback":
        module.set_cpu_fallback(bool(settings.cpu_fallback))
    elif module is not None and name == "sync_kernels":
        module.set_kernel_sync(bool(settings.sync_kernels))


settings.listen(_apply_setting)


def after_loading(hook: Callable[[Any], None]) -> None:
    """Have `hook(core)` called once the core is there. For the layers above this one.

    If another thread is loading the core, that thread calls the hook, before anyone gets the core.
    """
    with _hooks_lock:
        _loaded_hooks.append(hook)
        module = _ready
    if module is not None:
        hook(module)


def after_defining(hook: Callable[[Iterable[str]], None]) -> None:
    """Have `hook(names)` called for ops that were defined or redefined; now for those that are there."""
    _defined_hooks.append(hook)
    if _ready is not None:
        with without_modes():
            hook(_ready.op_names())


@untraced
def tell_defined(names: Iterable[str]) -> None:
    """Tell the hooks about ops that were defined, changed, or put back."""
    with without_modes():
        for hook in _defined_hooks:
            hook(names)


def find_op(name: str) -> _core.Op:
    """Return the callable of this op. Raises `OpNotFoundError`, with the nearest name, if there is none."""
    op = _ops.get(name)
    if op is None:
        info = find_info(name)
        if info["name"] != name:  # given without its package; not kept, since another package may bring the same name
            return find_op(info["name"])
        op = _ops.setdefault(name, _make_op(info))  # one object for all threads
    return op


def find_info(name: str) -> _core.OpInfo:
    """Return what the core knows of an op; if it knows none, installed packages are imported, and it is asked again."""
    if not isinstance(name, str):
        raise ArgumentError(f"expected the name of an op, found {described(name)}\n  oneop.list_ops() has all names")
    try:
        return core().op_info(core().resolve(name))  # type: ignore[no-any-return]
    except OpNotFoundError:
        from oneop.plugins import load_plugins
    # The op may come from a package whose import another thread has just finished, or that failed after it defined the
    # op: so what counts is whether the op is there now, not what this call imported.
    load_plugins(name)
    try:
        return core().op_info(core().resolve(name))  # type: ignore[no-any-return]
    except OpNotFoundError:
        load_plugins()
    return core().op_info(core().resolve(name))  # type: ignore[no-any-return]


def _make_op(info: _core.OpInfo) -> _core.Op:
    name = info["name"]
    overload = _overload_of(name)
    op: Any = core().make_op(name, overload)
    op.__name__ = op.__qualname__ = name
    op.__module__ = "oneop.ops"
    op.__signature__ = _signature(info)
    op.__doc__ = _doc(info)
    op._trace_names = TraceNames(info, overload._schema, has_open_outputs(info))
    return op  # type: ignore[no-any-return]


class _FollowingOp:
    """What an overload calls, once its schema has changed.

    torch takes the hash of an overload from this, and keeps overloads in tables, of a graph that is being traced for
    one. So the hash never changes.
    """

    __slots__ = ("_call", "_hash")

    def __init__(self, call: Callable[..., Any], number: int) -> None:
        self._call = call
        self._hash = number

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)

    def __hash__(self) -> int:
        return self._hash


#: Attributes of an overload from which versions of torch take its hash.
_HASHED = ("_op", "_cpp_dispatch_handle")

#: What `torch.ops.oneop.<name>.default` is, for each name that ever was an op.
_overloads: dict[str, Any] = {}


def _overload_of(name: str) -> Any:
    """Return the one overload object of an op, with the schema that it has now.

    torch remembers the object that it first gave to a dispatch mode, for as long as the op's entry in the dispatcher
    lives, and graphs hold it. So when an op has another schema that same object gets it.
    """
    packet = getattr(torch.ops.oneop, name)
    current = packet.default
    known = _overloads.setdefault(name, current)
    if known is not current:
        # Other threads use the object: it never lacks an attribute. An update of one dict by another is atomic.
        outdated = vars(known).keys() - vars(current).keys()
        number = hash(known)
        following = {name: _FollowingOp(vars(current)[name], number) for name in _HASHED if name in vars(current)}
        vars(known).update({**vars(current), **following})
        for attribute in outdated:
            vars(known).pop(attribute, None)
        packet.default = known
    return known


def _doc(info: _core.OpInfo) -> str:
    said = info["doc"].strip() + "\n\n" if info["doc"].strip() else ""
    counts = ""
    if has_open_outputs(info):
        names = ", ".join(arg["name"] for arg in info["outputs"])
        counts = f"\n\noutput_counts: how many tensors each output has ({names}); without it, as many as it must have."
    return f"{said}{info['schema']}{counts}\n\nDefined at {info['source']['file']}:{info['source']['line']}."


def has_open_outputs(info: _core.OpInfo) -> bool:
    """Tell whether a call says how many outputs there are, by `output_counts`."""
    return any(arg["is_optional"] or arg["count_is_minimum"] for arg in info["outputs"])


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
        kind = Parameter.POSITIONAL_OR_KEYWORD if attr["is_positional"] else Parameter.KEYWORD_ONLY
        parameters.append(Parameter(name, kind, default=default))
    if has_open_outputs(info):
        counts = [0 if arg["is_optional"] else arg["count"] for arg in info["outputs"]]
        parameters.append(Parameter("output_counts", Parameter.KEYWORD_ONLY, default=_Default(str(counts))))
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
        forget_schema(f"oneop::{name}", _overloads.get(name))


def _follow_schemas(names: list[str]) -> None:
    """Give the objects of ops their new schemas. The core runs this while calls of these ops wait."""
    forget_ops(names)
    for name in names:
        _overload_of(name)


def restore(snapshot: object, libraries: dict[str, tuple[str, Any]]) -> None:
    """Put the registries and the list of loaded libraries back as they were."""
    defined, changed = core().restore(snapshot)
    forget_ops(changed)
    forget_ops(set(_ops) - set(core().op_names()))
    for name in changed:
        find_op(name)
    loaded_libraries.clear()
    loaded_libraries.update(libraries)
    tell_defined(defined)
