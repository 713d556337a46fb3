"""Running a bound job on a GPU: arrays go through pinned memory, and the run is one CUDA graph where it can be."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from oneop.jobs.planning.planner import JobPlan
from oneop.jobs.planning.program import BoundJob
from oneop.runtime.core import core


class DeviceRunner:
    """Runs a job that has its buffers on a GPU. The first run is an ordinary one, the second is recorded."""

    def __init__(self, bound: BoundJob, *, from_host: bool) -> None:
        """Keep the job; `from_host`: inputs come from the CPU's memory and results go there."""
        self.bound = bound
        self.from_host = from_host
        self.reason = why_not_recorded(bound.plan)
        self._graph: torch.cuda.CUDAGraph | None = None
        self._runs = 0
        device = bound.plan.traced.device
        self._device = torch.device("cuda", torch.cuda.current_device() if device.index is None else device.index)
        self._inputs = _pinned_like(bound.inputs) if from_host else list(bound.inputs)
        self._outputs = _pinned_like(bound.outputs) if from_host else list(bound.outputs)

    def run(self, inputs: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """Run once; the results are overwritten by the next run."""
        if torch.cuda.current_device() != self._device.index:
            with torch.cuda.device(self._device):
                return self.run(inputs)
        for buffer, value in zip(self._inputs, inputs, strict=True):
            buffer.copy_(value)
        waits = core().kernel_sync()  # for each kernel, which a graph cannot do
        if self._runs >= 1 and self._graph is None and not self.reason and not waits:
            self._record()
        self._runs += 1
        if self._graph is not None and not waits:
            self._graph.replay()
        else:
            self._enqueue()
        if self.from_host:
            torch.cuda.current_stream().synchronize()
        return self._outputs

    def note(self) -> str:
        """Say how the job runs, for the plan."""
        if self.reason:
            return f"no CUDA graph: {self.reason}"
        return "one CUDA graph" if self._graph is not None else "one CUDA graph, recorded at the second run"

    def _enqueue(self) -> None:
        if self.from_host:
            for buffer, staged in zip(self.bound.inputs, self._inputs, strict=True):
                buffer.copy_(staged, non_blocking=True)
        self.bound.run()
        if self.from_host:
            for staged, result in zip(self._outputs, self.bound.outputs, strict=True):
                staged.copy_(result, non_blocking=True)

    def _record(self) -> None:
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph), torch.no_grad():
                self._enqueue()
        except Exception as error:
            torch.cuda.synchronize()
            self.reason = f"recording failed: {str(error).splitlines()[0]}"
            return
        self._graph = graph


def why_not_recorded(plan: JobPlan) -> str:
    """Return why a plan cannot be a CUDA graph, or nothing if it can."""
    for number, step in enumerate(plan.steps):
        if step.kind == "cpu":
            return f"step {number}, {step.name}, runs on the cpu"
        if step.kind == "kernel" and not step.cuda_graph:
            return (
                f"step {number}, {step.name}: its kernel at {step.kernel} does not say that it can be recorded "
                "(C++: derive it from user_op::CudaGraphSupport)"
            )
    return ""


def _pinned_like(tensors: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    return [torch.empty(t.shape, dtype=t.dtype, pin_memory=True) for t in tensors]
