"""A job: a function that is traced and planned at its first call, then run from C++."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch._library.utils import is_impure

from oneop.errors import ArgumentError, OpRuntimeError
from oneop.jobs.device import DeviceRunner
from oneop.jobs.locks import no_modes, tracing_alone
from oneop.jobs.meeting import refusing
from oneop.jobs.planning.passes import simplify
from oneop.jobs.planning.plan_view import PlanView
from oneop.jobs.planning.planner import JobPlan, plan_job
from oneop.jobs.planning.program import BoundJob, bind_job
from oneop.jobs.planning.schema import is_op, is_ours
from oneop.jobs.planning.trace import TracedJob, TraceRequest, trace_job
from oneop.jobs.planning.write_back import check_changed_inputs
from oneop.jobs.ranks import SpreadFunction
from oneop.jobs.training.schedule import is_constant
from oneop.jobs.training.session import Draft, Session, current_session
from oneop.runtime.core import core

BACKENDS = ("planned", "inductor", "eager")
WARM_UP_RUNS = 3  # before a profile
_ATTEMPTS = 5  # to compile a job whose ops are registered again all the time


class CompiledJob:
    """A traced job with a way to run it.

    `call` is the only way from tensors to results; the quick way in C++ for plain arrays goes through the same gate. A
    run sets up everything it needs and leaves nothing behind in the plan but the contents of buffers, which the next
    run overwrites before it reads them.
    """

    def __init__(self, traced: TracedJob, backend: str, ops: Any, variables: Any, from_host: bool) -> None:
        """Simplify, plan and bind the graph, as the backend needs it.

        `ops` is what all ops were before the trace, `variables` the lock of the session. `from_host`: all inputs come
        from the CPU's memory and all results go there.
        """
        self.traced = traced
        self.backend = backend
        self._ops = ops
        simplify(traced.graph)
        self.gate = core().JobGate(traced.name, variables if traced.held else None, traced.changes_held)
        self.bound: BoundJob | None = None
        self.runner: DeviceRunner | None = None
        self._function: Callable[..., Sequence[torch.Tensor]] | None = None
        # Collectives have buffers of their own, and so have results whose size depends on data.
        if backend == "planned" and not traced.is_spread and not traced.dynamic_ops:
            self.bound = bind_job(plan_job(traced), self.gate)
            if traced.device.type == "cuda":
                self.runner = DeviceRunner(self.bound, from_host=from_host)
        elif backend == "inductor":
            _refuse_dropped_calls(traced)
            self._function = torch.compile(traced.graph, backend="inductor", fullgraph=True)
        else:
            self._function = traced.graph
        if traced.is_spread:
            assert self._function is not None
            self._function = SpreadFunction(traced, self._function)

    @property
    def epoch(self) -> int:
        """The state of the registry at which the ops were last seen to be those that were traced."""
        return self._ops.epoch  # type: ignore[no-any-return]

    def is_current(self) -> bool:
        """Tell whether all ops are still those that were traced; if not, the job must be traced again."""
        return self._ops.epoch == core().registry_epoch() or self._ops.are_current()  # type: ignore[no-any-return]

    def call(self, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """Run once; return results that belong to the caller. Inputs that the job changes are changed, as eagerly.

        A step that fails does not count. Watched blobs go to their callbacks when the run is over, so a callback may
        call jobs, this one too.
        """
        traced = self.traced
        if traced.changed_inputs:
            with self.refusing():
                check_changed_inputs(traced, inputs)
        with self.gate:
            outputs = [value.clone() for value in self._step(inputs)]
        for watch, value in zip(traced.watches, outputs[traced.num_outputs :], strict=True):
            watch.callback(value.cpu().numpy())
        return outputs[: traced.num_outputs]

    def refusing(self) -> AbstractContextManager[None]:
        """Return a block around what may refuse a call: where it does, ranks that wait for this one are told."""
        return refusing(self.traced.device) if self.traced.is_spread else nullcontext()

    def time_steps(self, count: int) -> list[list[float]]:
        """Run the steps on what the buffers hold; return the seconds of each step in each of `count` runs.

        Runs before them warm up and are not counted. Variables stay as they are.
        """
        if count < 1:
            raise ArgumentError(f'job "{self.traced.name}": expected at least one run to profile, found {count}')
        assert self.bound is not None
        with self.gate, no_modes(), torch.no_grad():
            before = [value.clone() for value in self.traced.held] if self.traced.changes_held else []
            try:
                self._set_rate()
                runs = [self.bound.program.profile(1) for _ in range(WARM_UP_RUNS + count)]
                return runs[WARM_UP_RUNS:]
            finally:
                for value, old in zip(self.traced.held, before, strict=bool(before)):
                    value.copy_(old)

    def around_steps(self) -> tuple[torch.Tensor | None, Callable[[], None] | None, Callable[..., None] | None]:
        """Return what the quick way does around the steps, as `_step` does here.

        These are the count, how to set the rate, and how to explain a failure. A rate that never changes is set now.
        """
        traced = self.traced
        if traced.optimizer is None or traced.count is None:
            return None, None, self._explain if traced.changes_held else None
        if not is_constant(traced.optimizer.schedule):
            return traced.count.value, self._set_rate, self._explain
        self._set_rate()
        return traced.count.value, None, self._explain

    # --- one step, in the gate --------------------------------------------------------------------------------------

    def _step(self, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        traced = self.traced
        with self.refusing():
            self._set_rate()
        versions = [] if self.bound else [value._version for value in traced.held]
        try:
            outputs, changed = self._run_bound(inputs) if self.bound else self._run_function(inputs)
        except BaseException as error:
            if traced.changes_held:
                self._explain(error, self.bound.program.failed_at if self.bound else 0, versions)
            raise
        if traced.count is not None:
            traced.count.value += 1
        for number in traced.changed_inputs:
            inputs[number].copy_(changed[number])
        return outputs

    def _set_rate(self) -> None:
        """Set the learning rate of this step."""
        traced = self.traced
        if traced.optimizer is not None and traced.rate is not None and traced.count is not None:
            traced.rate.fill_(traced.optimizer.schedule.rate(int(traced.count.value)))

    def _run_bound(self, inputs: Sequence[torch.Tensor]) -> tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]:
        assert self.bound is not None
        if self.runner is not None:
            return self.runner.run(inputs), self.bound.inputs
        for buffer, value in zip(self.bound.inputs, inputs, strict=True):
            buffer.copy_(value)
        self.bound.run()
        return self.bound.outputs, self.bound.inputs

    def _run_function(self, inputs: Sequence[torch.Tensor]) -> tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]:
        assert self._function is not None
        tensors = [value.to(self.traced.device) for value in inputs]
        for number in self.traced.changed_inputs:  # a run that fails leaves the caller's tensors alone
            tensors[number] = inputs[number].to(self.traced.device, copy=True)
        rates = [self.traced.rate] if self.traced.rate is not None else []
        with no_modes(), torch.no_grad():
            return list(self._function(tensors, list(self.traced.held), rates)), tensors

    def _explain(self, error: BaseException, failed: int, versions: Sequence[int] = ()) -> None:
        """Add to the error of a step what the step has changed; `failed` is the number of the program's step."""
        traced = self.traced
        half: list[str] = []
        if self.bound is not None:
            spans = list(zip([0, *self.bound.ends], self.bound.ends, self.bound.plan.steps, strict=False))
            changed = traced.held_changed_by({step.node for _, end, step in spans if end <= failed})
            half = traced.held_changed_by({step.node for start, end, step in spans if start <= failed < end})
        else:
            pairs = zip(traced.held_names, traced.held, versions, strict=True)
            changed = [name for name, value, version in pairs if value._version != version]
        parts = [f"it had changed {', '.join(changed)}"] if changed else []
        parts += [f"it failed while changing {', '.join(half)}"] if half else []
        what = ", and ".join(parts) or "it changed no variable"
        error.add_note(f'job "{traced.name}": the step failed and does not count; {what}')

    # --- the plan ---------------------------------------------------------------------------------------------------

    def view_plan(self) -> PlanView:
        """Return the plan for people, with how it is run."""
        return PlanView(self.plan, self.runner.note() if self.runner is not None else "")

    @property
    def plan(self) -> JobPlan:
        """The plan. Raises `ArgumentError` for backends that have none."""
        if self.bound is None:
            raise ArgumentError(f'job "{self.traced.name}" runs on the backend "{self.backend}", which makes no plan')
        return self.bound.plan


