"""Gradients and random numbers on DTensors."""

import sharded_cpp
import sharded_ops as ops
import torch
import torch.distributed as dist

import oneop
from cases.tools import P, R, S, case, close, numbers, refused, spread, train, ways


@case(dims=(1,))
def gradients_of_split_inputs_are_split(mesh):
    x = spread(numbers(8, 4), mesh, [S(0)]).requires_grad_()
    ops.scale(x).sum().backward()  # torch's gradient of the sum is whole
    assert x.grad.placements == (S(0),) and x.grad.to_local().shape[0] == 8 // mesh.size()
    w = spread(numbers(4, 4), mesh, [R]).requires_grad_()
    ops.matmul(x.detach(), w).sum().backward()
    assert w.grad.placements == (P,)


@case
def random_ops(mesh):
    torch.manual_seed(1)
    whole = numbers(8, 4)
    for (placements,) in ways(mesh, [S(0), R]):
        y = ops.noise(spread(whole, mesh, placements))
        full = y.full_tensor()
        everyone = [torch.empty_like(full) for _ in range(dist.get_world_size())]
        dist.all_gather(everyone, full)
        assert all(torch.equal(full, other) for other in everyone)  # the same tensor wherever one looks
        assert full.unique().numel() == full.numel()  # and no two shards alike
        after = torch.rand(3)
        seen = [torch.empty_like(after) for _ in range(dist.get_world_size())]
        dist.all_gather(seen, after)
        assert all(torch.equal(after, other) for other in seen)  # generators stay alike


@case(dims=(1,))
def random_compositions_draw_alike_with_and_without_gradients(mesh):
    noisy = oneop.define("d_noisy(Tensor x) -> Tensor y", infer="elementwise", random=True)
    noisy.register_kernel(language="torch")(lambda x: x * torch.rand_like(x))
    part = spread(torch.ones(8, 3), mesh, [S(0)])
    found = []
    for needs in (False, True):
        torch.manual_seed(5)
        found.append(noisy(part.detach().clone().requires_grad_(needs)).full_tensor().detach())
    assert torch.equal(found[0], found[1]) and found[0].unique().numel() == found[0].numel(), found
    compiled = torch.compile(lambda x: noisy(x), backend="aot_eager")
    text = refused(lambda: compiled(part.detach().clone().requires_grad_()))
    assert "it draws random numbers and torch differentiates it" in text, text


@case(more=(2,))
def gradient_of_torch_ops(mesh):
    cpp = sharded_cpp.load()
    tensors = [numbers(8, 6), numbers(8, 6)]
    train(mesh, cpp.c_weighted, tensors, ways(mesh, [S(0), S(1), R, S(0)], [S(0), S(1), S(0), R]))


@case(dims=(1,))
def a_list_of_outputs(mesh):
    whole = numbers(8, 6)
    part = spread(whole, mesh, [S(0)])
    for count in (2, 3):
        outputs = ops.columns(part, count=count, output_counts=[count])
        assert len(outputs) == count and all(output.placements == (S(0),) for output in outputs)
        for found, expected in zip(outputs, whole.chunk(count, 1), strict=True):
            close(found, expected)


@case(dims=(1,))
def without_autograd(mesh):
    whole = numbers(8, 4)
    with torch.inference_mode():
        close(ops.relu(spread(whole, mesh, [S(0)])), whole.relu())
    with torch.no_grad():
        close(ops.expand(spread(whole[:, :1], mesh, [S(0)]), shape=[8, 4]), whole[:, :1].expand(8, 4))
