"""Real processes with gloo: every case of cases/ on 4 devices and on a grid of 2 by 2; slow ones on 2 too.

What test_differential.py draws runs on 2 devices as well.
"""

import cases
import pytest

MESHES = {4: ["4", "2x2"], 2: ["2"]}


def params(world, is_slow):
    return [
        pytest.param(world, is_slow, f"{mesh}-{name}", id=f"{mesh}-{name}", marks=[pytest.mark.slow] * is_slow)
        for mesh in MESHES[world]
        for name, case in cases.CASES.items()
        if cases.is_due(case, mesh, is_slow)
    ]


@pytest.mark.parametrize("world, is_slow, name", params(4, False))
def test_case(ranks, world, is_slow, name):
    for rank, problem in enumerate(ranks(world, MESHES[world], is_slow)[name]):
        assert not problem, f"rank {rank}\n{problem}"


@pytest.mark.parametrize("world, is_slow, name", params(4, True) + params(2, True))
def test_all_of_a_case(ranks, world, is_slow, name):
    test_case(ranks, world, is_slow, name)
