"""A plan for people: as text, or as a page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import torch

from oneop.jobs.planner import FOREVER, Buffer, JobPlan, Step


class PlanView:
    """What `job.plan()` returns. Print it, or write a page with `to_html`."""

    def __init__(self, plan: JobPlan, note: str = "") -> None:
        """Keep the plan; `note` says how it is run."""
        self.plan = plan
        self.note = note

    def __str__(self) -> str:
        """Return a table of steps: op, results, kernel, place in the arena, lifetime."""
        return "\n".join(self._lines())

    __repr__ = __str__

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write a page that needs nothing else: the graph, the memory over time, the kernel of each step."""
        from oneop.jobs.plan_html import render_plan

        target = Path(path)
        target.write_text(render_plan(self.plan, self.note), encoding="utf-8")
        return target

    def _lines(self) -> Iterator[str]:
        plan = self.plan
        yield summary(plan)
        if self.note:
            yield self.note
        rows = [step_row(number, step) for number, step in enumerate(plan.steps)]
        widths = [max(len(row[i]) for row in [HEADER, *rows]) for i in range(len(HEADER))]
        for row in [HEADER, *rows]:
            yield "  " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()


HEADER = ("step", "kind", "op", "results", "place", "alive", "in place", "kernel")


def summary(plan: JobPlan) -> str:
    """Return one line about the size of a plan."""
    memory = plan.memory
    held = sum(tensor.numel() * tensor.element_size() for tensor in plan.traced.held)
    return (
        f"job {plan.traced.name} on {plan.traced.device}: {len(plan.steps)} steps; arena {size_text(memory.size)} "
        f"(each buffer on its own: {size_text(memory.naive)}, at least: {size_text(memory.lower_bound)}); "
        f"variables and state {size_text(held)}"
    )


def step_row(number: int, step: Step) -> tuple[str, ...]:
    """Return the cells of a step."""
    results = ", ".join(tensor_text(like) for _, like in step.outputs)
    name = step.name
    if step.kind == "cpu":
        count = len(step.node.all_input_nodes)
        name += f" (copied to the cpu: {count}, back: {len(step.outputs)})"
    place = ", ".join(place_text(buffer) for buffer, _ in step.outputs)
    alive = ", ".join(f"{b.first}-{'end' if b.last == FOREVER else b.last}" for b, _ in step.outputs)
    notes = "yes" if step.in_place else ""
    return (str(number), step.kind, name, results, place, alive, notes, step.kernel)


def place_text(buffer: Buffer) -> str:
    """Return where a buffer is."""
    return f"+{buffer.offset}" if buffer.kind == "arena" else buffer.kind


def tensor_text(value: torch.Tensor) -> str:
    """Return dtype and shape."""
    return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"


def size_text(nbytes: int) -> str:
    """Return a size in the unit that fits."""
    size = float(nbytes)
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.2f} GiB"
