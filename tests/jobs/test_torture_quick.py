"""A short round of the torture area of jobs, with one seed that is always the same and one that never is."""

import importlib.util
import random
from pathlib import Path

import pytest

FILE = Path(__file__).resolve().parents[1] / "torture" / "areas" / "jobs.py"


@pytest.mark.parametrize("seed", [1, random.SystemRandom().randrange(1 << 30)], ids=["fixed", "random"])
def test_round(seed):
    spec = importlib.util.spec_from_file_location("torture_jobs", FILE)
    area = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(area)
    print(area.run_round(seed, seconds=2.0, subjects=1))
