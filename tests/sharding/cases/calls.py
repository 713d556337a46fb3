"""Calls of ops on DTensors: every kind of argument, uneven parts, lists, changes in place."""

import functools

import sharded_ops as ops
import torch
from torch.distributed.tensor.debug import CommDebugMode

from cases.tools import P, R, S, case, close, numbers, spread, train, ways


@case(more=(2,))
def elementwise(mesh):
    train(mesh, ops.relu, [numbers(8, 6)], ways(mesh, [S(0), S(1), R, P]))
    train(mesh, functools.partial(ops.scale, by=3.0), [numbers(8, 6)], ways(mesh, [S(0), S(1), R, P]))


@case(more=(2,))
def variadic(mesh):
    def run(*xs):
        return ops.add_n(list(xs), by=2.0)

    mixed = ways(mesh, [S(0), P, S(1), S(0)], [S(0), P, R, P], [S(0), P, S(1), R])
    train(mesh, run, [numbers(8, 4) for _ in range(3)], mixed)


@case(more=(2,))
def matmul_like(mesh):
    lists = [S(0), R, S(1), S(0), P], [R, S(1), S(0), S(0), R]
    train(mesh, ops.matmul, [numbers(8, 4), numbers(4, 8)], ways(mesh, *lists))


@case(more=(2,))
def softmax_like(mesh):
    for dim in (0, 1):
        train(mesh, functools.partial(ops.softmax, dim=dim), [numbers(8, 4)], ways(mesh, [S(0), S(1), R, P]))


@case(more=(2,))
def embedding_like(mesh):
    ids = torch.tensor([5, 0, 3, 3, 1, 7, 2, 2])
    lists = [R, S(1), R, S(0), P], [R, R, S(0), S(0), R]
    train(mesh, lambda weight, ids: ops.embedding(weight, ids), [numbers(8, 4), ids], ways(mesh, *lists))


@case(more=(2,))
def attributes_that_change_the_shape(mesh):
    for times in (2, 3):
        train(mesh, functools.partial(ops.repeat, times=times), [numbers(4, 8)], ways(mesh, [S(1), R, S(0), P]))
    train(mesh, functools.partial(ops.expand, shape=[8, 4]), [numbers(8, 1)], ways(mesh, [S(0), R, P]))


@case(dims=(1,))
def a_shape_attribute_is_that_of_the_part(mesh):
    whole = numbers(8, 1)
    part = spread(whole, mesh, [S(0)])
    with CommDebugMode() as comm:
        y = ops.expand(part, shape=[8, 5])
    assert comm.get_total_counts() == 0 and y.placements == (S(0),) and y.shape == (8, 5)
    close(y, whole.expand(8, 5))
    close(ops.expand(part, shape=[8, 3]), whole.expand(8, 3))


@case(more=(2,))
def optional_inputs(mesh):
    train(mesh, ops.affine, [numbers(8, 4)], ways(mesh, [S(0), S(1), R, P]))
    lists = [S(0), S(1), R, P, S(0)], [R, S(0), R, P, P]
    train(mesh, ops.affine, [numbers(8, 4), numbers(4)], ways(mesh, *lists))


@case
def uneven_parts(mesh):
    train(mesh, ops.relu, [numbers(7, 5)], ways(mesh, [S(0), S(1)]))
    train(mesh, lambda *xs: ops.add_n(list(xs)), [numbers(7, 5)] * 2, ways(mesh, [S(0), S(1)], [S(0), R]))
    train(mesh, ops.matmul, [numbers(7, 5), numbers(5, 6)], ways(mesh, [S(0), S(1)], [R, S(0)]))
    train(mesh, functools.partial(ops.expand, shape=[7, 5]), [numbers(7, 1)], ways(mesh, [S(0)]))


@case(dims=(1,))
def fewer_elements_than_devices(mesh):
    whole = numbers(1, 5)
    part = spread(whole, mesh, [S(0)])
    with CommDebugMode() as comm:
        y = ops.relu(part)
    assert comm.get_total_counts() == 0 and y.placements == (S(0),)
    close(y, whole.relu())


@case(dims=(1,))
def what_cannot_be_cut_unevenly_is_gathered(mesh):
    even, odd = numbers(4 * mesh.size(), 2), numbers(4 * mesh.size() + 1, 2)
    for whole, placement in [(even, S(0)), (odd, R)]:
        y = ops.twice(spread(whole, mesh, [S(0)]))
        assert y.placements == (placement,), y.placements
        close(y, whole.repeat_interleave(2, 0))


@case(more=(2,))
def several_outputs(mesh):
    whole = numbers(8, 4)
    for (placements,) in ways(mesh, [S(0), S(1), R, P]):
        low, high = ops.min_max(spread(whole, mesh, placements), dim=1)
        close(low, whole.amin(1))
        close(high, whole.amax(1))
        if set(placements) == {S(0)}:
            assert low.placements == high.placements == (S(0),) * mesh.ndim


@case(dims=(1,))
def in_place(mesh):
    x, y = numbers(8, 4), numbers(8, 4)
    for own, other in [(S(0), S(0)), (S(0), R), (R, S(0)), (S(1), P), (P, P), (P, R)]:
        part = spread(x, mesh, [own])
        ops.add_(part, spread(y, mesh, [other]))
        assert part.placements == (own,)
        close(part, x + y, (own, other))
    for rows in (0, 1, mesh.size() - 1):  # some devices have no part, and the other input must lie so too
        x_, y_ = numbers(rows, 4), numbers(rows, 4)
        for other in (S(0), R, P, S(1)):
            part = spread(x_, mesh, [S(0)])
            ops.add_(part, spread(y_, mesh, [other]))
            assert part.placements == (S(0),)
            close(part, x_ + y_, (rows, other))
    w, m = spread(x, mesh, [S(0)]), spread(y, mesh, [S(0)])
    ops.momentum(w, m, spread(x, mesh, [P]), lr=0.1)
    close(m, y * 0.9 + x)
    close(w, x - 0.1 * (y * 0.9 + x))
    try:  # the second one would have to move, and the change would be lost
        ops.momentum(spread(x, mesh, [R]), spread(y, mesh, [S(0)]), spread(x, mesh, [R]), lr=0.1)
        raise AssertionError("not refused")
    except RuntimeError as error:
        assert 'op "d_momentum": no SBP signature fits w: B, m: S(0), g: B' in str(error), error
        assert "it changes w, m in place, which must stay where it is: redistribute the others" in str(error)


@case(dims=(1,))
def plain_tensors_beside_dtensors_are_refused(mesh):
    part = spread(numbers(8, 4), mesh, [S(0)])
    try:
        ops.add_n([part, numbers(8, 4)])
        raise AssertionError("not refused")
    except RuntimeError as error:
        assert "mixed torch.Tensor and DTensor" in str(error)
