"""Calls that end the process, or do not return."""

from __future__ import annotations

import functools
import subprocess
import sys
from dataclasses import replace

from oneop.testing.case import Case, is_taken
from oneop.testing.domain.attribute_values import extremes_of
from oneop.testing.domain.probe import usual_attrs
from oneop.testing.families.context import Context, failed, skipped, usual_cases
from oneop.testing.memory import isolation
from oneop.testing.report import PASSED, Outcome, lines_for


def crashes(context: Context) -> Outcome:
    """No call ends the process or hangs, for extreme values of attributes too: the op refuses them, or works."""
    if context.domain.device != "cpu":
        return skipped("crashes", "tried on the CPU only")
    usual, extreme = usual_cases(context, (1, 5)), _extreme_cases(context)
    fills = () if context.subject.hints.values else ("special", "large")
    unusual = [case.like(fill=fill) for case in usual for fill in fills]
    cases = [context.repeat] if context.repeat is not None else [*usual, *unusual, *extreme]
    death = isolation.first_death([functools.partial(_run, case) for case in cases])
    if death is None:
        return Outcome(family="crashes", status=PASSED, cases=len(cases))
    case = cases[death.place]
    advice = "\nrefuse the value: a check or the inference of the op is the place for it" if case in extreme else ""
    if death.how is not None:
        return failed("crashes", f"the call ends the process: {death.how}{advice}", case)
    if context.repeat is None and _returns(case):
        return Outcome(family="crashes", status=PASSED, cases=len(cases), note="slow in a forked process")
    return failed("crashes", f"the call does not return within {isolation.SECONDS:g} s{advice}", case)


def _run(case: Case) -> None:
    case.run(case.make())


def _extreme_cases(context: Context) -> list[Case]:
    """Return calls with an extreme value of one attribute, where inference takes it."""
    base = dict(usual_attrs(context.domain))
    hinted = context.subject.hints.attrs
    cases = []
    for case in usual_cases(context, (5,))[:2]:
        for attr in context.subject.op.attrs:
            for value in extremes_of(attr) if attr.name not in hinted else ():
                extreme = replace(case, attrs=tuple({**base, attr.name: value}.items()))
                if is_taken(extreme):
                    cases.append(extreme)
    return cases


def _returns(case: Case) -> bool:
    """Tell whether the call returns in a new process, which has all its threads: OpenMP may not survive a fork."""
    program = "\n".join(lines_for(case, "crashes", ())[:-1])
    try:
        subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=True)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError):
        return False
    return True
