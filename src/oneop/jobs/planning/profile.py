"""What each step of a job costs."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch.fx import Node

from oneop.jobs.job import CompiledJob


@dataclass(frozen=True, kw_only=True)
class StepProfile:
    """One step: its least and its median time, the bytes it reads and writes, and how that compares with copying."""

    name: str
    seconds: float
    median: float
    nbytes: int
    of_bandwidth: float


@dataclass(frozen=True, kw_only=True)
class JobProfile:
    """All steps of a job, and the memory bandwidth of the machine in bytes per second."""

    job: str
    steps: tuple[StepProfile, ...]
    bandwidth: float

    @property
    def seconds(self) -> float:
        """The least times of all steps together."""
        return sum(step.seconds for step in self.steps)

    def __str__(self) -> str:
        """Return a table, the costliest steps first."""
        width = max((len(step.name) for step in self.steps), default=4)
        total = f"{self.seconds * 1e6:.1f} us in {len(self.steps)} steps"
        lines = [f"job {self.job}: {total}, copying runs at {self.bandwidth / 1e9:.1f} GB/s"]
        lines.append(f"  {'step':{width}}  {'least us':>9}  {'median us':>9}  {'share':>6}  {'KiB':>10}  of copy speed")
        for step in sorted(self.steps, key=lambda step: -step.seconds):
            share = step.seconds / self.seconds if self.seconds else 0.0
            cost = f"{step.seconds * 1e6:9.2f}  {step.median * 1e6:9.2f}  {share:6.1%}  {step.nbytes / 1024:10.1f}"
            lines.append(f"  {step.name:{width}}  {cost}  {step.of_bandwidth:.2f}")
        return "\n".join(lines)


def profile_job(compiled: CompiledJob, count: int) -> JobProfile:
    """Return the profile of a planned job."""
    plan = compiled.plan
    assert compiled.bound is not None
    runs = compiled.time_steps(count)
    bandwidth = measure_bandwidth()
    steps = []
    start = 0
    for step, end in zip(plan.steps, compiled.bound.ends, strict=True):
        nbytes = sum(_nbytes(node) for node in step.node.all_input_nodes) + sum(
            buffer.nbytes for buffer, _ in step.outputs
        )
        steps.append(_profile_of(step.name, [sum(run[start:end]) for run in runs], nbytes, bandwidth))
        start = end
    for column in list(zip(*runs, strict=True))[start:]:
        steps.append(_profile_of("copy of a result", column, 0, bandwidth))
    return JobProfile(job=compiled.traced.name, steps=tuple(steps), bandwidth=bandwidth)


def _profile_of(name: str, seconds: Sequence[float], nbytes: int, bandwidth: float) -> StepProfile:
    """Return the profile of a step from its time in each run."""
    least = min(seconds)
    rate = nbytes / least / bandwidth if least else 0.0
    return StepProfile(name=name, seconds=least, median=statistics.median(seconds), nbytes=nbytes, of_bandwidth=rate)


def measure_bandwidth(nbytes: int = 64 << 20) -> float:
    """Return the bytes per second, read and written, of a large copy on this machine."""
    source, target = torch.zeros(nbytes, dtype=torch.uint8), torch.empty(nbytes, dtype=torch.uint8)
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        target.copy_(source)
        best = min(best, time.perf_counter() - start)
    return 2 * nbytes / best


def _nbytes(node: Node) -> int:
    value = node.meta.get("val")
    return value.numel() * value.dtype.itemsize if isinstance(value, torch.Tensor) else 0
