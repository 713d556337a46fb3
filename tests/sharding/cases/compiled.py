"""Compiled calls on DTensors."""

import sharded_ops as ops
import torch
from torch.distributed.tensor import Replicate

from cases.tools import R, S, case, close, is_slow, numbers, spread


@case
def compiled(mesh):
    def step(x, w):
        return ops.relu(ops.matmul(x, w)).sum()

    x, w = numbers(8, 4), numbers(4, 8)
    both = [(x.clone().requires_grad_(), w.clone().requires_grad_())]
    both.append(
        tuple(
            spread(t, mesh, [p, *[R] * (mesh.ndim - 1)]).requires_grad_()
            for t, p in zip((x, w), (S(0), R), strict=True)
        )
    )
    step(*both[0]).backward()
    loss = torch.compile(step, backend="aot_eager", fullgraph=True)(*both[1])
    loss.backward()
    close(loss.detach(), step(x, w))
    for whole, part in zip(*both, strict=True):
        close(part.grad, whole.grad)


@case(dims=(1,), more=(1,))
def compiled_where_parts_of_some_sizes_are_refused(mesh):
    """A plan that was made for one size may not serve another, also on a rank whose own part is empty in both."""
    sizes = {None: ((9, 16, 4), (7, 6, 3), (9, 9, 3), (7, 6, 3), (4, 18, 6)), True: ((7, 6, 3), (9, 9, 3), (5, 12, 3))}
    if mesh.size() == 2:
        sizes = {None: sizes[None][:3]}  # no part is empty here: four ranks are the test
    elif not is_slow():
        sizes = {
            None: ((7, 6, 3), (9, 9, 3), (7, 6, 3))
        }  # the parts of three ranks are whole blocks in the second only
    for dynamic, calls in sizes.items():
        torch._dynamo.reset()
        fast = torch.compile(lambda x, block: ops.blocks(x, block=block), backend="aot_eager", dynamic=dynamic)
        for rows, columns, block in calls:
            whole = numbers(rows, columns)
            weights = numbers(rows, columns)
            expected = whole.clone().requires_grad_()
            (ops.blocks(expected, block=block) * weights).sum().backward()
            part = spread(whole, mesh, [S(1)]).requires_grad_()
            found = fast(part, block)
            close(found.detach(), ops.blocks(whole, block=block), (dynamic, rows, columns, block))
            (found * spread(weights, mesh, [Replicate()])).sum().backward()
            close(part.grad, expected.grad, (dynamic, rows, columns, block))


@case(dims=(1,), more=(1,))
def compiled_after_eager_with_other_outer_sizes(mesh):
    for dynamic in (None, False, True) if is_slow() else (None,):
        torch._dynamo.reset()
        fast = torch.compile(lambda x: ops.relu(x), backend="aot_eager", dynamic=dynamic)
        for rows in (8, 7, 6, 5, 8):  # some ranks see the same local size
            whole = numbers(rows, 3)
            part = spread(whole, mesh, [S(0)])
            close(ops.relu(part), whole.relu(), (dynamic, rows))
            found = fast(part)
            assert found.shape == whole.shape, (dynamic, rows, found.shape)
            close(found, whole.relu(), (dynamic, rows))


@case(dims=(1,))
def random_ops_compile(mesh):
    part = spread(numbers(8, 4), mesh, [S(0)])
    torch.manual_seed(3)
    eager = ops.noise(part).full_tensor()
    fast = torch.compile(lambda x: ops.noise(x), backend="aot_eager", fullgraph=True)
    torch.manual_seed(3)
    first, second = fast(part).full_tensor(), fast(part).full_tensor()
    assert torch.equal(first, eager) and not torch.equal(first, second)
    assert first.unique().numel() == first.numel()
