"""Making a traced graph smaller before it is planned: what does nothing, is not used, or is computed twice."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, GraphModule, Node

from oneop.jobs.planning.schema import (
    aten,
    changed_inputs,
    changes_layout,
    has_effects,
    is_op,
    is_ours,
    is_random,
    is_view,
    roots_of,
)

_NOTHING = {aten.detach.default, aten.alias.default, aten.lift_fresh.default}


def simplify(module: GraphModule) -> None:
    """Run all passes, in place."""
    graph = module.graph
    drop_identities(graph)
    view_instead_of_reshaping(graph)
    read_before_change(graph)
    drop_dead(graph)
    merge_common(graph)
    drop_dead(graph)
    graph.lint()
    module.recompile()


def drop_identities(graph: Graph) -> None:
    """Remove ops that hand on their argument."""
    for node in list(graph.nodes):
        if is_op(node) and (node.target in _NOTHING or _is_needless_expand(node)):
            node.replace_all_uses_with(node.args[0])
            graph.erase_node(node)


def view_instead_of_reshaping(graph: Graph) -> None:
    """Make a view of an op that changes the shape of a value in place, where nobody reads that value afterwards.

    torch's own formulas have such ops: the gradient of a matrix product calls `squeeze_`. Others are refused by the
    planner: what a later reader sees would have another shape.
    """
    place = {node: i for i, node in enumerate(graph.nodes)}
    for node in list(graph.nodes):
        if not is_op(node) or not changes_layout(node.target):
            continue
        op: Any = node.target
        value = node.args[0]
        packet = getattr(aten, op._schema.name.partition("::")[2].removesuffix("_"), None)
        view = getattr(packet, op._overloadname, None)
        if view is None or not is_view(view) or not isinstance(value, Node) or value.op == "placeholder":
            continue
        if all(place[reader] <= place[node] for reader in value.users):
            node.target = view


def read_before_change(graph: Graph) -> None:
    """Give an op a copy of what it reads where it changes the same memory: eager calls read what was there before."""
    roots = roots_of(graph)
    for node in [node for node in graph.nodes if is_ours(node)]:
        changed = {roots[argument] for argument in changed_inputs(node)}
        arguments = node.target._schema.arguments

        def own(value: Node) -> Node:
            if roots.get(value, value) not in changed:  # noqa: B023 - called in this round
                return value
            with graph.inserting_before(node):  # noqa: B023
                copy = graph.call_function(aten.clone.default, (value,))
            copy.meta["val"] = torch.empty_like(value.meta["val"])
            return copy

        node.args = tuple(
            value
            if argument.alias_info is not None
            else [own(item) if isinstance(item, Node) else item for item in value]
            if isinstance(value, (list, tuple))
            else own(value)
            if isinstance(value, Node)
            else value
            for argument, value in zip(arguments, node.args, strict=False)
        )


def _is_needless_expand(node: Node) -> bool:
    if node.target is not aten.expand.default:
        return False
    before, after = node.args[0].meta["val"], node.meta["val"]  # type: ignore[union-attr]
    return bool(before.shape == after.shape and before.stride() == after.stride())


def drop_dead(graph: Graph) -> None:
    """Remove ops whose results nobody uses and that change nothing; what has effects stays, in order."""
    for node in reversed(list(graph.nodes)):
        is_kept = is_op(node) and has_effects(node.target)
        if node.op in ("call_function", "get_attr") and not node.users and not is_kept:
            graph.erase_node(node)


def merge_common(graph: Graph) -> None:
    """Let equal calls of pure ops share one result.

    Ops of oneop are left alone, since a kernel may keep state, and so is whatever touches a tensor that is changed in
    place before, or makes one that is changed later: each change is meant for its own.
    """
    roots = roots_of(graph)
    written = {roots[argument] for node in graph.nodes for argument in changed_inputs(node)}
    seen: dict[Any, Node] = {}
    changed: set[Node] = set()
    for node in list(graph.nodes):
        changed |= {roots[argument] for argument in changed_inputs(node)}
        if not is_op(node) or is_ours(node) or is_random(node.target) or node.target._schema.is_mutable:
            continue
        if node in written and not is_view(node.target):
            continue
        if any(roots[argument] in changed for argument in node.all_input_nodes):
            continue
        key = _key_of(node)
        first = seen.setdefault(key, node)
        if first is not node:
            node.replace_all_uses_with(first)
            graph.erase_node(node)


def _key_of(node: Node) -> Any:
    return (node.target, _freeze(node.args), _freeze(node.kwargs))


def _freeze(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return tuple(_freeze(item) for item in value)
    if isinstance(value, dict):
        return tuple(sorted((key, _freeze(item)) for key, item in value.items()))
    if isinstance(value, torch.fx.node.Node):
        return value
    return (type(value), value)
