"""An exception in one rank's kernel ends the job, and says which rank and why."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from quick_python import command

ROOT = Path(__file__).parents[2]


def report_of_a_failure(python, folder):
    """Have rank 1 of two fail; returns what torchrun reports."""
    program = ROOT / "examples" / "tensor_parallel" / "train.py"
    start = [*python, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    result = subprocess.run(
        [*start, program, "--fail-on-rank", "1"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode != 0 and "those of one process" not in result.stdout
    return result.stderr[result.stderr.index("FAILED") :]


def of_rank_1(text):
    """Return what the report says from rank 1 on."""
    return text[text.index("rank      : 1 (local_rank: 1)") :]


def test_a_failing_rank_ends_the_job(tmp_path):
    """Forks end so soon that torch may call the other rank the root cause."""
    found = of_rank_1(report_of_a_failure(command(), tmp_path))
    assert 'op "tp_gelu", kernel at ' in found and "this rank (1) has no gelu today" in found


@pytest.mark.slow
def test_the_failing_rank_is_the_root_cause(tmp_path):
    report = report_of_a_failure([sys.executable], tmp_path)
    root_cause = report[report.index("Root Cause") :]
    assert "rank      : 1 (local_rank: 1)" in root_cause
    assert 'op "tp_gelu", kernel at ' in root_cause and "this rank (1) has no gelu today" in root_cause
