"""Modules of OneFlow's jobs: objects that are kept by name, and ops that are built once and called often."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from oneop import user_op
from oneop.errors import ArgumentError

from .blobs import user_op_builder

_modules: dict[str, Any] = {}


class Module:
    """A callable with `forward`, which counts its calls."""

    def __init__(self, name: str | None = None) -> None:
        """Start with no call."""
        self.module_name = name or type(self).__name__
        self.call_seq_no = 0

    def forward(self, *args: Any) -> Any:
        """Compute; subclasses say how."""
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *args: Any) -> Any:
        """Call `forward`."""
        result = self.forward(*args)
        self.call_seq_no += 1
        return result


def find_or_create_module(module_name: str, create: Callable[[], Any], reuse: bool = False) -> Any:
    """Return the module of this name, made when it is first asked for."""
    if module_name not in _modules:
        _modules[module_name] = create()
    return _modules[module_name]


class _OpModule:
    def InitOpKernel(self) -> None:
        """Do nothing: kernels are made when they are first called."""


class _ModuleBuilder:
    """Says which tensors an op takes and gives, once; then builds calls of it."""

    def __init__(self, op_type_name: str) -> None:
        self._op = op_type_name
        self._sizes: dict[str, int] = {}
        self._outputs: dict[str, int] = {}
        self._attrs: dict[str, object] = {}
        self._name = op_type_name
        self._inputs: dict[str, Sequence[torch.Tensor]] = {}
        self.user_op_module = _OpModule()

    def InputSize(self, name: str, size: int) -> "_ModuleBuilder":
        self._sizes[name] = size
        return self

    def Output(self, name: str, num: int = 1) -> "_ModuleBuilder":
        self._outputs[name] = num
        return self

    def Attr(self, name: str, value: object, type_name: str | None = None) -> "_ModuleBuilder":
        self._attrs[name] = value
        return self

    def OpName(self, name: str) -> "_ModuleBuilder":
        self._name, self._inputs = name, {}
        return self

    def Input(self, name: str, blobs: Sequence[torch.Tensor]) -> "_ModuleBuilder":
        size = self._sizes.get(name, len(blobs))
        if len(blobs) != size:
            raise ArgumentError(
                f'op "{self._op}", input "{name}": InputSize declares {size} tensors, found {len(blobs)}\n'
                "  give as many as declared"
            )
        self._inputs[name] = blobs
        return self

    def Build(self) -> user_op.UserOp:
        builder = user_op_builder(self._name).Op(self._op)
        for name, blobs in self._inputs.items():
            builder.Input(name, blobs)
        for name, num in self._outputs.items():
            builder.Output(name, num)
        for name, value in self._attrs.items():
            builder.Attr(name, value)
        return builder.Build()


def user_op_module_builder(op_type_name: str) -> _ModuleBuilder:
    """Start to describe an op that is called often."""
    return _ModuleBuilder(op_type_name)
