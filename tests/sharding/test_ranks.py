"""Real processes with gloo: every case of cases/ on 2 devices, on 4, and on a grid of 2 by 2."""

import cases
import pytest

MESHES = {2: ["2"], 4: ["4", "2x2"]}
ALL = [
    pytest.param(world, f"{mesh}-{name}", id=f"{mesh}-{name}")
    for world, meshes in MESHES.items()
    for mesh in meshes
    for name, case in cases.CASES.items()
    if mesh.count("x") + 1 in case.dims
]


@pytest.mark.parametrize("world, name", ALL)
def test_case(ranks, world, name):
    for rank, problem in enumerate(ranks(world, MESHES[world])[name]):
        assert not problem, f"rank {rank}\n{problem}"
