"""An exception in one rank's kernel ends the job, and says which rank and why."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_a_failing_rank_ends_the_job(tmp_path):
    program = ROOT / "examples" / "tensor_parallel" / "train.py"
    start = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    result = subprocess.run(
        [*start, program, "--fail-on-rank", "1"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert result.returncode != 0 and "those of one process" not in result.stdout
    root_cause = result.stderr[result.stderr.index("Root Cause") :]
    assert "rank      : 1 (local_rank: 1)" in root_cause
    assert 'op "tp_gelu", kernel at ' in root_cause and "this rank (1) has no gelu today" in root_cause
