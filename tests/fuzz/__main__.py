"""python -m tests.fuzz: run random programs."""

from __future__ import annotations

import argparse
import sys

from .campaign import Tally, routes_for, run_program
from .routes import ROUTES


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--programs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--route", action="append", choices=list(ROUTES), help="only these routes, for every program")
    parser.add_argument("--repeat", type=int, help="run the program of this seed by all routes up to --cost")
    parser.add_argument("--cost", type=int, default=2, choices=[1, 2, 3], help="3: also Inductor and AOTInductor")
    parser.add_argument("--matrix", action="store_true", help="print the table of features and routes")
    options = parser.parse_args()
    tally = Tally()
    if options.repeat is not None:
        chosen = options.route or [name for name, route in ROUTES.items() if route.cost <= options.cost]
        run_program(options.repeat, [ROUTES[name] for name in chosen], tally)
    else:
        for seed in range(options.seed, options.seed + options.programs):
            routes = [ROUTES[n] for n in options.route] if options.route else routes_for(seed, most=options.cost)
            known = len(tally.failures)
            run_program(seed, routes, tally)
            for failure in tally.failures[known:]:
                print(failure, flush=True)
    if options.matrix:
        print(tally.matrix())
    if options.repeat is not None:
        print("\n".join(tally.failures))
    print(tally.summary())
    return bool(tally.failures)


if __name__ == "__main__":
    sys.exit(main())
