"""Jobs of the mirrored view: an array may be smaller than its placeholder, which says the most that comes."""

import functools
import types
from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from oneop.jobs.function import Job
from oneop.typing import Placeholder

_LISTS = ("ListNumpy", "ListListNumpy")


class MirroredJob:
    """A predict job that is planned once for each combination of shapes that comes."""

    def __init__(self, fn: types.FunctionType, make: Callable[[Callable[..., Any]], Job]) -> None:
        """Make the job of the declared shapes; its annotations are checked then."""
        functools.update_wrapper(self, fn)
        self._fn, self._make = fn, make
        self._jobs: dict[tuple[tuple[int, ...], ...], Job] = {}
        self._job = make(fn)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the job for the shapes of these arrays."""
        names = self._fn.__code__.co_varnames[: self._fn.__code__.co_argcount]
        values = {**dict(zip(names, args, strict=False)), **kwargs}
        annotations = dict(self._fn.__annotations__)
        for name, declared in self._fn.__annotations__.items():
            shape = _smaller(declared, values.get(name))
            if shape is not None:
                annotations[name] = Placeholder(declared.kind, shape, declared.dtype)
        if annotations == self._fn.__annotations__:
            return self._job(*args, **kwargs)
        key = tuple(each.shape for each in annotations.values() if isinstance(each, Placeholder))
        if key not in self._jobs:
            fn = self._fn
            copy = types.FunctionType(fn.__code__, fn.__globals__, fn.__name__, fn.__defaults__, fn.__closure__)
            copy.__annotations__ = annotations
            self._jobs[key] = self._make(copy)
        return self._jobs[key](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        """Answer as the job of the declared shapes: `plan`, `compile`, `profile`."""
        return getattr(self._job, name)


def takes_smaller(fn: Callable[..., Any]) -> TypeGuard[types.FunctionType]:
    """Say whether a function has a parameter of the mirrored view."""
    annotations = getattr(fn, "__annotations__", {}).values()
    return isinstance(fn, types.FunctionType) and any(getattr(each, "kind", "") in _LISTS for each in annotations)


def _smaller(declared: Any, value: Any) -> tuple[int, ...] | None:
    """Return the shape of an array in lists, if it is smaller than declared in some dimension and larger in none."""
    if getattr(declared, "kind", "") not in _LISTS:
        return None
    while isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if not isinstance(value, np.ndarray) or value.ndim != len(declared.shape):
        return None
    fits = all(here <= most for here, most in zip(value.shape, declared.shape, strict=True))
    return value.shape if fits and value.shape != declared.shape else None
