"""The two kinds of gradient that an op may have, against each other."""

from __future__ import annotations

from dataclasses import replace

import torch

from oneop.testing.case import Case
from oneop.testing.compare import describe, difference, is_close, largest_value, number
from oneop.testing.explore import Broken
from oneop.testing.families.context import Context, skipped
from oneop.testing.families.gradients.inputs import WANTED, inputs_with_grad, obstacle
from oneop.testing.report import PASSED, Outcome, arguments_text
from oneop.testing.two_gradients import both_of

FAMILY = "gradient kinds"


def gradient_kinds(context: Context) -> Outcome:
    """The gradient for graphs and the one for eager mode give the same, for the same inputs."""
    grad = context.subject.op.grad
    if grad is None or grad.eager is None:
        return skipped(FAMILY, "there are no two")
    stop = obstacle(context, FAMILY)
    if stop is not None:
        return stop
    outcome = context.explore(FAMILY, WANTED, lambda case: _agree(context, case), examples=12)
    return replace(outcome, note="both kinds agree") if outcome.status == PASSED else outcome


def _agree(context: Context, case: Case) -> None:
    """Compare them where all inputs need a gradient, and where one alone does. Raises `Broken`."""
    tensors = inputs_with_grad(case)
    flags = [tensor.requires_grad for tensor in tensors]
    plain = [tensor.detach() for tensor in tensors]
    alone = [[i == place for i in range(len(flags))] for place, flag in enumerate(flags) if flag]
    for needs in [flags, *(alone if len(alone) > 1 else [])]:
        both = both_of(case.subject, case.group(plain), case.attributes, needs)
        for name, graph, eager in zip(case.names(), both.graph, both.eager, strict=True):
            said = _disagreement(context, name, graph, eager, largest_value(plain))
            if said is not None:
                line = f'print(oneop.testing.run_gradients("{case.subject.name}", {arguments_text(case)}))'
                raise Broken(f"{said}\n{_places(context)}", line)


def _disagreement(
    context: Context, name: str, graph: torch.Tensor | None, eager: torch.Tensor | None, scale: float
) -> str | None:
    """Say how the gradients of one input differ, or None."""
    if graph is None or eager is None:
        if graph is eager:
            return None
        giver, other = ("second", "first") if graph is None else ("first", "second")
        return f'the two kinds of gradient differ for input "{name}": the {giver} gives one, the {other} gives none'
    if describe(graph) != describe(eager):
        return (
            f'the two kinds of gradient differ for input "{name}": the first is {describe(graph)}, '
            f"the second {describe(eager)}"
        )
    hints = context.subject.hints
    if is_close(graph, eager, rtol=hints.rtol, atol=hints.atol, scale=scale):
        return None
    wide = torch.complex128 if graph.is_complex() else torch.float64
    apart = number(float((graph.to(wide) - eager.to(wide)).abs().max()))
    where = difference("the second one", graph, eager)
    return f'the two kinds of gradient differ for input "{name}", by up to {apart}: {where}'


def _places(context: Context) -> str:
    grad = context.subject.op.grad
    assert grad is not None
    return (
        f"first, which is used: REGISTER_USER_OP_GRAD at {grad.source}\n"
        f"second: REGISTER_OP_EXPR_GRAD_FUNCTION at {grad.eager}"
    )
