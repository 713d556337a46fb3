"""A reference of one op: a function of torch's, and what the op's definition cannot say about its calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

Function = Callable[..., Any]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """What an op computes, and with which shapes, attributes and values to try it."""

    function: Function
    shapes: Sequence[Sequence[Sequence[int]]] = ()
    attrs: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    values: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    rtol: float | None = None
    atol: float | None = None
    dtypes: str = "any"  # those that the function takes: "any", "numbers" (not bool) or "floating"
    faults: Mapping[str, str] = field(default_factory=dict)  # families in which OneFlow's source is wrong, and how
    untried: Mapping[str, str] = field(default_factory=dict)  # families that would end the process, and why

    def serves(self, tensors: Iterable[Any]) -> bool:
        """Tell whether the function takes a call with these inputs."""
        flat = [t for item in tensors for t in (item if isinstance(item, list) else [item]) if t is not None]
        if self.dtypes == "floating":
            return any(tensor.dtype.is_floating_point for tensor in flat)
        return self.dtypes == "any" or all(tensor.dtype != torch.bool for tensor in flat)


class Table(dict[str, Reference]):
    """References by the names of ops."""

    def put(self, name: str, function: Function, **hints: Any) -> None:
        """Add one."""
        assert name not in self, name
        self[name] = Reference(function=function, **hints)

    def of(self, name: str, **hints: Any) -> Callable[[Function], Function]:
        """Add the decorated function."""

        def keep(function: Function) -> Function:
            self.put(name, function, **hints)
            return function

        return keep


def grad_of(function: Function, place: int = 0, count: int = 1) -> Function:
    """Return the reference of a backward op: inputs of the forward op, then the gradient of its result.

    Args:
        function: the reference of the forward op.
        place: the input whose gradient is returned.
        count: how many inputs the forward op has.
    """

    def backward(*tensors: torch.Tensor, **attrs: Any) -> torch.Tensor:
        inputs = [tensor.detach() for tensor in tensors[:count]]
        return differentiate(
            lambda x: function(*inputs[:place], x, *inputs[place + 1 :], **attrs), inputs[place], tensors[count]
        )

    return backward


def differentiate(function: Function, x: torch.Tensor, dy: torch.Tensor) -> torch.Tensor:
    """Return the gradient of a function of one tensor; zeros where it is constant."""
    wide = x if x.dtype.is_floating_point else x.double()
    leaf = wide.detach().clone().requires_grad_()
    with torch.enable_grad():
        result = function(leaf)
    if not result.requires_grad:
        return torch.zeros_like(x)
    (grad,) = torch.autograd.grad(result, leaf, dy.to(result.dtype).expand_as(result), allow_unused=True)
    return torch.zeros_like(x) if grad is None else grad.to(x.dtype)
