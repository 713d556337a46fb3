"""builds: from an edited source to the first result, and the same again with nothing changed.

Each trial is a process of its own. Imports are not counted; loading the core of oneop is. An edit is a number in a
comment that no source had before, so the compiler really runs; the core itself is built beforehand.
"""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks._peers import SOURCES
from benchmarks._report import Bar, Section, Table
from benchmarks._timing import Timing, take_turns

OURS = "oneop.load"
TVM_FFI = "tvm_ffi.cpp.load_inline"
TORCH = "cpp_extension.load"
HEADER = "g++ of one line, #include <torch/library.h>"

#: name -> (imports, what is timed). `source` is the path of the edited file, `folder` is empty and its own.
PROGRAMS = {
    OURS: (
        "import oneop, oneop._build.core as core; core.core_path(); oneop.load",  # names that need torch come late
        "y = oneop.load('oneop_bench_myrelu', [source]).myrelu(x)",
    ),
    TVM_FFI: (
        "import tvm_ffi.cpp, torch.utils.dlpack",
        "y = torch.empty_like(x); tvm_ffi.cpp.load_inline('myrelu', cpp_sources=open(source).read(), "
        "functions='myrelu', extra_cflags=['-O3'], build_directory=folder).myrelu(x, y)",
    ),
    TORCH: (
        "from torch.utils.cpp_extension import load",
        "y = load('oneop_bench_myrelu', [source], extra_cflags=['-O3'], build_directory=folder).myrelu(x)",
    ),
    HEADER: (
        "import subprocess; from torch.utils.cpp_extension import include_paths",
        "y = x.relu(); subprocess.run(['g++', '-std=c++20', '-O2', '-fPIC', '-c', source, '-o', folder + '/object', "
        "*(f'-I{path}' for path in include_paths())], check=True)",
    ),
}
TEMPLATE = """
import resource, time, torch
def cpu():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)
source, folder = {source!r}, {folder!r}
x = torch.tensor([-1.0, 2.0])
{imports}
started, used = time.perf_counter(), cpu()
{timed}
print(cpu() - used, time.perf_counter() - started)
assert y.tolist() == [0.0, 2.0], y
"""
SOURCE_OF = {OURS: "myrelu.cpp", TVM_FFI: "myrelu_tvm_ffi.cpp", TORCH: "myrelu_torch.cpp", HEADER: "one_line.cpp"}


def measure(options: argparse.Namespace) -> Section:
    section = Section(name="builds", title="one C++ op with CPU kernels, from edit to first result")
    rounds = 2 if options.quick else 5
    with tempfile.TemporaryDirectory(prefix="oneop-bench-") as temporary:
        folder = Path(temporary)
        quick = [OURS]
        if importlib.util.find_spec("tvm_ffi"):
            quick.append(TVM_FFI)
        else:
            section.notes.append(f"{TVM_FFI} is left out: pip install apache-tvm-ffi ninja")
        quick.append(HEADER)
        trials = {name: _Trial(name, folder) for name in (*quick, TORCH)}
        cold = take_turns({name: trials[name].cold for name in quick}, rounds=rounds)
        if options.cpp:
            cold |= take_turns({TORCH: trials[TORCH].cold}, rounds=1)
        else:
            section.notes.append(f"{TORCH} is left out: --no-cpp")
        warm = take_turns({name: trials[name].warm for name in cold if name != HEADER}, rounds=rounds + 2)
    _forget_libraries()
    section.tables = [
        Table(title="cold: the source was edited", timings=list(cold.values()), base=OURS, unit="s"),
        Table(
            title="cold, processor time: what it would take on an idle machine with one core",
            timings=[Timing(name=name, samples=tuple(trials[name].cpu_seconds)) for name in cold],
            base=OURS,
            unit="s",
        ),
        Table(title="warm: nothing changed, a new process", timings=list(warm.values()), base=OURS, unit="ms"),
    ]
    ours = cold[OURS]
    section.bars = [
        Bar(text="edit to first call", limit=1.5, found=ours.median, unit="s"),
        Bar(text="edit to first call, to tvm_ffi", limit=1.0, found=_ratio(ours, cold.get(TVM_FFI))),
        Bar(text="edit to first call, to one line of torch/library.h", limit=0.25, found=_ratio(ours, cold[HEADER])),
        Bar(
            text="edit to first call, cpp_extension to ours",
            limit=20,
            found=_ratio(cold.get(TORCH), ours),
            at_least=True,
        ),
        Bar(text="warm load and first call", limit=50, found=warm[OURS].median * 1e3, unit="ms"),
    ]
    return section


class _Trial:
    """One way to build: an edited copy of its source, and the folder in which it builds."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self.text = (SOURCES / SOURCE_OF[name]).read_text()
        self.folder = folder / SOURCE_OF[name].removesuffix(".cpp")
        self.folder.mkdir()
        self.count = 0
        self.cpu_seconds: list[float] = []

    def cold(self) -> float:
        self.count += 1
        self._build_folder.mkdir()
        self._source.write_text(f"{self.text}\n// edit {time.time_ns()}\n")
        cpu_seconds, seconds = self._run()
        self.cpu_seconds.append(cpu_seconds)
        return seconds

    def warm(self) -> float:
        return self._run()[1]

    @property
    def _build_folder(self) -> Path:
        return self.folder / str(self.count)

    @property
    def _source(self) -> Path:
        return self.folder / SOURCE_OF[self.name]

    def _run(self) -> list[float]:
        imports, timed = PROGRAMS[self.name]
        program = TEMPLATE.format(
            source=str(self._source), folder=str(self._build_folder), imports=imports, timed=timed
        )
        return run_python(program)


def run_python(program: str) -> list[float]:
    """Run a program in a process of its own and return the numbers on the last line that it prints."""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise RuntimeError(f"a trial failed:\n{program}\n{result.stderr}")
    return [float(word) for word in result.stdout.splitlines()[-1].split()]


def _ratio(timing: Timing | None, other: Timing | None) -> float | None:
    return timing.median / other.median if timing and other else None


def _forget_libraries() -> None:
    """Take the libraries of the trials out of the cache again."""
    from oneop._build import cache

    cache.clear("library", "oneop_bench_myrelu")
    cache.clear("object", "myrelu")
