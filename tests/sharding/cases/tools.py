"""What cases share: their list, tensors on a mesh, comparison with the same call on whole tensors."""

import os

import torch
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

S, R, P = Shard, Replicate(), Partial()
CASES = {}


def is_slow():
    """Tell whether all of each case is wanted: test_ranks.py runs that in tests that are marked slow."""
    return os.environ.get("SHARDED_SLOW") == "1"


def case(function=None, *, dims=(1, 2), more=()):
    """Add a case, for meshes of so many dimensions; on those of `more` it does more where is_slow()."""

    def add(function):
        function.dims, function.more = dims, more
        CASES[function.__name__] = function
        return function

    return add if function is None else add(function)


def is_due(function, mesh, is_slow):
    """Tell whether a case runs on a mesh, such as "2x2"; the slow run leaves out those that do no more than before."""
    dims = mesh.count("x") + 1
    return dims in function.dims and (not is_slow or mesh == "2" or dims in function.more)


def spread(whole, mesh, placements):
    """Put a tensor on the mesh; summands are of different sizes."""
    base = [R if isinstance(p, Partial) else p for p in placements]
    tensor = distribute_tensor(whole.detach().clone(), mesh, base)
    local = tensor.to_local()
    for dim, placement in enumerate(placements):
        if isinstance(placement, Partial):
            count, index = mesh.size(dim), mesh.get_local_rank(dim)
            local = local * (1.0 if count == 1 else 3.0 if index == 0 else -2.0 / (count - 1))
    return DTensor.from_local(local, mesh, placements, shape=whole.shape, stride=whole.stride())


def close(found, whole, what=""):
    found = found.full_tensor() if isinstance(found, DTensor) else found
    assert found.shape == whole.shape, (what, found.shape, whole.shape)
    assert torch.allclose(found, whole, rtol=1e-6, atol=1e-6), (what, (found - whole).abs().max())


def ways(mesh, *lists):
    """Yield placements for each of several tensors: one way on a line of devices, pairs of them on a grid.

    Each is paired with the next one and the first with itself; where is_slow(), each with itself and the next two.
    """
    columns = list(zip(*lists, strict=True))
    steps = {
        (i, k) for i in range(len(columns)) for k in range(min(3, len(columns))) if is_slow() or k == 1 or i + k == 0
    }
    pairs = [(columns[i], columns[(i + k) % len(columns)]) for i, k in sorted(steps)]
    for combination in [(column,) for column in columns] if mesh.ndim == 1 else pairs:
        yield [tuple(column[i] for column in combination) for i in range(len(lists))]


def train(mesh, run, tensors, ways_of):
    """Forward, backward and a step of an optimizer, on DTensors and on whole tensors."""
    for placements in ways_of:
        wholes = [tensor.clone().requires_grad_(tensor.is_floating_point()) for tensor in tensors]
        parts = [
            spread(t, mesh, p).requires_grad_(t.is_floating_point()) for t, p in zip(tensors, placements, strict=True)
        ]
        whole, part = run(*wholes), run(*parts)
        assert isinstance(part, DTensor)
        close(part, whole, placements)
        weights = torch.linspace(-1, 1, whole.numel(), dtype=whole.dtype).reshape(whole.shape)
        (whole * weights).sum().backward()
        (part * distribute_tensor(weights, mesh, [R] * mesh.ndim)).sum().backward()
        trained = [i for i, t in enumerate(tensors) if t.is_floating_point() and P not in placements[i]]
        for i, tensor in enumerate(tensors):
            if tensor.is_floating_point():
                close(parts[i].grad, wholes[i].grad, (placements, i))
                for own, found in zip(placements[i], parts[i].grad.placements, strict=True):
                    assert own == found or not isinstance(own, Shard), (placements, i, parts[i].grad.placements)
        if trained:
            for those in (wholes, parts):
                torch.optim.SGD([those[i] for i in trained], lr=0.1, momentum=0.9).step()
            for i in trained:
                close(parts[i].detach(), wholes[i].detach(), (placements, i, "after a step"))
                assert parts[i].placements == tuple(placements[i])


def numbers(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def refused(act):
    """Return the text of the error that an act raises."""
    try:
        act()
    except Exception as error:
        return str(error)
    raise AssertionError("it was not refused")
