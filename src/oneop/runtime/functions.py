"""Function objects of the functional API, made from the core at first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneop.runtime.after_import import after_import
from oneop.runtime.core import core

if TYPE_CHECKING:
    from oneop._core import Function

_functions: dict[str, Function] = {}
_dynamo: Any = None  # the compiler, once it has been imported


def find_function(name: str) -> Function:
    """Return the function of this name. Raises `OpNotFoundError`, with the nearest name, if there is none."""
    function = _functions.get(name)
    if function is None or not function.signatures:
        function = _functions[name] = _make_function(name)
        if _dynamo is not None:
            _dynamo.allow_in_graph(function)
    return function


def _trace_functions(dynamo: Any) -> None:
    """Have compiled functions record calls of oneop functions; what a functor calls is traced below that.

    Programs hold functions from before the compiler was imported, so all that there are are made known to it.
    """
    global _dynamo
    _dynamo = dynamo
    for function in [*_functions.values()]:
        dynamo.allow_in_graph(function)


after_import("torch._dynamo", _trace_functions)


def _make_function(name: str) -> Function:
    function: Any = core().make_function(name)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "oneop._C"
    signatures = "\n".join(f"{name}: {text}" for text in function.signatures)
    function.__doc__ = f"{function.doc}\n\n{signatures}" if function.doc else signatures
    return function  # type: ignore[no-any-return]
