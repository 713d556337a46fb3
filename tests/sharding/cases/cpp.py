"""Ops in C++ on DTensors: attributes in keys, physical inference, signatures over several dimensions."""

import sharded_cpp
import torch
import torch.distributed as dist

from cases.tools import R, S, case, close, numbers, spread


@case(dims=(1,))
def cpp_attributes_in_the_key(mesh):
    cpp = sharded_cpp.load()
    misses = lambda: torch._C._get_DTensor_sharding_propagator_cache_stats()[1]  # noqa: E731
    whole = numbers(8, 8)
    part = spread(whole, mesh, [S(0)])
    cpp.c_scale(part, by=1.0)
    before = misses()
    results = [cpp.c_scale(part, by=2.0 + i) for i in range(5)]
    assert misses() == before  # neither inference nor SBP reads it
    for i, result in enumerate(results):
        close(result, whole * (2.0 + i))
    for axis in (0, 1, 0, 1):
        y = cpp.c_copy(part, axis=axis)
        close(y, whole)
        assert (y.placements == (S(0),)) == (axis == 0), (axis, y.placements)
    before = misses()
    for unread in (1.0, 2.0, 3.0):
        cpp.c_copy(part, axis=0, unread=unread)
    is_exact = not torch.__version__.startswith("2.11")  # there, what follows a named attribute joins the key
    assert misses() == before or not is_exact
    try:
        cpp.c_scale(part, by=0.0)  # what is checked is checked on a hit too
        raise AssertionError("not refused")
    except RuntimeError as error:
        assert "Check failed" in str(error) or "by" in str(error), error


@case(dims=(1,))
def cpp_physical_inference(mesh):
    cpp = sharded_cpp.load()
    for rows in (8, 7):
        whole = numbers(rows, 1)
        y = cpp.c_expand(spread(whole, mesh, [S(0)]), shape=[rows, 3])
        assert y.placements == (S(0),) and y.shape == (rows, 3)
        close(y, whole.expand(rows, 3))


@case
def cpp_nd_sbp(mesh):
    cpp = sharded_cpp.load()
    whole = numbers(8, 4)
    for placement in (S(0), S(1), R):
        y = cpp.c_rows(spread(whole, mesh, [placement] * mesh.ndim))
        assert y.placements == (S(0),) * mesh.ndim
        close(y, whole)


@case
def cpp_kernels_are_told_where_they_run(mesh):
    cpp = sharded_cpp.load()
    x = spread(numbers(8, 4), mesh, [S(0), *[R] * (mesh.ndim - 1)])
    for run in (cpp.c_where, torch.compile(lambda t: cpp.c_where(t), backend="aot_eager", fullgraph=True)):
        row = run(x).to_local()[0].tolist()
        assert row == [float(dist.get_rank()), float(dist.get_world_size()), 8.0, 0.0], row
        row = run(spread(numbers(8, 4), mesh, [R] * mesh.ndim)).to_local()[0].tolist()
        assert row == [float(dist.get_rank()), float(dist.get_world_size()), 8.0, -1.0], row
    assert cpp.c_where(numbers(8, 4))[0].tolist() == [0.0, 1.0, 8.0, -1.0]


@case(dims=(1,))
def cpp_random(mesh):
    cpp = sharded_cpp.load()
    full = cpp.c_noise(spread(numbers(8, 4), mesh, [S(0), *[R] * (mesh.ndim - 1)]), seed=5).full_tensor()
    parts = full.chunk(mesh.size(0))
    assert not any(torch.equal(parts[0], other) for other in parts[1:])
    everyone = [torch.empty_like(full) for _ in range(dist.get_world_size())]
    dist.all_gather(everyone, full)
    assert all(torch.equal(full, other) for other in everyone)
