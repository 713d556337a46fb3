"""`register_vmap`: how an op runs on batches, in torch's form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from oneop.authoring.binding import Source

#: The rule of each op that has one. torch asks through one function for each name, for ever.
_rules: dict[str, Callable[..., Any]] = {}


def set_rule(name: str, rule: Callable[..., Any], source: Source) -> None:
    """Use `rule(info, in_dims, *inputs, **attrs) -> (outputs, out_dims)` for this op."""
    is_new = name not in _rules
    _rules[name] = rule
    if is_new:
        torch.library.register_vmap(f"oneop::{name}", lambda *args, **kwargs: _rules[name](*args, **kwargs))


def elementwise_rule(op: Callable[..., Any]) -> Callable[..., Any]:
    """Return the rule of an elementwise op: a batch is one axis more, and what has none is repeated along it."""

    def rule(info: Any, in_dims: Any, *inputs: Any, **attrs: Any) -> Any:
        def batched(value: Any, dim: Any) -> Any:
            if isinstance(value, (list, tuple)):
                dims = dim if isinstance(dim, (list, tuple)) else [dim] * len(value)
                return [batched(item, one) for item, one in zip(value, dims, strict=True)]
            if not isinstance(value, torch.Tensor):
                return value
            return value.expand(info.batch_size, *value.shape) if dim is None else value.movedim(dim, 0)

        outputs = op(*(batched(value, dim) for value, dim in zip(inputs, in_dims, strict=True)), **attrs)
        return outputs, 0 if isinstance(outputs, torch.Tensor) else tuple(0 for _ in outputs)

    return rule


def has_rule(name: str) -> bool:
    """Tell whether an op has a rule; others run once for each element of a batch."""
    return name in _rules
