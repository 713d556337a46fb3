"""Random calls on DTensors, eager and compiled, with 2 and 4 processes; `make torture` runs thousands more."""

import differential
import pytest

from quick_python import command

SEED = 17


@pytest.mark.parametrize(
    "world, meshes, eager, compiled",
    [
        (2, ["2"], 60, 1),
        (4, ["4", "2x2"], 25, 0),
        pytest.param(2, ["2"], 100, 3, marks=pytest.mark.slow),
        pytest.param(4, ["4", "2x2"], 50, 1, marks=pytest.mark.slow),
    ],
    ids=["2", "4 and 2x2", "2, more", "4 and 2x2, more"],
)
def test_random_calls_equal_those_on_whole_tensors(tmp_path, world, meshes, eager, compiled):
    compared = differential.run_ranks(tmp_path, world, meshes, SEED, eager, compiled, python=command())
    assert compared >= len(meshes) * (eager * 9 // 10 + compiled * 4)
