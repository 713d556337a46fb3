"""Libraries, and their ops as functions of numpy arrays."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from oneop._build.library import Library
from oneop.hosts.engine import engine, load_ops

_ops: dict[str, Callable[..., Any]] = {}


class NumpyLibrary:
    """What a library brought: its ops are attributes, `library.myrelu(x, alpha=0.2)`."""

    def __init__(self, name: str, ops: tuple[str, ...], package: str = "") -> None:
        self.name = name
        self.ops = ops
        self.package = package

    def __getattr__(self, name: str) -> Callable[..., Any]:
        """Return the op of this name if it belongs to the library."""
        if name.startswith("__") or name in ("ops", "package"):
            raise AttributeError(name)
        whole = f"{self.package}__{name}" if self.package else name
        if whole not in self.ops:
            raise AttributeError(f'library "{self.name}" has no op "{name}"; it has: {", ".join(self.ops)}')
        return find_op(whole)

    def __dir__(self) -> list[str]:
        """List the ops too."""
        return [*super().__dir__(), *(name.removeprefix(f"{self.package}__") for name in self.ops)]

    def __repr__(self) -> str:
        """Name it and its ops."""
        return f"<library {self.name} on numpy arrays: {', '.join(self.ops)}>"


def load(library: Library | str | os.PathLike[str], *, package: str = "") -> NumpyLibrary:
    """Load an op library: what `oneop.build` returned, or the path of a shared object.

    Raises `LoadError`, `AbiError`, `DuplicateOpError` or `RegistrationError`, and registers nothing then.
    """
    names = load_ops(library, package)
    shown = library.name if isinstance(library, Library) else os.path.basename(os.fspath(library))  # noqa: PTH119
    return NumpyLibrary(shown, names, package)


def find_op(name: str) -> Callable[..., Any]:
    """Return the op as a function of arrays. Raises `OpNotFoundError`."""
    op = _ops.get(name)
    if op is None:
        info = engine().op_info(name)
        made: Any = engine().make_op(name)
        made.__name__ = made.__qualname__ = name
        made.__module__ = "oneop.numpy"
        made.__doc__ = info["doc"]
        op = _ops.setdefault(name, made)
    return op


def set_num_threads(count: int) -> None:
    """Let kernels use so many threads, the caller's included; at first as many as there are processors."""
    engine().set_num_threads(count)


def seed(number: int) -> None:
    """Seed the generator that random ops draw from."""
    engine().set_seed(number)
