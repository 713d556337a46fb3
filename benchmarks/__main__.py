"""Run the benchmarks: `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

import oneop
from benchmarks import (
    authoring,
    builds,
    calls,
    functors,
    gallery,
    gallery_cuda,
    gpu,
    imports,
    jobs,
    sharding,
    throughput,
)
from benchmarks._report import print_bars, print_section

SECTIONS = {
    "calls": calls,
    "throughput": throughput,
    "functors": functors,
    "gallery": gallery,
    "builds": builds,
    "imports": imports,
    "jobs": jobs,
    "authoring": authoring,
    "gpu": gpu,
    "gallery_cuda": gallery_cuda,
    "sharding": sharding,
}

EPILOG = """\
examples:
  python -m benchmarks                       everything, some minutes
  python -m benchmarks --quick --no-cpp      less exact, under a minute
  python -m benchmarks --only calls --only imports
  python -m benchmarks --json result.json

The contenders of a table take turns, within one process or as processes. Compare the ratios of one run, not times of
different ones. A missed bar is information: the exit status is 0.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sections that were asked for and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure oneop beside torch's own ways to make an op.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", action="append", choices=SECTIONS, metavar="SECTION", help=" | ".join(SECTIONS))
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds")
    parser.add_argument(
        "--no-cpp",
        dest="cpp",
        action="store_false",
        help="leave out what torch.utils.cpp_extension and inductor build, which takes minutes",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures to a file too")
    options = parser.parse_args(arguments)

    machine = describe_machine()
    print(", ".join(machine.values()))
    sections = []
    for name in options.only or SECTIONS:
        section = SECTIONS[name].measure(options)
        print_section(section)
        sections.append(section)
        sys.stdout.flush()
    print_bars(sections)
    if options.json:
        result = {"machine": machine, "sections": {section.name: section.as_json() for section in sections}}
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    return 0


def describe_machine() -> dict[str, str]:
    """Return what a reader needs to know to judge the figures."""
    return {
        "oneop": f"oneop {oneop.__version__}",
        "torch": f"torch {torch.__version__}",
        "python": f"Python {platform.python_version()}",
        "processor": f"{len(os.sched_getaffinity(0))} cores of {_processor()}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())
