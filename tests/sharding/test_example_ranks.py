"""The examples on several ranks: the other number of processes than the one that tests/test_examples.py runs.

Each of the two examples runs on one of these numbers in `make test`, and on the other one in `make test-slow`."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("example", ["tensor_parallel", pytest.param("vocabulary_parallel", marks=pytest.mark.slow)])
def test_on_two_ranks(example, run_program):
    program = ROOT / "examples" / example / "train.py"
    result = run_program(program, "--ranks", "2", env={"OMP_NUM_THREADS": "1"})
    assert result.returncode == 0, result.stderr[-3000:]
    assert "2 ranks" in result.stdout and "eager: losses" in result.stdout and "compiled: losses" in result.stdout
