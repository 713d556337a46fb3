"""What a check found: one outcome for each family, and for a failure the smallest call with lines that reproduce it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from oneop.errors import OpCheckFailed
from oneop.registry import OpDef
from oneop.testing.accuracy import Statistics
from oneop.testing.case import Case
from oneop.testing.loading import loading_lines
from oneop.testing.subject import is_registered

PASSED, FAILED, MISSING, SKIPPED = "passed", "failed", "missing", "skipped"
#: Nothing failed, but there was no time for all calls.
PARTIAL = "partial"


@dataclass(frozen=True, kw_only=True)
class Failure:
    """A property that does not hold."""

    message: str
    case: str
    reproduce: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one family of checks said."""

    family: str
    status: str
    note: str = ""
    cases: int = 0
    seconds: float = 0.0
    failure: Failure | None = None
    facts: dict[str, Any] = field(default_factory=dict)  # for op cards


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """All outcomes for one op."""

    op: OpDef
    outcomes: tuple[Outcome, ...]
    seconds: float
    strict: bool = False
    accuracy: dict[str, dict[torch.dtype, Statistics]] = field(default_factory=dict)  # by device and dtype
    by_author: bool = False  # rtol or atol were given, so no bounds were derived

    @property
    def ok(self) -> bool:
        """Whether nothing failed and, if it is strict, nothing is missing or was cut short."""
        bad = (FAILED, MISSING, PARTIAL) if self.strict else (FAILED,)
        return not any(outcome.status in bad for outcome in self.outcomes)

    @property
    def failures(self) -> list[Outcome]:
        """The outcomes that failed."""
        return [outcome for outcome in self.outcomes if outcome.status == FAILED]

    @property
    def facts(self) -> dict[str, Any]:
        """What families found beside, for op cards."""
        return {key: value for outcome in self.outcomes for key, value in outcome.facts.items()}

    @property
    def missing(self) -> list[str]:
        """The families for which the op has nothing registered."""
        return [outcome.family for outcome in self.outcomes if outcome.status == MISSING]

    def raise_if_failed(self) -> None:
        """Raise `OpCheckFailed`, which is an `AssertionError`, with this report if it is not ok."""
        if not self.ok:
            raise OpCheckFailed(str(self), self)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "op": self.op.name,
            "ok": self.ok,
            "seconds": round(self.seconds, 3),
            "tolerance": "the author's" if self.by_author else "derived",
            "accuracy": [
                {"device": device, "dtype": str(dtype).removeprefix("torch."), **statistics.to_json()}
                for device, by_dtype in self.accuracy.items()
                for dtype, statistics in by_dtype.items()
            ],
            "outcomes": [
                {
                    "family": outcome.family,
                    "status": outcome.status,
                    "note": outcome.note,
                    "cases": outcome.cases,
                    "seconds": round(outcome.seconds, 3),
                    "failure": None
                    if outcome.failure is None
                    else {
                        "message": outcome.failure.message,
                        "case": outcome.failure.case,
                        "reproduce": list(outcome.failure.reproduce),
                    },
                }
                for outcome in self.outcomes
            ],
        }

    def __str__(self) -> str:
        """Return a line for each family, and some for each failure."""
        return "\n".join(self.lines())

    def _accuracy_lines(self) -> Iterator[str]:
        for device, by_dtype in self.accuracy.items():
            for dtype, statistics in by_dtype.items():
                where = "" if device == "cpu" else f" on {device}"
                name = str(dtype).removeprefix("torch.")
                yield f"  error    {name}{where}: {statistics} of {statistics.count} results"

    def lines(self) -> Iterator[str]:
        """Yield the lines of the report."""
        yield f"{self.op.name}  {self.op.source}"
        for outcome in self.outcomes:
            yield f"  {outcome.status:8} {outcome.family:16} {_note_of(outcome)}".rstrip()
        yield from self._accuracy_lines()
        for outcome in self.failures:
            yield ""
            yield from failure_lines(self.op.name, outcome)
        kinds = (PASSED, FAILED, PARTIAL, MISSING, SKIPPED)
        counts = [f"{sum(outcome.status == kind for outcome in self.outcomes)} {kind}" for kind in kinds]
        yield f"  {', '.join(text for text in counts if not text.startswith('0 '))} in {self.seconds:.1f} s"


