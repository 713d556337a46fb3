"""Random programs of random ops, by every route: see tests/fuzz."""

from __future__ import annotations

from tests.fuzz.campaign import run_campaign

PROGRAMS = 40


def run_round(seed: int, share: float = 1.0) -> str:
    """Run 40 programs, or a share, by the cheap routes, some of them compiled and exported too; return a tally."""
    tally = run_campaign(seed * PROGRAMS, round(PROGRAMS * share), most=3 if seed % 4 == 3 else 2)
    assert not tally.failures, "\n".join(tally.failures)
    return tally.summary()
