"""The graph of a gradient: which ops run backward, and what they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from oneop.testing.case import Case
from oneop.testing.families.gradients.inputs import differentiable, floating


@dataclass(frozen=True, kw_only=True)
class BackwardNode:
    """A value of the graph: its name, what makes it, and which values that reads."""

    name: str
    text: str
    reads: tuple[str, ...]
    is_result: bool = False


def trace_backward(case: Case) -> list[BackwardNode]:
    """Return the backward graph of a call, inputs first. Raises what the op raises if it has no gradient."""
    from torch.fx.experimental.proxy_tensor import make_fx

    flags = differentiable(case)
    tensors = case.make()
    names = case.names()
    outputs = floating(case.run(tensors))

    def body(*values: torch.Tensor) -> list[torch.Tensor]:
        own = [t.detach().requires_grad_(flag) for t, flag in zip(values[: len(tensors)], flags, strict=True)]
        with torch.enable_grad():
            results = [result for result in floating(case.run(own)) if result.requires_grad]
            wanted = [t for t, flag in zip(own, flags, strict=True) if flag]
            grads = torch.autograd.grad(results, wanted, values[len(tensors) :], allow_unused=True)
        return [grad for grad in grads if grad is not None]

    traced = make_fx(body, tracing_mode="fake")(*tensors, *(torch.ones_like(output) for output in outputs))
    traced.graph.eliminate_dead_code()
    labels = [*names, *(f"d{arg.name}" for arg in case.subject.op.outputs)]
    results = [f"d{name}" for name, flag in zip(names, flags, strict=True) if flag]
    return _nodes(traced.graph, labels, results)


def _nodes(graph: torch.fx.Graph, labels: list[str], results: list[str]) -> list[BackwardNode]:
    name_of: dict[Any, str] = {}
    nodes: list[BackwardNode] = []
    waiting = iter(labels)
    for node in graph.nodes:
        if node.op == "placeholder":
            name_of[node] = next(waiting, node.name)
            if node.users:
                nodes.append(BackwardNode(name=name_of[node], text=name_of[node], reads=()))
        elif node.op == "output":
            for name, value in zip(results, node.args[0], strict=False):
                nodes.append(BackwardNode(name=name, text=name, reads=(name_of[value],), is_result=True))
        else:
            target = str(node.target)
            if "detach" in target or "alias" in target:
                name_of[node] = name_of[node.all_input_nodes[0]]
                continue
            name_of[node] = node.name
            text = target.removesuffix(".default").removeprefix("oneop.").removeprefix("aten.")
            reads = tuple(dict.fromkeys(name_of[value] for value in node.all_input_nodes))
            nodes.append(BackwardNode(name=node.name, text=text, reads=reads))
    return nodes
