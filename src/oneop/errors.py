"""Every exception oneop raises.

All derive from `OneopError`, and each also from the builtin that a caller would think of first, so `except TypeError`
works as well as `except oneop.OneopError`. The C++ core raises the same classes, by name.
"""

from __future__ import annotations

from collections.abc import Iterable


class OneopError(Exception):
    """Base of all errors that oneop raises on purpose."""


class BuildError(OneopError, RuntimeError):
    """An op library, or the core itself, could not be compiled."""


class DefinitionError(BuildError, ValueError):
    """A definition file is malformed. The message has its place, the source line and a caret under the fault."""

    def __init__(self, message: str, file: str = "", line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.column = column


class OdsError(DefinitionError):
    """An op definition (.td) is malformed."""


class FunctionalError(DefinitionError):
    """A description of the functional API (.yaml) is malformed."""


class LoadError(OneopError, OSError):
    """An op library could not be loaded."""


class AuditError(OneopError, ValueError):
    """A file that `oneop audit` is given is no shared object, or damaged."""


class SignatureError(LoadError):
    """A library that must be signed is not, or its signature is wrong."""


class AbiError(LoadError):
    """An op library was built with an SDK that this oneop cannot serve."""


class RegistrationError(OneopError, ValueError):
    """An op, kernel or gradient is described wrongly."""


class DuplicateOpError(RegistrationError):
    """An op of this name is registered already."""


class OpNotFoundError(OneopError, LookupError, AttributeError):
    """No op of this name is registered."""


class ArgumentError(OneopError, TypeError):
    """A call has a missing, unknown or mistyped input, output or attribute."""


class KernelNotFoundError(OneopError, NotImplementedError):
    """No registered kernel takes these devices and dtypes."""


class AmbiguousKernelError(OneopError, RuntimeError):
    """Several kernels of the same priority match a call."""


class GradientNotFoundError(OneopError, NotImplementedError):
    """A gradient is needed and none is registered."""


class GradientError(OneopError, RuntimeError):
    """A registered gradient does not fit its op."""


class ShardingError(OneopError, NotImplementedError):
    """Ops cannot take DTensors with the torch that is installed."""


class CheckError(OneopError, RuntimeError):
    """A CHECK in an op author's code failed."""


class OpRuntimeError(OneopError, RuntimeError):
    """An op author's code reported a runtime error."""


class OpTypeError(OneopError, TypeError):
    """An op author's code reported a type error."""


class OpValueError(OneopError, ValueError):
    """An op author's code reported an illegal value."""


class OpIndexError(OneopError, IndexError):
    """An op author's code reported an index out of range."""


class OpNotImplementedError(OneopError, NotImplementedError):
    """An op author's code, or the op itself, does not offer what was asked for."""


class OpCheckFailed(OneopError, AssertionError):
    """`oneop.testing.check` found something wrong with an op. `report` has all that it found."""

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message)
        self.report = report


class MissingDependencyError(OneopError, ImportError):
    """A part of oneop needs a package that is not installed."""


class SbpError(OneopError, AssertionError):
    """An op declares an SBP signature that does not hold."""


class RedistributionError(OneopError, RuntimeError):
    """A tensor had to be redistributed between devices, and nobody asked for it."""


def described(value: object) -> str:
    """Return type and value for a message about something that was expected to be something else."""
    text = repr(value)
    if value is None:
        return text
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Return the name that was probably meant, or None. One that differs only in letter case comes first."""
    import difflib

    known = list(names)
    for candidate in known:
        if candidate.casefold() == name.casefold():
            return candidate
    return next(iter(difflib.get_close_matches(name, known, 1)), None)


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return `, did you mean "x"?`, or nothing where no name is near. csrc/engine/ops/error.h has the same for C++."""
    near = nearest(name, names)
    return f', did you mean "{near}"?' if near is not None else ""
