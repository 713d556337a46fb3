"""Steps, places and sizes of a plan as text."""

from __future__ import annotations

import torch

from oneop.jobs.planning.planner import FOREVER, Buffer, JobPlan, Step

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
