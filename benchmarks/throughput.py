"""throughput: large tensors, where only memory traffic should count."""

from __future__ import annotations

import argparse
import os

import torch
import torch.nn.functional as F

from benchmarks._peers import ALPHA, BUILTIN, OURS, our_library
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Contender, race

N = 10_000_000
COPY = "y.copy_(x)"
PARALLEL = "oneop, parallel_for"


def measure(options: argparse.Namespace) -> Section:
    section = Section(name="throughput", title=f"leaky_relu(x, {ALPHA}), float32, n = 1e7")
    library = our_library()
    names = {
        "x": torch.randn(N),
        "y": torch.zeros(N),
        "f": F.leaky_relu,
        "into": torch._C._nn.leaky_relu,
        "plain": library.leaky_relu,
        "parallel": library.leaky_relu_parallel,
    }
    statements = {
        COPY: "y.copy_(x)",
        OURS: f"plain(x, alpha={ALPHA})",
        PARALLEL: f"parallel(x, alpha={ALPHA})",
        BUILTIN: f"f(x, {ALPHA})",
        f"{BUILTIN}, out=": f"into(x, {ALPHA}, out=y)",
    }
    contenders = {
        name: Contender(name=name, statement=statement, names=names) for name, statement in statements.items()
    }
    cores = len(os.sched_getaffinity(0))
    seconds = 2.0 if options.quick else 10.0
    rounds = 7 if options.quick else 25

    torch.set_num_threads(1)
    one_thread = Table(
        title="one thread",
        timings=race(
            [contender for contender in contenders.values() if contender.name != PARALLEL],
            seconds=seconds,
            rounds=rounds,
        ),
        base=BUILTIN,
        unit="ms",
        note="copy_ and out= write into memory that is there; the others return a new tensor",
    )
    torch.set_num_threads(cores)
    every = Table(
        title=f"all {cores} cores",
        timings=race(
            [contender for contender in contenders.values() if contender.name != OURS], seconds=seconds, rounds=rounds
        ),
        base=BUILTIN,
        unit="ms",
    )
    torch.set_num_threads(1)
    section.tables = [one_thread, every]
    section.bars = [
        Bar(text="n=1e7, one thread, to copy_", limit=1.05, found=one_thread.ratio(OURS, COPY)),
        Bar(text="n=1e7, one thread, to built-in", limit=0.9, found=one_thread.ratio(OURS, BUILTIN)),
        Bar(text=f"n=1e7, parallel_for on {cores} cores, to built-in", limit=1.0, found=every.ratio(PARALLEL, BUILTIN)),
    ]
    return section
