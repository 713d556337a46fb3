"""imports: what `import oneop`, and the first name that needs torch, add to `import torch`."""

from __future__ import annotations

import argparse

from benchmarks._report import Bar, Section, Table
from benchmarks._timing import take_turns
from benchmarks.builds import run_python

PROGRAM = """
import time{before}
started, used = time.perf_counter(), time.process_time()
{statement}
print(time.process_time() - used, time.perf_counter() - started)
"""


def measure(options: argparse.Namespace) -> Section:
    section = Section(name="imports", title="a new process for each")
    programs = {
        "import torch": PROGRAM.format(before="", statement="import torch"),
        "import oneop, after torch": PROGRAM.format(before=", torch", statement="import oneop"),
        "from oneop import load, after torch": PROGRAM.format(before=", torch", statement="from oneop import load"),
    }
    rounds = 3 if options.quick else 9
    for title, column in [("processor time", 0), ("elapsed", 1)]:
        timings = take_turns(
            {name: lambda program=p, at=column: run_python(program)[at] for name, p in programs.items()},
            rounds=rounds,
        )
        section.tables.append(Table(title=title, timings=list(timings.values()), base="import torch", unit="s"))
    section.bars = [
        Bar(text=text, limit=0.15, found=timings[name].median, unit="s")
        for text, name in (
            ("import oneop over torch", "import oneop, after torch"),
            ("from oneop import load over torch", "from oneop import load, after torch"),
        )
    ]
    return section