def _refuse_dropped_calls(traced: TracedJob) -> None:
    """Raise `ArgumentError` for ops without results that torch.compile would leave out."""
    for node in traced.graph.graph.nodes:
        if is_op(node) and not node.target._schema.returns and not is_impure(node.target):
            raise ArgumentError(
                f'job "{traced.name}": the backend "inductor" drops {node.target}, which returns nothing and has no '
                'declared effect\n  use the backend "planned", which keeps it'
            )


class Compilation:
    """How a job is compiled, and the result: made at first use, and again when an op of it was registered again."""

    def __init__(
        self,
        request: TraceRequest,
        *,
        backend: str,
        from_host: bool = False,
        check: Callable[[TracedJob], None] | None = None,
    ) -> None:
        """Keep what is needed. `check` raises where the traced job is not what its maker can use."""
        self._request = request
        self._backend = backend
        self.from_host = from_host
        self._check = check
        self._compiled: CompiledJob | None = None
        self._session: Session | None = None  # that of the first trace: a job keeps its variables

    @property
    def name(self) -> str:
        """The name of the job."""
        return self._request.name

    def get(self) -> CompiledJob:
        """Return the compiled job. Raises what tracing or planning raises; nothing is kept then."""
        compiled = self._compiled
        if compiled is not None and compiled.is_current():
            return compiled
        with tracing_alone(f'tracing job "{self._request.name}"'), no_modes():
            compiled = self._compiled
            if compiled is None or not compiled.is_current():
                compiled = self._compiled = self._compile_current()
            return compiled

    def _compile_current(self) -> CompiledJob:
        """Compile, and again where another thread registered an op meanwhile: no run mixes two versions of an op."""
        for left in reversed(range(_ATTEMPTS)):
            epoch = core().registry_epoch()
            try:
                compiled = self._compile()
            except Exception as error:
                if core().registry_epoch() == epoch:
                    raise
                if left:
                    continue  # an op may have changed between trace and plan
                raise OpRuntimeError(
                    f'job "{self.name}" cannot be compiled: ops were registered again during each of {_ATTEMPTS} '
                    "attempts\n  register ops before jobs are called"
                ) from error
            if not left or compiled.is_current():
                break
        return compiled

    def _compile(self) -> CompiledJob:
        name = self._request.name
        if self._backend not in BACKENDS:
            raise ArgumentError(f'job "{name}": expected a backend of {", ".join(BACKENDS)}, found {self._backend!r}')
        ops = core().OpsSeen()  # before the trace: what is registered while it goes on makes it old
        session = self._session or current_session()
        draft = Draft(session)
        traced = trace_job(self._request, draft)
        ops.keep({node.target._opname for node in traced.graph.graph.nodes if is_ours(node)})
        compiled = CompiledJob(traced, self._backend, ops, session.lock, self.from_host)
        if self._check is not None:
            self._check(traced)
        draft.commit()
        self._session = session
        return compiled
