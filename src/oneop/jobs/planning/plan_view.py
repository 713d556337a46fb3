"""A plan for people: as text, or as a page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from oneop.jobs.planning.plan_text import HEADER, step_row, summary
from oneop.jobs.planning.planner import JobPlan


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
        from oneop.jobs.planning.plan_html import render_plan  # late: pages are rare

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
