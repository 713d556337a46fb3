"""Many programs by many routes, and the table of what was seen."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from oneop.registry import isolated

from .definitions import load_pool
from .programs import make_program
from .routes import ROUTES, Route, run_route


@dataclass
class Tally:
    """Counts by (feature, route), and what failed."""

    programs: int = 0
    runs: Counter[tuple[str, str]] = field(default_factory=Counter)
    refusals: Counter[tuple[str, str]] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)

    def matrix(self) -> str:
        """Return the table: rows are features, columns routes, cells the number of right runs (r: all refused)."""
        routes = [name for name in ROUTES if any(route == name for _, route in self.runs + self.refusals)]
        features = sorted({feature for feature, _ in self.runs + self.refusals})
        width = max(map(len, features), default=0)
        lines = [f"{'':{width}}  " + "  ".join(routes)]
        for feature in features:
            cells = []
            for route in routes:
                right, refused = self.runs[feature, route], self.refusals[feature, route]
                text = str(right) if right else "r" if refused else "-"
                cells.append(f"{text:>{len(route)}}")
            lines.append(f"{feature:{width}}  " + "  ".join(cells))
        return "\n".join(lines)

    def summary(self) -> str:
        """Return one line."""
        return f"{self.programs} programs, {sum(self.runs.values())} features right, {len(self.failures)} wrong"


def routes_for(seed: int, *, most: int, rarely: int = 1) -> list[Route]:
    """Return the routes for a program: all cheap ones; dearer ones at every so many programs."""
    chosen = [route for route in ROUTES.values() if route.cost == 1]
    for cost, every in ((2, 6 * rarely), (3, 60 * rarely)):
        dear = [route for route in ROUTES.values() if route.cost == cost and cost <= most]
        if dear and seed % every == 0:
            chosen.append(dear[(seed // every) % len(dear)])
    return chosen


def run_program(
    seed: int,
    routes: Iterable[Route],
    tally: Tally,
    *,
    needs: frozenset[str] = frozenset(),
    only_new: bool = False,
) -> None:
    """Make one program and run it by the routes if it has these features; what goes wrong is noted with its seed.

    With `only_new`, routes are left out that have run all of its features.
    """
    load_pool()
    with isolated():
        program = make_program(seed)
        if not needs <= program.features:
            return
        tally.programs += 1
        for route in routes:
            if only_new and all(tally.runs[feature, route.name] for feature in program.features):
                continue
            try:
                answer = run_route(route, program)
            except Exception as error:
                text = str(error).strip().splitlines()
                where = traceback.extract_tb(error.__traceback__)[-1]
                tally.failures.append(
                    f"seed {seed}, {route.name}: {type(error).__name__}: {' / '.join(text[:3])[:400]} "
                    f"[{where.filename.rpartition('/')[2]}:{where.lineno}]\n"
                    f"    features: {', '.join(sorted(program.features))}"
                )
                continue
            for feature in program.features:
                if answer == "right":
                    tally.runs[feature, route.name] += 1
                elif answer == "refused":
                    tally.refusals[feature, route.name] += 1


def run_campaign(first: int, count: int, *, most: int = 2, rarely: int = 1) -> Tally:
    """Run `count` programs from seed `first` on, with routes of at most this cost."""
    tally = Tally()
    for seed in range(first, first + count):
        run_program(seed, routes_for(seed, most=most, rarely=rarely), tally)
    return tally
