"""A part of a round of each area of `make torture`, with a fixed seed."""

import subprocess
from pathlib import Path

import pytest

from quick_python import command

ROOT = Path(__file__).resolve().parents[2]
AREAS = sorted(path.stem for path in (Path(__file__).parent / "areas").glob("*.py") if path.stem != "__init__")


@pytest.mark.parametrize(
    "area", [pytest.param(area, marks=() if area == "calls" else pytest.mark.slow) for area in AREAS]
)
def test_part_of_a_round(area):
    words = [*command(), "-m", "tests.torture", "--area", area, "--seed", "1", "--rounds", "1", "--share", "0.3"]
    result = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0 and "1 passed, 0 failed" in result.stdout, result.stdout + result.stderr
