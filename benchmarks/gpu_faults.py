"""Faulty CUDA kernels: what `oneop check` finds of them, and what compute-sanitizer does, in how much time.

`python -m benchmarks.gpu_faults` prints each answer as it comes, then a table. The kernels are those of tests/gpu. For
compute-sanitizer a program calls each op on three sizes and waits for the device; nobody compares results there, as in
a program of a user's. Needs a GPU.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

import oneop

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "tests/gpu/sources/cuda_faults.cu"
TOOLS = ("memcheck", "initcheck", "racecheck")
SECONDS = 300  # of one program

CALLS = """
import sys, torch, oneop
op = getattr(oneop.load(sys.argv[1]), sys.argv[2])
for size in (17, 1025, 70001):
    x = torch.randn(size, device="cuda")
    y = op(x)
    torch.cuda.synchronize()
"""

CHECK = """
import sys, oneop
from oneop.testing.checker import ON_CUDA, run_check
from oneop.testing.subject import Hints
oneop.load(sys.argv[1])
report = run_check(sys.argv[2], Hints(reference=lambda x: 2 * x), only=ON_CUDA)
print("families:", ", ".join(outcome.family for outcome in report.failures))
"""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one tool says about one op."""

    op: str
    tool: str
    fault: str  # "" where it finds none
    seconds: float


def ask(op: str, tool: str, library: Path) -> Answer:
    """Run one program."""
    program = CHECK if tool == "oneop check" else CALLS
    command = [sys.executable, "-c", program, str(library), op]
    if tool in TOOLS:
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9", *command]
    # Each tensor in memory of its own: the tools see no bounds inside the blocks of torch's allocator.
    environment = {**os.environ, "PYTORCH_NO_CUDA_MEMORY_CACHING": "1"} if tool in TOOLS else None
    started = time.monotonic()
    try:
        ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return Answer(op=op, tool=tool, fault="no end", seconds=SECONDS)
    seconds = time.monotonic() - started
    if tool == "oneop check":
        lines = [line.removeprefix("families: ") for line in ran.stdout.splitlines() if line.startswith("families:")]
        fault = lines[0] if lines else f"the process ended: {ran.stderr.strip().splitlines()[-1:]}"
        return Answer(op=op, tool=tool, fault=fault.strip(), seconds=seconds)
    told = [line for line in ran.stdout.splitlines() if "=========" in line and ("Invalid" in line or "Uninit" in line)]
    fault = "" if ran.returncode == 0 else (told[0].strip("= ") if told else f"exit status {ran.returncode}")
    return Answer(op=op, tool=tool, fault=fault, seconds=seconds)


def main(arguments: Sequence[str] | None = None) -> int:
    """Ask all tools about all ops; print a line for each op, and sums."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_faults", description=__doc__)
    parser.add_argument("--jobs", type=int, default=4, help="programs at a time (default 4)")
    parser.add_argument("--json", type=Path, help="write the answers to this file")
    parser.add_argument(
        "--tool", action="append", choices=("oneop check", *TOOLS), help="only this one; may be repeated"
    )
    options = parser.parse_args(arguments)
    if not torch.cuda.is_available():
        print("no CUDA device: nothing measured")
        return 0
    tools = ["oneop check", *(TOOLS if shutil.which("compute-sanitizer") else ())]
    if len(tools) == 1:
        print("there is no compute-sanitizer on the PATH")
    tools = [tool for tool in tools if tool in (options.tool or tools)]
    library = oneop.build("cuda_faults", [SOURCE])
    names = sorted(oneop.load(library).ops)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(ask, name, tool, library.path) for tool in tools for name in names]
        answers = []
        for future in concurrent.futures.as_completed(futures):
            answers.append(answer := future.result())
            progress = f"{len(answers):3} of {len(futures)}"
            print(
                f"{progress}  {answer.op:28}{answer.tool:12}{answer.seconds:6.1f} s  {answer.fault or '-'}", flush=True
            )
    if options.json:
        options.json.write_text(json.dumps([vars(answer) for answer in answers], indent=1))
    by_key = {(answer.op, answer.tool): answer for answer in answers}
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {options.jobs} programs at a time")
    for name in names:
        print(f"{name:28}" + "  ".join(f"{tool}: {by_key[name, tool].fault or '-'}" for tool in tools))
    for tool in tools:
        own = [by_key[name, tool] for name in names]
        wrong = [answer for answer in own if not answer.op.startswith("right_")]
        right = [answer for answer in own if answer.op.startswith("right_")]
        print(
            f"{tool}: {sum(bool(a.fault) for a in wrong)} of {len(wrong)} faults found, "
            f"{sum(bool(a.fault) for a in right)} of {len(right)} right ops suspected, "
            f"{sum(a.seconds for a in own) / len(own):.1f} s for each op"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
