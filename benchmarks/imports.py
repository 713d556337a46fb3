"""imports: what `import oneop` adds to `import torch`."""

from __future__ import annotations

import argparse

from benchmarks._report import Bar, Section, Table
from benchmarks._timing import take_turns
from benchmarks.builds import run_python

PROGRAM = """
import time{before}
started = time.perf_counter()
import {module}
print(time.perf_counter() - started)
"""


def measure(options: argparse.Namespace) -> Section:
    section = Section(name="imports", title="a new process for each")
    programs = {
        "import torch": PROGRAM.format(before="", module="torch"),
        "import oneop, after torch": PROGRAM.format(before=", torch", module="oneop"),
    }
    found = take_turns(
        {name: lambda program=program: run_python(program)[-1] for name, program in programs.items()},
        rounds=3 if options.quick else 9,
    )
    section.tables = [Table(title="seconds", timings=list(found.values()), base="import torch", unit="s")]
    section.bars = [
        Bar(text="import oneop over torch", limit=0.15, found=found["import oneop, after torch"].median, unit="s")
    ]
    return section
