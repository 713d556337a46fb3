"""Annotations of job functions: what goes in, what comes out.

@oneop.global_function()
def job(x: tp.Numpy.Placeholder((5,), dtype=oneop.float32)) -> tp.Numpy: ...
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import torch

from oneop.errors import ArgumentError

T = TypeVar("T")


@dataclass(frozen=True)
class Placeholder:
    """An input of a job: how it is given (`kind`), its shape and its dtype."""

    kind: str
    shape: tuple[int, ...]
    dtype: torch.dtype

    def __str__(self) -> str:
        """Return it as it is written."""
        return f"{self.kind}.Placeholder({self.shape}, dtype={self.dtype})"


def _placeholder(kind: str, shape: Sequence[int], dtype: torch.dtype) -> Placeholder:
    if isinstance(shape, int) or not all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in shape):
        raise ArgumentError(f"{kind}.Placeholder: expected a shape (tuple of ints), found {shape!r}")
    if not isinstance(dtype, torch.dtype):
        raise ArgumentError(f"{kind}.Placeholder: expected a dtype such as oneop.float32, found {dtype!r}")
    return Placeholder(kind, tuple(shape), dtype)


class _Kind:
    """A way to give or get values. The class itself is the annotation of a result."""

    @classmethod
    def Placeholder(cls, shape: Sequence[int], dtype: torch.dtype = torch.float32) -> Any:
        """Annotate a parameter."""
        return _placeholder(cls.__name__, shape, dtype)


class Numpy(_Kind):
    """One numpy array of exactly the given shape."""


class Tensor(_Kind):
    """One torch tensor of exactly the given shape."""


class ListNumpy(_Kind):
    """A list with one numpy array; it may have fewer elements than the placeholder."""


class ListListNumpy(_Kind):
    """A list of lists of numpy arrays; together they may have fewer elements than the placeholder."""


if TYPE_CHECKING:
    Callback = Callable[[T], None]
    Bundle = list[T]
else:

    class Callback(Generic[T]):
        """The job returns at once; its result goes to a function given to what it returned."""

    class Bundle(Generic[T]):
        """A nesting of lists, tuples and dicts of T."""
