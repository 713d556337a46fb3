"""Run rounds of random work, each in a process of its own, and report every one that goes wrong.

    python -m tests.torture --minutes 20 --seed 1
    python -m tests.torture --area calls --seed 17 --rounds 1     # repeat one round
    python -m tests.torture --area calls --sanitizer thread       # look for races too

A round is fully determined by its area and seed, as far as threads allow. It fails if a result is wrong, if its process
dies, or if it does not end in time.
"""

from __future__ import annotations

import argparse
import os
import pkgutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from tests.torture import areas
from tests.torture.sanitizers import SANITIZERS, prepare

ROOT = Path(__file__).resolve().parents[2]
LIMIT_SECONDS = 300
ROUND = """
import faulthandler, importlib, sys
faulthandler.enable()
area, seed, share = sys.argv[1:]
print(importlib.import_module(f"tests.torture.areas.{area}").run_round(int(seed), float(share)))
"""


@dataclass(frozen=True)
class Outcome:
    """What one round came to; `fault` is empty if all was right."""

    area: str
    seed: int
    seconds: float
    tally: str
    fault: str
    output: str


def area_names() -> list[str]:
    """Return the areas there are."""
    return sorted(module.name for module in pkgutil.iter_modules(areas.__path__))


def run_round(area: str, seed: int, share: float) -> Outcome:
    """Run one round in a new process group, which is killed if it takes too long."""
    started = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-c", ROUND, area, str(seed), str(share)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'src'}", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )
    fault = ""
    try:
        output, _ = process.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGABRT)  # faulthandler shows where each thread is
        output, _ = process.communicate()
        fault = f"did not end in {LIMIT_SECONDS} s"
    if not fault and process.returncode < 0:
        fault = f"died of {signal.Signals(-process.returncode).name}"
    elif not fault and process.returncode > 0:
        fault = "wrong"
    lines = output.strip().splitlines()
    tally = lines[-1] if lines and not fault else ""
    return Outcome(area, seed, time.monotonic() - started, tally, fault, output)


def report(outcome: Outcome) -> None:
    """Print a line about a round, and what a failed one printed."""
    verdict = outcome.fault or "right"
    lines = [f"{outcome.area:10} seed {outcome.seed}  {verdict}  {outcome.seconds:.1f} s  {outcome.tally}"]
    if outcome.fault:
        lines += [f"    {line}" for line in outcome.output.strip().splitlines()[-40:]]
        lines += [f"    repeat: python -m tests.torture --area {outcome.area} --seed {outcome.seed} --rounds 1"]
    print("\n".join(lines), flush=True)


def main() -> int:
    """Run the rounds that the command line asks for; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__.partition("\n")[0])
    parser.add_argument("--area", action="append", choices=area_names(), help="only these (default: all)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the first seed (default: the time)")
    parser.add_argument("--minutes", type=float, help="start no round after this many")
    parser.add_argument("--rounds", type=int, help="rounds of each area (default: 1, with --minutes no limit)")
    parser.add_argument("--share", type=float, default=1.0, help="how much of each round (default: 1.0, all)")
    parser.add_argument("--jobs", type=int, default=2, help="rounds at a time (default: 2)")
    parser.add_argument("--sanitizer", choices=list(SANITIZERS), help="compile the core and libraries with it")
    options = parser.parse_args()
    if options.sanitizer:
        prepare(SANITIZERS[options.sanitizer])
    chosen = options.area or area_names()
    rounds = options.rounds or (10**9 if options.minutes else 1)
    deadline = time.monotonic() + options.minutes * 60 if options.minutes else float("inf")
    print(f"seed {options.seed}: areas {', '.join(chosen)}", flush=True)

    numbers = iter(range(rounds * len(chosen)))  # shared by the workers: a step of a range's iterator is atomic

    def work(_: int) -> list[Outcome]:
        outcomes = []
        for number in numbers:
            if time.monotonic() > deadline:
                break
            seed = options.seed + number // len(chosen)
            outcomes.append(run_round(chosen[number % len(chosen)], seed, options.share))
            report(outcomes[-1])
        return outcomes

    with ThreadPoolExecutor(options.jobs) as pool:
        done = [outcome for outcomes in pool.map(work, range(options.jobs)) for outcome in outcomes]
    for area in chosen:
        tally = [outcome.fault for outcome in done if outcome.area == area]
        print(f"{area:10} {len(tally)} rounds, {sum(map(bool, tally))} failed")
    failed = [outcome for outcome in done if outcome.fault]
    print(f"{len(done) - len(failed)} passed, {len(failed)} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
