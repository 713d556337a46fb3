"""A short round of the torture area of jobs with a seed that is never the same, in a process of its own.

`tests/torture/test_short.py` runs one whose seed is always the same.
"""

import random
import subprocess
from pathlib import Path

from quick_python import command

ROOT = Path(__file__).resolve().parents[2]


def test_a_round():
    seed = random.SystemRandom().randrange(1 << 30)
    code = f"from tests.torture.areas import jobs; print(jobs.run_round({seed}, seconds=2.0, subjects=1))"
    result = subprocess.run([*command(), "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, f"seed {seed}\n{result.stdout[-2000:]}{result.stderr[-4000:]}"
