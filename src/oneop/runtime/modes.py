"""Work that is no part of what the caller traces or redirects."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any, TypeVar

import torch
from torch._C._dynamo import eval_frame
from torch.utils._python_dispatch import _disable_current_modes

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def without_modes() -> Iterator[None]:
    """Switch off the modes around a call: fake tensors, traces, `with torch.device(...)`.

    An op can be defined, planned or proved at its first use, and that may be inside a trace. Tensors that are made for
    this must hold numbers, and must not appear in the trace.
    """
    with _disable_current_modes(), torch._C.DisableTorchFunction():
        yield


def untraced(function: F) -> F:
    """Have torch.compile run a function as it is, and all that it calls; the decorated function is the same object.

    `torch.compiler.disable` does the same with a wrapper, and imports the compiler, which takes a second.
    """
    function._torchdynamo_disable = True  # type: ignore[attr-defined]
    function._torchdynamo_disable_msg = "it belongs to oneop's runtime"  # type: ignore[attr-defined]
    _skip(function.__code__)
    return function


def untraced_copy(function: F) -> F:
    """Return a function that torch.compile runs as it is. The given one, which is the author's, can still be compiled.

    Objects that are callable and no functions are returned as they are.
    """
    if not isinstance(function, FunctionType):
        return function
    code = function.__code__.replace()
    copy = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    copy.__doc__, copy.__annotations__ = function.__doc__, function.__annotations__
    _skip(code)
    return copy  # type: ignore[return-value]


def _skip(code: CodeType) -> None:
    skip = eval_frame._FrameAction.SKIP
    eval_frame.set_code_exec_strategy(code, eval_frame._FrameExecStrategy(skip, skip))  # this frame, those it calls
