"""functors: ops of "oneop/op.h" against torch's one-liners, on one thread; and what such a library costs to build."""

from __future__ import annotations

import argparse
import re
import resource
import subprocess
import tempfile
from pathlib import Path

import torch

import oneop
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Contender, race, take_turns
from oneop._build.compiler import default_flags, find_cxx

OURS, TORCH, ONEFLOW = "oneop/op.h", "torch", "OneFlow's spelling"

SOURCE = """\
#include "oneop/op.h"
OP("bench_swish(Tensor x, *, float beta=1.0) -> Tensor y")
    .elementwise<float, double, half, bfloat16>([](auto x, auto beta) { return x / (1 + exp(-beta * x)); })
    .no_grad();
OP("bench_gelu(Tensor x) -> Tensor y")
    .elementwise<float>([](auto x) { return 0.5 * x * (1 + erf(0.70710678118 * x)); })
    .no_grad();
OP("bench_tanh(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return tanh(x); }).no_grad();
OP("bench_sin(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return sin(x); }).no_grad();
OP("bench_log(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return log(x); }).no_grad();
OP("bench_softmax(Tensor x) -> Tensor y")
    .rows<float>([](auto x, auto y) {
      auto top = max(x);
      map(y, [=](auto v) { return exp(v - top); }, x);
      auto total = sum(y);
      map(y, [=](auto v) { return v / total; }, y);
    })
    .no_grad();
"""

#: (title, ours, torch's, dtype)
PAIRS = (
    ("swish, float32", "bench_swish(x, beta=1.5)", "x * torch.sigmoid(1.5 * x)", torch.float32),
    ("swish, float64", "bench_swish(x, beta=1.5)", "x * torch.sigmoid(1.5 * x)", torch.float64),
    ("swish, float16", "bench_swish(x, beta=1.5)", "x * torch.sigmoid(1.5 * x)", torch.float16),
    ("swish, bfloat16", "bench_swish(x, beta=1.5)", "x * torch.sigmoid(1.5 * x)", torch.bfloat16),
    ("gelu, float32", "bench_gelu(x)", "torch.nn.functional.gelu(x)", torch.float32),
    ("tanh, float32", "bench_tanh(x)", "torch.tanh(x)", torch.float32),
    ("sin, float32", "bench_sin(x)", "torch.sin(x)", torch.float32),
    ("log, float32", "bench_log(x)", "torch.log(x)", torch.float32),
    (
        "softmax of rows of 1000, float32",
        "bench_softmax(x.view(-1, 1000))",
        "torch.softmax(x.view(-1, 1000), -1)",
        None,
    ),
)


def measure(options: argparse.Namespace) -> Section:
    section = Section(name="functors", title='functors of "oneop/op.h", one thread')
    library = oneop.load_inline("functors_benchmark", SOURCE)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    for title, ours, theirs, dtype in PAIRS:
        for size in (10_000, 1_000_000):
            x = torch.rand(size).to(dtype or torch.float32)
            names = {"x": x, "torch": torch, **{op: getattr(library, op) for op in library.ops}}
            pair = [
                Contender(name=OURS, statement=ours, names=names),
                Contender(name=TORCH, statement=theirs, names=names),
            ]
            table = Table(
                title=f"{title}, n = {size:,}",
                timings=race(pair, seconds=0.4 if options.quick else 3.0, rounds=7 if options.quick else 25),
                base=TORCH,
            )
            section.tables.append(table)
            if title.startswith("swish"):
                section.bars.append(
                    Bar(
                        text=f"{title}, n = {size:,}, over torch's one-liner", limit=1.0, found=table.ratio(OURS, TORCH)
                    )
                )
    torch.set_num_threads(threads)
    compiling = _compile_times(2 if options.quick else 5)
    section.tables.append(compiling)
    section.bars.append(
        Bar(text="compiling README's op, over OneFlow's spelling", limit=1.5, found=compiling.ratio(OURS, ONEFLOW))
    )
    return section


def _compile_times(rounds: int) -> Table:
    """The op of README.md in both spellings, as docs/op_h.md has it: processor time of the compiler alone."""
    compiler = find_cxx()
    flags = [*default_flags(compiler), f"-I{Path(oneop.__file__).parent / 'include'}", "-c"]
    page = (Path(__file__).parents[1] / "docs" / "op_h.md").read_text()
    with tempfile.TemporaryDirectory(prefix="oneop-bench-") as folder:

        def seconds(name: str) -> float:
            source = Path(folder) / name
            (text,) = re.findall(rf"^```cpp\n(// {name}\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
            source.write_text(text)
            before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
            subprocess.run([*compiler.command, *flags, str(source), "-o", f"{folder}/out.o"], check=True)
            return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

        timings = take_turns(
            {OURS: lambda: seconds("swish.cpp"), ONEFLOW: lambda: seconds("swish_oneflow.cpp")}, rounds=rounds
        )
    return Table(title="compiling README's op", timings=[*timings.values()], base=ONEFLOW, unit="ms")
