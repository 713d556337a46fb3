"""Graph and compile_job: planned jobs on tensors."""

import pytest
import torch

import oneop
from oneop.errors import ArgumentError


class Scaled(oneop.Graph):
    def __init__(self, factor):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)
        self.factor = factor

    def build(self, x):
        return {"y": self.layer(x) * self.factor, "x": x}


def test_graph_follows_its_module():
    graph = Scaled(2.0)
    for rows in (2, 5, 2):
        x = torch.randn(rows, 4)
        result = graph(x)
        torch.testing.assert_close(result["y"], graph.layer(x).detach() * 2)
        assert torch.equal(result["x"], x)
    assert "aten.addmm" in str(graph.job_for(torch.zeros(2, 4)).plan())


def test_graph_sees_updated_weights():
    graph = Scaled(1.0)
    x = torch.randn(2, 4)
    graph(x)
    with torch.no_grad():
        graph.layer.weight.fill_(1.0)
    torch.testing.assert_close(graph(x)["y"], graph.layer(x).detach())


def test_results_are_not_overwritten():
    job = oneop.compile_job(lambda x: x + 1, [torch.zeros(3)])
    first = job(torch.zeros(3))
    job(torch.ones(3))
    assert torch.equal(first, torch.ones(3))
    assert not first.requires_grad


def test_mistakes():
    job = oneop.compile_job(lambda x: x + 1, [torch.zeros(3)], name="plus")
    with pytest.raises(ArgumentError) as caught:
        job(torch.zeros(4))
    assert str(caught.value) == (
        'job "plus", input 0: expected torch.float32 (3,), found torch.float32 (4,)\n'
        "  a job is planned for fixed shapes: make another one for others"
    )
    with pytest.raises(ArgumentError, match='job "plus" takes 1 tensors, found 2'):
        job(torch.zeros(3), torch.zeros(3))
    with pytest.raises(ArgumentError, match="expected a tensor, found int"):
        oneop.compile_job(lambda x: x, [3])

    class Empty(oneop.Graph):
        pass

    with pytest.raises(NotImplementedError, match="Empty does not define build"):
        Empty()(torch.zeros(1))

    class Forgot(oneop.Graph):
        def __init__(self):
            pass

    with pytest.raises(ArgumentError, match="call super"):
        Forgot()(torch.zeros(1))


def test_examples_on_two_devices():
    with pytest.raises(ArgumentError) as caught:
        oneop.compile_job(lambda x, y: x, [torch.zeros(3), torch.zeros(3, device="meta")], name="two")
    assert str(caught.value) == (
        'job "two": its inputs must be on one device, found cpu, meta\n  move them: x.to(device)'
    )
