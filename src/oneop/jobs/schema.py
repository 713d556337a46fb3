"""What the planner must know about a torch op: whether it is a view, what it changes, and its out-variant."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch.fx import Node

aten = torch.ops.aten

#: Views whose schema does not say so.
_UNDECLARED_VIEWS = {aten._unsafe_view.default}

#: Ops that make the same values each time they run.
CONSTANT_MAKERS = {
    aten.arange.default,
    aten.arange.start,
    aten.arange.start_step,
    aten.empty.memory_format,
    aten.full.default,
    aten.full_like.default,
    aten.ones.default,
    aten.ones_like.default,
    aten.scalar_tensor.default,
    aten.zeros.default,
    aten.zeros_like.default,
}


def is_op(node: Node) -> bool:
    """Tell whether a node calls a torch op."""
    return node.op == "call_function" and isinstance(node.target, torch._ops.OpOverload)


def is_ours(node: Node) -> bool:
    """Tell whether a node calls an op of oneop."""
    return is_op(node) and node.target.namespace == "oneop"  # type: ignore[union-attr]


def is_getitem(node: Node) -> bool:
    """Tell whether a node picks one of several results."""
    return node.op == "call_function" and getattr(node.target, "__name__", "") == "getitem"


@functools.cache
def is_view(op: Any) -> bool:
    """Tell whether an op only looks at its first argument in another way."""
    if op in _UNDECLARED_VIEWS:
        return True
    returns = op._schema.returns
    return (
        bool(returns)
        and not op._schema.is_mutable
        and all(result.alias_info is not None and not result.alias_info.is_write for result in returns)
    )


@functools.cache
def is_random(op: Any) -> bool:
    """Tell whether two calls may differ."""
    tags = op.tags
    return torch.Tag.nondeterministic_seeded in tags or torch.Tag.nondeterministic_bitwise in tags


@functools.cache
def is_pointwise(op: Any) -> bool:
    """Tell whether each element of the result depends on one element of each argument."""
    return torch.Tag.pointwise in op.tags


def changed_inputs(node: Node) -> list[Node]:
    """Return the arguments that an op writes to."""
    if not is_op(node) or not node.target._schema.is_mutable:  # type: ignore[union-attr]
        return []
    changed: list[Node] = []
    for argument, value in zip(node.target._schema.arguments, full_arguments(node), strict=False):  # type: ignore[union-attr]
        if argument.alias_info is not None and argument.alias_info.is_write:
            changed += [
                item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, Node)
            ]
    return changed


def full_arguments(node: Node) -> list[Any]:
    """Return the arguments of a call in the order of the schema, defaults filled in."""
    values = []
    for i, argument in enumerate(node.target._schema.arguments):  # type: ignore[union-attr]
        if i < len(node.args):
            values.append(node.args[i])
        else:
            values.append(node.kwargs.get(argument.name, argument.default_value))
    return values


@functools.cache
def out_variant(op: Any) -> tuple[Any, tuple[str, ...]] | None:
    """Return the overload that writes into given tensors, with the names of those arguments."""
    wanted = [(argument.name, str(argument.type)) for argument in op._schema.arguments]
    for name in op.overloadpacket.overloads():
        overload = getattr(op.overloadpacket, name)
        arguments = overload._schema.arguments
        outs = tuple(argument.name for argument in arguments if argument.is_out)
        inputs = [(argument.name, str(argument.type)) for argument in arguments if not argument.is_out]
        if outs and inputs == wanted and len(outs) == len(op._schema.returns):
            return overload, outs
    return None
