"""What the planner must know about a torch op: whether it is a view, what it changes, and its out-variant."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import torch
from torch._library.utils import is_impure
from torch.fx import Graph, Node

from oneop.runtime.core import after_defining

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
def has_effects(op: Any) -> bool:
    """Tell whether a call must be kept though nobody uses what it returns.

    An op without results is only called for its effect, and a random one moves the generator that later ops draw from.
    """
    return not op._schema.returns or is_impure(op)


@functools.cache
def changes_layout(op: Any) -> bool:
    """Tell whether an op changes the shape or strides of its argument in place, such as `t_`."""
    return torch.Tag.inplace_view in op.tags


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
            changed += _nodes_in(value)
    return changed


def changed_results(node: Node) -> dict[int, Node]:
    """Return those results of an op that are arguments it has changed, by number.

    All other results of an op that changes something are new tensors: an op may do both.
    """
    schema = node.target._schema  # type: ignore[union-attr]
    results: dict[int, Node] = {}
    for number, result in enumerate(schema.returns):
        if result.alias_info is None:
            continue
        for argument, value in zip(schema.arguments, full_arguments(node), strict=False):
            names = argument.alias_info.before_set if argument.alias_info is not None else set()
            if isinstance(value, Node) and names & result.alias_info.before_set:
                results[number] = value
    return results


def tensors_of(node: Node) -> dict[int, torch.Tensor]:
    """Return the results of a call that are tensors, by number, as fake tensors."""
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        return {0: value}
    return {i: item for i, item in enumerate(value or ()) if isinstance(item, torch.Tensor)}


def roots_of(graph: Graph) -> dict[Node, Node]:
    """Return for each tensor of a graph the node that made its memory: itself, unless it is a view or was changed."""
    roots: dict[Node, Node] = {}
    for node in graph.nodes:
        source: Any = node
        if is_getitem(node):
            call, number = node.args
            if is_op(call):
                source = changed_results(call).get(number, call if is_view(call.target) else node)
        elif is_op(node) and is_view(node.target):
            source = node.args[0]
        elif changed_inputs(node):
            source = changed_results(node).get(0, node)
        roots[node] = roots.get(source, source)
    return roots


def _nodes_in(value: Any) -> list[Node]:
    return [item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, Node)]


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
        lists = any("List" in str(argument.type) for argument in arguments if argument.is_out)
        if outs and not lists and inputs == wanted and len(outs) == len(op._schema.returns):
            return overload, outs
    return None


def _forget(_: Iterable[str]) -> None:
    """An op that is defined again may have another schema, and torch's object of it stays the same."""
    for answers in (is_view, is_random, has_effects, changes_layout, is_pointwise, out_variant):
        answers.cache_clear()


after_defining(_forget)
