"""A job: a function that is traced and planned at its first call, then run from C++."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch

from oneop.errors import ArgumentError
from oneop.jobs.device import DeviceRunner
from oneop.jobs.passes import simplify
from oneop.jobs.plan_view import PlanView
from oneop.jobs.planner import JobPlan, plan_job
from oneop.jobs.program import BoundJob, bind_job
from oneop.jobs.ranks import alike_on_all_ranks
from oneop.jobs.session import current_session
from oneop.jobs.trace import InputSpec, TracedJob, trace_job

BACKENDS = ("planned", "inductor", "eager")


class CompiledJob:
    """A traced job with a way to run it. Tensors in, tensors out; what comes out is overwritten by the next run."""

    def __init__(self, traced: TracedJob, backend: str, from_host: bool) -> None:
        """Simplify, plan and bind the graph, as the backend needs it.

        `from_host`: all inputs come from the CPU's memory and all results go there.
        """
        self.traced = traced
        self.backend = backend
        self.lock = threading.RLock()
        self._session = current_session()
        simplify(traced.graph)
        self.bound: BoundJob | None = None
        self.runner: DeviceRunner | None = None
        self._function: Callable[..., Sequence[torch.Tensor]] | None = None
        if backend == "planned" and not traced.is_spread:  # collectives have buffers of their own
            self.bound = bind_job(plan_job(traced))
            if traced.device.type == "cuda":
                self.runner = DeviceRunner(self.bound, from_host=from_host)
        elif backend == "inductor":
            self._function = torch.compile(traced.graph, backend="inductor", fullgraph=True)
        else:
            self._function = traced.graph
        if traced.is_spread:
            assert self._function is not None
            self._function = alike_on_all_ranks(traced, self._function)
        self.needs_prologue = traced.optimizer is not None
        self.has_watches = bool(traced.watches)

    def run(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Run once and return the results. The caller holds `lock` until it has read them."""
        self.prologue()
        outputs = self._run_bound(inputs) if self.bound else self._run_function(inputs)
        self.epilogue(outputs)
        return list(outputs[: self.traced.num_outputs])

    def _run_bound(self, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        if self.runner is not None:
            return self.runner.run(inputs)
        assert self.bound is not None
        for buffer, value in zip(self.bound.inputs, inputs, strict=True):
            buffer.copy_(value)
        self.bound.run()
        return self.bound.outputs

    def _run_function(self, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        assert self._function is not None
        given = [value.to(self.traced.device) for value in inputs]
        rates = [self.traced.rate] if self.traced.rate is not None else []
        with torch.no_grad():
            return list(self._function(given, list(self.traced.held), rates))

    def prologue(self) -> None:
        """Set the learning rate of this step."""
        traced = self.traced
        if traced.optimizer is None or traced.rate is None:
            return
        steps = self._session.counters[f"{traced.name}/steps"]
        traced.rate.fill_(traced.optimizer.schedule.rate(int(steps)))
        steps += 1

    def epilogue(self, outputs: Sequence[torch.Tensor]) -> None:
        """Hand watched blobs to their callbacks."""
        for watch, value in zip(self.traced.watches, outputs[self.traced.num_outputs :], strict=True):
            watch.callback(value.detach().cpu().numpy().copy())

    def view_plan(self) -> PlanView:
        """Return the plan for people, with how it is run."""
        return PlanView(self.plan, self.runner.note() if self.runner is not None else "")

    @property
    def plan(self) -> JobPlan:
        """The plan. Raises `ArgumentError` for backends that have none."""
        if self.bound is None:
            raise ArgumentError(f'job "{self.traced.name}" runs on the backend "{self.backend}", which makes no plan')
        return self.bound.plan


def compile_traced(
    name: str,
    fn: Callable[..., Any],
    inputs: Sequence[InputSpec],
    *,
    is_train: bool,
    backend: str,
    from_host: bool = False,
    device: torch.device | None = None,
) -> CompiledJob:
    """Trace a function and prepare it to run."""
    if backend not in BACKENDS:
        raise ArgumentError(f'job "{name}": expected a backend of {", ".join(BACKENDS)}, found {backend!r}')
    return CompiledJob(trace_job(name, fn, inputs, is_train, current_session(), device), backend, from_host)
