"""Planning for many ranks: with a fake process group, the work and the answer do not depend on how many there are."""

import pytest
import sample_ops
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

from oneop.sharding.dtensor.running import known_calls
from oneop.sharding.planning import choice

#: Sizes and grids of the mesh.
LINES = {8: (8,), 64: (64,), 1024: (1024,)}
GRIDS = {8: (2, 4), 64: (8, 8), 1024: (32, 32)}


@pytest.fixture
def ranks():
    """Make process groups of which only this rank is real."""

    def make(count):
        dist.init_process_group("fake", rank=0, world_size=count, store=FakeStore())

    yield make
    if dist.is_initialized():
        dist.destroy_process_group()


def planned(monkeypatch, shape):
    """Return how often inference ran for a plan, and the placements of the result."""
    runs = []
    infers = choice.infers

    def counted(*args):
        runs.append(args)
        return infers(*args)

    mesh = init_device_mesh("cpu", shape)
    rows = [Shard(0), *[Replicate()] * (len(shape) - 1)]
    columns = [*[Replicate()] * (len(shape) - 1), Shard(1)]
    a = DTensor.from_local(torch.randn(3, 8), mesh, rows, run_check=False)
    b = DTensor.from_local(torch.randn(8, 5), mesh, columns if len(shape) > 1 else [Replicate()], run_check=False)
    op = sample_ops.matmul()
    with monkeypatch.context() as patch:
        patch.setattr(choice, "infers", counted)
        torch._C._clear_DTensor_sharding_propagator_cache()
        known_calls.clear()
        result = op(a, b)
    own = a @ b
    assert result.placements == own.placements and result.shape == own.shape
    return len(runs), result.placements


@pytest.mark.parametrize("shapes", [LINES, GRIDS], ids=["line", "grid"])
def test_a_thousand_ranks_are_planned_as_eight_are(ranks, monkeypatch, shapes):
    answers = {}
    for count, shape in shapes.items():
        ranks(count)
        answers[count] = planned(monkeypatch, shape)
        dist.destroy_process_group()
    assert answers[1024] == answers[64] == answers[8]
    assert answers[8][0] > 0
