"""Tensors that a job function finds around it (weights of a module, globals) must survive tracing unchanged.

Tracing runs the function, and an in-place op on a tensor that is not an input runs for real. The job will do that at
each run; what tracing did is undone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes


class _Keep(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Keeps a copy of every real tensor that an op is about to change."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        if schema is not None and schema.is_mutable:
            for i, argument in enumerate(schema.arguments):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    self._keep(args[i] if i < len(args) else kwargs.get(argument.name))
        return func(*args, **kwargs)

    def _keep(self, value: Any) -> None:
        for tensor in value if isinstance(value, (list, tuple)) else [value]:
            if not isinstance(tensor, torch.Tensor) or isinstance(tensor, FakeTensor):
                continue
            with _disable_current_modes(), torch.no_grad():
                self.kept.append((tensor, tensor.detach().clone()))


@contextlib.contextmanager
def unchanged_captures() -> Iterator[None]:
    """Undo what the block changes in tensors that are not fake; use it inside the modes that make tensors fake."""
    keep = _Keep()
    try:
        with keep:
            yield
    finally:
        with _disable_current_modes(), torch.no_grad():
            for tensor, old in reversed(keep.kept):
                tensor.detach().copy_(old)
