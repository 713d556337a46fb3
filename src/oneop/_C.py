"""The functional API: `oneop._C.<name>` for every function that a loaded library binds to Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneop.runtime.core import after_loading, core
from oneop.runtime.functions import find_function

if TYPE_CHECKING:
    from oneop._core import Function


def __getattr__(name: str) -> Function:
    if name.startswith("__"):
        raise AttributeError(name)
    return find_function(name)


def __dir__() -> list[str]:
    names: list[str] = core().function_names()
    return names


def _call_as_op(*call: Any) -> Any:
    from oneop.runtime.random_calls import call_as_op  # late: few functors draw random numbers

    return call_as_op(*call)


after_loading(lambda module: module.set_random_call(_call_as_op))
