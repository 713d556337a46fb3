"""Every registered op as a function: `oneop.ops.myrelu(x)`, and `oneop.ops.mypkg.gelu(x)` where a package ships it.

An op that a package ships may be called without the package where that is unambiguous. A package that has the name of
an op is reached as `oneop.ops.packages.<package>`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oneop.errors import OpNotFoundError
from oneop.plugins import imports_under_way, load_plugins, wait_for_imports
from oneop.runtime.core import core, find_op

if TYPE_CHECKING:
    from oneop._core import Op


def _complete_op(name: str) -> Op:
    """Return the op, with its kernels and gradient even if another thread imports its package just now."""
    op = find_op(name)
    if imports_under_way:
        wait_for_imports(op.__name__)
        op = find_op(name)
    return op


class Package:
    """The ops that a package ships, as attributes."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Op:
        """Return the op of this name."""
        if name.startswith("__"):
            raise AttributeError(name)
        try:  # first of all, since torch.compile can trace it for an op that is there
            return _complete_op(f"{self.__name__}__{name}")
        except OpNotFoundError:
            listed = ", ".join(dir(self))
        raise AttributeError(f'package "{self.__name__}" has no op "{name}"; it has: {listed}')

    def __dir__(self) -> list[str]:
        """List its ops."""
        start = f"{self.__name__}__"
        return [name.removeprefix(start) for name in core().op_names() if name.startswith(start)]

    def __repr__(self) -> str:
        """Name it and its ops."""
        return f"<ops of package {self.__name__}: {', '.join(dir(self))}>"


class Packages:
    """The packages whose ops are loaded, as attributes; one that is installed is imported when it is asked for."""

    def __getattr__(self, name: str) -> Package:
        """Return the package of this name."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in dir(self):
            load_plugins(name)
        if name not in dir(self):
            raise AttributeError(f'no package "{name}" with ops is loaded; there are: {", ".join(dir(self)) or "none"}')
        return Package(name)

    def __dir__(self) -> list[str]:
        """List those that are loaded."""
        return sorted({name.partition("__")[0] for name in core().op_names() if "__" in name})


packages = Packages()


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        return _complete_op(name)
    except OpNotFoundError:
        if name in dir(packages):
            return Package(name)
        raise


def __dir__() -> list[str]:
    names: list[str] = core().op_names()
    return names
