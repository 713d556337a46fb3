"""Functions of functors: their errors over the whole range, and that loops over them are vectorised."""

import os
import subprocess
from pathlib import Path

import pytest

from oneop._build.compiler import default_flags, find_cxx

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "src" / "oneop" / "include"

#: Units in the last place, as the headers and docs/op_h.md state them.
BOUNDS = {
    "exp": 1.5,
    "expm1": 2,
    "log": 1,
    "log1p": 2,
    "tanh": 3,
    "erf": 2,
    "sin": 2,
    "cos": 2,
    "sigmoid": 3,
}


def run(command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize(
    "flags", [[], pytest.param(["-ffp-contract=off"], marks=pytest.mark.slow)], ids=["contracted", "plain"]
)
def test_errors_are_within_their_bounds(tmp_path, flags):
    program = tmp_path / "errors"
    options = ["-std=c++17", "-O2", "-fno-math-errno", "-fno-trapping-math", *flags, f"-I{INCLUDE}"]
    run([os.environ.get("CXX", "g++"), *options, str(HERE / "math_errors.cpp"), "-o", str(program)])
    lines = run([str(program)]).stdout.splitlines()
    assert len(lines) == 2 * len(BOUNDS)
    for line in lines:
        name, _, error, _ = line.split()
        assert float(error) <= BOUNDS[name], line


@pytest.mark.parametrize("portable", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_loops_are_vectorised(tmp_path, portable):
    compiler = find_cxx()
    if compiler.family != "gcc":
        pytest.skip("asks g++")
    report = tmp_path / "report"
    flags = [*default_flags(compiler, portable=portable), f"-I{INCLUDE}", f"-fopt-info-vec={report}"]
    source = HERE / "loops.cpp"
    run([*compiler.command, *flags, "-c", str(source), "-o", str(tmp_path / "loops.o")])
    lines = source.read_text().splitlines()
    starts = [line.lstrip().startswith(("LOOPS(", "for (")) and not line.endswith("\\") for line in lines]
    is_outer = [line.lstrip().startswith("for (") for line in lines[1:]] + [False]
    loops = [i for i, start in enumerate(starts, 1) if start and not is_outer[i - 1]]
    said = report.read_text()
    missing = [lines[i - 1] for i in loops if f"loops.cpp:{i}:" not in said]
    assert missing == []
    assert said.count("loop vectorized") >= 2 * sum(lines[i - 1].startswith("LOOPS(") for i in loops)