def _note_of(outcome: Outcome) -> str:
    if outcome.status == FAILED:
        return "see below"
    cases = f"{outcome.cases} call{'s' if outcome.cases != 1 else ''}" if outcome.cases else ""
    return ", ".join(part for part in (cases, outcome.note) if part)


def failure_lines(op: str, outcome: Outcome) -> Iterator[str]:
    """Yield the lines that tell of a failure."""
    failure = outcome.failure
    assert failure is not None
    first, *rest = failure.message.splitlines()
    yield f"{op}, {outcome.family}: {first}"
    yield from (f"    {line}" for line in rest)
    if failure.case:
        yield f"  smallest call found: {failure.case}"
    if failure.reproduce:
        yield "  reproduce:"
        yield from (f"    {line}" for line in failure.reproduce)


def lines_for(case: Case, family: str, ends: tuple[str, ...]) -> tuple[str, ...]:
    """Return a program that fails as the check did: it makes the call, and repeats the family on this call alone."""
    names = case.names()
    lines = ["import torch, oneop", "from oneop.testing import tensor", *loading_lines(case.subject)]
    lines += [f"{name} = {tensor.code(device=case.device)}" for name, tensor in zip(names, case.tensors, strict=True)]
    call = call_text(case)
    lines += [end.replace("{call}", call) for end in ends or ("{call}",)]
    arguments = ", ".join(repeat_arguments(case, family))
    if "reference=..." in arguments:
        lines.append("# put the function that was passed to check in place of the dots")
    return (*lines, f"oneop.testing.repeat({arguments})")


def repeat_arguments(case: Case, family: str) -> list[str]:
    """Return the arguments of `oneop.testing.repeat` for a call."""
    recipes = ", ".join(recipe.code("oneop.testing.tensor_case") for recipe in case.tensors)
    return [f'"{case.subject.name}"', f'"{family}"', f"[{recipes}]", *_repeat_options(case)]


def _repeat_options(case: Case) -> list[str]:
    options = []
    usual = tuple(max(arg.count, 1) for arg in case.subject.op.inputs)
    if case.counts != usual:
        options.append(f"counts={case.counts}")
    if case.attrs:
        options.append(f"attrs={{{', '.join(f'{name!r}: {value!r}' for name, value in case.attrs)}}}")
    if case.device != "cpu":
        options.append(f"device={case.device!r}")
    hints = case.subject.hints
    is_loaded = hints.reference is not None and hasattr(hints.reference, "__code__")
    if hints.reference is not None and not (is_loaded and is_registered(case.subject.name, hints.reference)):
        options.append(f"reference={_name_of_function(hints.reference)}")
    options += [f"{key}={value!r}" for key, value in (("rtol", hints.rtol), ("atol", hints.atol)) if value is not None]
    return options


def _name_of_function(function: Any) -> str:
    """Return an expression for a function of torch's or a module's; of another the reader has to give it."""
    name, module = getattr(function, "__name__", ""), getattr(function, "__module__", "") or ""
    for place in (module, "torch", "torch.nn.functional"):
        if place and name.isidentifier() and getattr(sys.modules.get(place), name, None) is function:
            return f"{place}.{name}" if place.startswith("torch") else f'__import__("{place}", fromlist=["x"]).{name}'
    return "..."


def call_text(case: Case, names: list[str] | None = None) -> str:
    """Return the call: `oneop.ops.leaky_relu(x, alpha=0.5)`."""
    return f"oneop.ops.{case.subject.name}({arguments_text(case, names)})"


def arguments_text(case: Case, names: list[str] | None = None) -> str:
    """Return its arguments: `x, alpha=0.5`."""
    grouped = case.group(names or case.names())
    arguments = [f"[{', '.join(entry)}]" if isinstance(entry, list) else str(entry) for entry in grouped]
    arguments += [f"{name}={value!r}" for name, value in case.attrs]
    return ", ".join(arguments)
