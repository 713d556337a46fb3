"""The gradient in a planned job."""

from __future__ import annotations

import torch

from oneop.errors import ArgumentError
from oneop.testing.case import Case
from oneop.testing.compare import assert_close
from oneop.testing.explore import Enough, NotForThis, first_lines
from oneop.testing.families.context import Context, skipped
from oneop.testing.families.gradients.inputs import WANTED, floating, inputs_with_grad, obstacle
from oneop.testing.report import MISSING, Outcome


def graph_gradient(context: Context) -> Outcome:
    """The gradient in a planned job is that of an eager call."""
    stop = obstacle(context, "graph gradient")
    if stop is not None:
        return stop if stop.status != MISSING else skipped("graph gradient", "no gradient")
    if any(context.subject.dynamic_axes):
        return skipped("graph gradient", "the size of an output depends on data")

    absent: list[str] = []

    def holds(case: Case) -> None:
        from oneop.jobs.graph import compile_job

        tensors = inputs_with_grad(case)
        results = floating(case.run(tensors))
        if not any(result.requires_grad for result in results):
            raise NotForThis
        flags = [tensor.requires_grad for tensor in tensors]

        def body(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            own = [t.detach().requires_grad_(flag) for t, flag in zip(tensors, flags, strict=True)]
            with torch.enable_grad():
                results = [r for r in floating(case.run(own)) if r.requires_grad]
                weights = [torch.ones_like(r) * 0.5 for r in results]
                wanted = [t for t, flag in zip(own, flags, strict=True) if flag]
                grads = torch.autograd.grad(results, wanted, weights, allow_unused=True)
            return tuple(g for g in grads if g is not None)

        plain = [tensor.detach().contiguous() for tensor in tensors]
        expected = body(*plain)
        if not expected:
            raise NotForThis
        try:
            job = compile_job(body, plain)
        except ArgumentError as error:
            # A result whose size depends on data is beyond a job. A gradient that looks at numbers is not: it is wrong.
            if "depends on the data" not in str(error) or "_local_scalar_dense" in str(error):
                raise
            absent.append(first_lines(error, 1))
            raise Enough from None
        planned = job(*plain)
        flat = [planned] if isinstance(planned, torch.Tensor) else list(planned)
        names = [f"the gradient of {name}" for name, flag in zip(case.names(), flags, strict=True) if flag]
        assert_close(expected, flat, "in a planned job", names)

    outcome = context.explore("graph gradient", WANTED, holds, examples=3)
    if absent and outcome.failure is None:
        return Outcome(family="graph gradient", status=MISSING, note=absent[0])
    return outcome
