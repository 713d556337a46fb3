"""What stands on the card of an op."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oneop.benchmark.result import BenchResult
from oneop.card.backward import BackwardNode, trace_backward
from oneop.registry import OpDef
from oneop.testing.checker import run_check
from oneop.testing.domain.probe import find_domain, usual_attrs
from oneop.testing.report import CheckReport
from oneop.testing.subject import Hints, subject_of

if TYPE_CHECKING:
    from oneop._core import Op


@dataclass(frozen=True, kw_only=True)
class KernelFacts:
    """One kernel, and the line that registered it."""

    device: str
    dtype: str
    language: str
    priority: int
    conditions: str
    place: str
    line: str


@dataclass(frozen=True, kw_only=True)
class CardFacts:
    """Everything on the card. What could not be found says why in `notes`."""

    op: OpDef
    doc: str
    kernels: tuple[KernelFacts, ...]
    backward: tuple[BackwardNode, ...]
    signatures: tuple[dict[str, str], ...]
    report: CheckReport | None
    bench: BenchResult | None
    notes: dict[str, str] = field(default_factory=dict)


def collect(
    op: str | Op,
    *,
    check: bool = True,
    bench: bool = True,
    progress: Callable[[str], None] | None = None,
) -> CardFacts:
    """Return the facts of an op; checking and measuring can be left out."""
    say = progress or (lambda _: None)
    subject = subject_of(op, Hints())
    notes: dict[str, str] = {}
    backward: list[BackwardNode] = []
    report = figures = None
    try:
        domain = find_domain(subject)
        backward = _backward(domain)
    except Exception as error:
        notes["backward"] = str(error).splitlines()[0]
    if check:
        say(f"{subject.name}: checking")
        report = run_check(subject.name, Hints())
    if bench and (report is None or report.ok):
        say(f"{subject.name}: measuring")
        try:
            from oneop.benchmark.sweep import bench as measure_op

            figures = measure_op(subject.name, seconds=0.1)
        except Exception as error:
            notes["bench"] = str(error).splitlines()[0]
    elif bench:
        notes["bench"] = "not measured: the op fails its check"
    return CardFacts(
        op=subject.op,
        doc=_doc(subject.call),
        kernels=tuple(_kernel(kernel) for kernel in subject.op.kernels),
        backward=tuple(backward),
        signatures=tuple(_signatures(subject.name, report)),
        report=report,
        bench=figures,
        notes=notes,
    )


def _doc(op: Any) -> str:
    first = str(op.__doc__ or "").partition("\n\n")[0]
    return "" if "->" in first else first


def _kernel(kernel: Any) -> KernelFacts:
    line = (
        linecache.getline(kernel.source.file, kernel.source.line).strip() if Path(kernel.source.file).is_file() else ""
    )
    return KernelFacts(
        device=kernel.device,
        dtype=kernel.dtype,
        language=kernel.language,
        priority=kernel.priority,
        conditions=" and ".join(kernel.others),
        place=str(kernel.source),
        line=line,
    )


def _backward(domain: Any) -> list[BackwardNode]:
    from oneop.testing.case import make_case

    op = domain.subject.op
    if op.no_grad or (op.grad is None and not any(kernel.language == "torch" for kernel in op.kernels)):
        return []
    attrs = usual_attrs(domain)
    choice = domain.choices[0]
    template = sorted(choice.templates, key=lambda template: abs(len(template.symbols) - 2))[0]
    return trace_backward(make_case(domain, choice, template.shapes(dict.fromkeys(template.symbols, 3)), attrs))


def _signatures(name: str, report: CheckReport | None) -> list[dict[str, str]]:
    """Return the SBP signatures that the check looked at, each with its proof."""
    return list(report.facts.get("signatures", ())) if report is not None else []
