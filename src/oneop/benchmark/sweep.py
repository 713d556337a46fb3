"""An op over sizes: its call, each of its kernels, backward, beside its reference and a copy of as many bytes."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from oneop.benchmark.contenders import Contest, backward_contest, forward_contest
from oneop.benchmark.inspection import Settings
from oneop.benchmark.limits import flops_per_second
from oneop.benchmark.result import FORWARD, BenchResult, Row
from oneop.benchmark.timing import measure
from oneop.errors import ArgumentError
from oneop.testing.case import Case, is_taken, make_case
from oneop.testing.domain.probe import Choice, Domain, find_domain, usual_attrs
from oneop.testing.domain.templates import Template
from oneop.testing.subject import Hints, subject_of

if TYPE_CHECKING:
    from oneop._core import Op

SIZES = (100, 10_000, 1_000_000)


def bench(
    op: str | Op,
    *,
    reference: Callable[..., Any] | None = None,
    sizes: Sequence[int] = SIZES,
    dtype: torch.dtype | None = None,
    device: str = "cpu",
    seconds: float = 0.2,
    progress: Callable[[str], None] | None = None,
) -> BenchResult:
    """Measure an op and return the figures.

    Args:
        op: the op, or its name.
        reference: what it is measured against; else the function given to `oneop.testing.reference`.
        sizes: numbers of elements of the largest input, about.
        dtype: of the inputs, of some of them where it does not take it for all; by default float32, or the first one
            that the op takes.
        device: "cpu" or "cuda".
        seconds: about how long each size and direction takes.
        progress: called with a line for each size.

    Raises:
        ArgumentError: no call could be found that the op takes, or none with this dtype.
        OneopError: what a call of the op raises while it is measured, as a result of a wrong shape.
    """
    settings = Settings()
    subject = subject_of(op, Hints(reference=reference))
    domain = find_domain(subject, device, dtype)
    wanted = dtype or torch.float32
    choices = sorted(domain.choices, key=lambda choice: -choice.dtypes.count(wanted))
    rows: list[Row] = []
    call_seconds = _call_seconds(domain, choices[0], min(sizes), seconds / 4, settings)
    case: Case | None = None
    _check_memory(subject.name, max(sizes), wanted, device)
    for size in sizes:
        case = _case(domain, choices[0], size)
        if case is None:
            continue
        if progress is not None:
            progress(f"{subject.name}: {case}")
        for contest in (forward_contest(case, settings), backward_contest(case, settings)):
            rows += [] if contest is None else _rows(case, contest, seconds)
    if case is None:
        raise ArgumentError(f'op "{subject.name}": no call of {", ".join(map(str, sizes))} elements could be made')
    flops = flops_per_second(device) if any(row.flops for row in rows) else 0.0
    return BenchResult(
        op=subject.name,
        device=device,
        dtype=_dtype_text(case, wanted),
        call=str(case),
        rows=tuple(rows),
        call_seconds=call_seconds,
        machine={
            "processor": platform.processor() or platform.machine(),
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
            "flops_per_second": flops,
        },
    )


def _check_memory(op: str, size: int, dtype: torch.dtype, device: str) -> None:
    """Refuse sizes that cannot fit: Linux grants memory that it does not have, and ends the process later."""
    if device == "cuda":
        total = torch.cuda.mem_get_info()[1]
    else:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    needed = 4 * size * dtype.itemsize  # input, output, the reference's output, and what they are compared in
    if needed > total:
        raise ArgumentError(
            f'op "{op}": there is no memory for {size:,} elements: '
            f"expected at most {total >> 30} GiB in all, found {needed >> 30}"
        )


def _dtype_text(case: Case, wanted: torch.dtype) -> str:
    dtypes = [recipe.dtype for recipe in case.tensors]
    shown = wanted if wanted in dtypes else dtypes[0] if dtypes else ""
    return str(shown).removeprefix("torch.")


def _case(domain: Domain, choice: Choice, size: int) -> Case | None:
    """Return a call whose largest input has about so many elements."""
    attrs = usual_attrs(domain)
    templates = sorted(
        (template for template in choice.templates if template.symbols), key=lambda template: len(template.symbols)
    )
    for template in templates or choice.templates:
        # Full mantissas: numbers that a narrow dtype holds too would hide that a kernel computes in one.
        case = make_case(domain, choice, template.shapes(_sizes(template, size)), attrs, fill="full")
        if is_taken(case):
            return case
    return None


def _call_seconds(domain: Domain, choice: Choice, least: int, seconds: float, settings: Settings) -> dict[str, float]:
    """Return by direction what a call of next to no elements takes; nothing if all calls have about `least` of them."""
    case = _case(domain, choice, 1)
    if case is None or _elements(case) * 10 > least:
        return {}
    contests = (forward_contest(case, settings), backward_contest(case, settings))
    return {
        row.direction: row.minimum
        for contest in contests
        if contest is not None
        for row in _rows(case, replace(contest, calls={"op": contest.calls["op"]}), seconds)
    }


def _elements(case: Case) -> int:
    return max((torch.Size(recipe.shape).numel() for recipe in case.tensors), default=0)


def _sizes(template: Template, size: int) -> dict[str, int]:
    rank = max((sum(not axis.isdigit() for axis in axes) for axes in template.axes), default=1)
    side = max(1, round(size ** (1 / max(rank, 1))))
    return dict.fromkeys(template.symbols, side)


def _rows(case: Case, contest: Contest, seconds: float) -> list[Row]:
    """Measure the contenders of one size and direction."""
    wait = torch.cuda.synchronize if case.device != "cpu" else None
    with torch.no_grad() if contest.direction == FORWARD else nullcontext():
        timings = measure(contest.calls, seconds=seconds, synchronize=wait)
    return [
        Row(
            direction=contest.direction,
            what=name,
            elements=_elements(case),
            nbytes=contest.nbytes,
            seconds=timing.median,
            minimum=timing.minimum,
            spread=timing.spread,
            matches=contest.matches.get(name),
            flops=0 if name == "copy" else contest.flops,
            problem="" if contest.matches.get(name) is False else contest.problem_of(name),  # it is known already
        )
        for name, timing in timings.items()
    ]
