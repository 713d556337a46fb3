"""Checking ops of a library one after the other, a line of JSON for each: what `oneop port --check` runs apart."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from oneop.port.references import REFERENCES, use
from oneop.port.trial import FAMILIES, FAULTY, RIGHT, UNTRIED, WRONG, OpReport


def main(library: str, examples: str, names: Sequence[str]) -> None:
    """Load the library, and check some of its ops; `--list` before their names says which can be checked."""
    import oneop
    from oneop.registry import get_op

    ops = oneop.load(Path(library)).ops
    with_kernels = [name for name in ops if get_op(name).kernels]
    wanted = [name for name in names if name != "--list"] or sorted(with_kernels)
    todo = use(name for name in wanted if name in with_kernels)
    if names[:1] == ["--list"]:
        print(json.dumps({"todo": todo}), flush=True)
        return
    for name in todo:
        print(json.dumps(vars(check_op(name, int(examples)))), flush=True)


def check_op(name: str, examples: int) -> OpReport:
    """Return what the check of one op says. One that compared nothing with its reference was not tried."""
    from oneop.testing.checker import run_check
    from oneop.testing.subject import Hints

    faults, untried = REFERENCES[name].faults, REFERENCES[name].untried
    chosen = [family for family in FAMILIES if family not in untried]
    report = run_check(name, Hints(), only=chosen, examples=examples)
    known = {outcome.family: faults[outcome.family] for outcome in report.failures if outcome.family in faults}
    if known:  # they are there as they should be; what about the rest?
        rest = [family for family in chosen if family not in known]
        report = run_check(name, Hints(), only=rest, examples=examples)
    families = {outcome.family: outcome.status for outcome in report.outcomes}
    calls = sum(outcome.cases for outcome in report.outcomes)
    notes = [f"{outcome.family}: {outcome.note}" for outcome in report.outcomes if outcome.note]
    if report.failures:
        failure = report.failures[0].failure
        notes = [f"{report.failures[0].family}: {failure.message} ({failure.case})"] if failure else []
        verdict = UNTRIED if report.failures[0].family == "inputs" else WRONG
    elif known or untried:
        notes = [f"{family}: {fault}" for family, fault in {**known, **untried}.items()]
        verdict = FAULTY
    else:
        verdict = RIGHT if families.get("reference") == "passed" else UNTRIED
    return OpReport(op=name, verdict=verdict, families=families, calls=calls, text="; ".join(notes))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
