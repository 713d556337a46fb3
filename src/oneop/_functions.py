"""Function objects of the functional API, made from the core at first use."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from oneop._runtime import after_loading, core

if TYPE_CHECKING:
    from oneop._core import Function

_functions: dict[str, Function] = {}
_traceable: set[str] = set()


def find_function(name: str) -> Function:
    """Return the function of this name. Raises `OpNotFoundError`, with the nearest name, if there is none."""
    function = _functions.get(name)
    if function is None or not function.signatures:
        function = _functions[name] = _make_function(name)
        _traceable.discard(name)
    if "torch._dynamo" in sys.modules and name not in _traceable:
        # A compiled function records the call; what the functor calls is traced below that. Not before somebody
        # compiles: the import takes over a second.
        _traceable.add(name)
        sys.modules["torch._dynamo"].allow_in_graph(function)
    return function


def _call_as_op(*call: Any) -> Any:
    from oneop._random_calls import call_as_op  # late: few functors draw random numbers

    return call_as_op(*call)


after_loading(lambda module: module.set_random_call(_call_as_op))


def _make_function(name: str) -> Function:
    function: Any = core().make_function(name)
    function.__name__ = function.__qualname__ = name
    function.__module__ = "oneop._C"
    signatures = "\n".join(f"{name}: {text}" for text in function.signatures)
    function.__doc__ = f"{function.doc}\n\n{signatures}" if function.doc else signatures
    return function  # type: ignore[no-any-return]
