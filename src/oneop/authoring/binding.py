"""How an author's function takes what an op has: inputs by position, attributes and `out` by name."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from typing import Any

from oneop.authoring.schema import Schema
from oneop.errors import RegistrationError, did_you_mean


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where something is written. `library` decides what replaces what: all of one file is one library."""

    file: str
    line: int
    library: str

    def __str__(self) -> str:
        """Return `file:line`."""
        return f"{self.file}:{self.line}"


def source_of_caller(depth: int) -> Source:
    """Return the place that called the caller, `depth` frames up."""
    frame = sys._getframe(depth + 1)
    return _source(frame.f_code.co_filename, frame.f_lineno, frame.f_globals)


def source_of(function: Any, otherwise: Source) -> Source:
    """Return where a function is written; for one that is not Python's, `otherwise`.

    Raises `RegistrationError` if it cannot be called: registered, it would fail at every call of the op.
    """
    if not callable(function) and not hasattr(function, "fn"):  # triton's kernels are launched, not called
        raise RegistrationError(
            f"expected a function to register, found {type(function).__name__} {function!r}\n"
            f"  at {otherwise.file}:{otherwise.line}"
        )
    function = getattr(function, "py_func", getattr(function, "fn", function))  # numba's and triton's wrappers
    plain = inspect.unwrap(function)
    if inspect.iscoroutinefunction(plain) or inspect.isasyncgenfunction(plain):
        raise RegistrationError(
            f"a call of an async function gives no result, found {plain.__name__}\n"
            f"  write def in place of async def\n  at {otherwise}"
        )
    code = getattr(plain, "__code__", None)
    if code is None:
        return otherwise
    return _source(code.co_filename, code.co_firstlineno, getattr(function, "__globals__", {}))


def _source(file: str, line: int, scope: Mapping[str, Any]) -> Source:
    # A notebook's cells and a session's lines have no file: what is said again there replaces what was said before. The
    # path is absolute, as the file is looked for later, by programs that repeat a failure and in certificates.
    return Source(
        file=file, line=line, library=f"python:{Path(file).absolute() if '__file__' in scope else 'interactive'}"
    )


@dataclass(frozen=True, kw_only=True)
class Taken:
    """What a function takes beside the inputs."""

    attrs: tuple[str, ...]
    out: bool


def taken_by(function: Callable[..., Any], schema: Schema, what: str, source: Source, *, out: bool = True) -> Taken:
    """Look at a function's parameters. Raises `RegistrationError` if it cannot be called for this op."""
    import numpy as np

    if isinstance(function, np.ufunc):
        return Taken(attrs=(), out=out and "out" not in _names(schema))
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):  # not a Python function
        return Taken(attrs=(), out=False)

    def refuse(problem: str) -> RegistrationError:
        takes = ", ".join(str(parameter) for parameter in parameters)
        return RegistrationError(f'op "{schema.name}", {what}({takes}): {problem}\n  {schema.text}\n  at {source}')

    positional = [p for p in parameters if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    count = len(schema.inputs)
    if len(positional) < count and not any(p.kind is Parameter.VAR_POSITIONAL for p in parameters):
        raise refuse(f"expected {count} inputs, found {len(positional)} parameters")
    names = [attr.name for attr in schema.attrs]
    takes_out = False
    attrs = []
    by_name = [*positional[count:], *(p for p in parameters if p.kind is Parameter.KEYWORD_ONLY)]
    for parameter in by_name:
        name = parameter.name
        if name in names:
            attrs.append(name)
        elif name == "out" and out:
            takes_out = True
        elif parameter.default is Parameter.empty:
            raise refuse(f'the op has no attribute "{name}"{did_you_mean(name, names)}')
    if any(p.kind is Parameter.VAR_KEYWORD for p in parameters):
        attrs += [name for name in names if name not in attrs]
    return Taken(attrs=tuple(attrs), out=takes_out)


def caller_of(function: Callable[..., Any], names: Sequence[str]) -> Callable[[Sequence[Any], Mapping[str, Any]], Any]:
    """Return `function` as one of (inputs, what is given by name), of which it gets what it takes."""
    return lambda inputs, values: function(*inputs, **{name: values[name] for name in names})


def _names(schema: Schema) -> list[str]:
    return [arg.name for arg in schema.inputs] + [attr.name for attr in schema.attrs]
