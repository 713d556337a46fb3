"""Every placement: reductions, strided splits, grids, the words of OneFlow."""

import sharded_ops as ops
import torch
from torch.distributed.tensor import DTensor, Partial
from torch.distributed.tensor.debug import CommDebugMode

import oneop
from cases.tools import P, R, S, case, close, numbers, refused, spread


@case(dims=(2,))
def a_grid(mesh):
    x, w = spread(numbers(8, 4), mesh, [S(0), R]), spread(numbers(4, 8), mesh, [R, S(1)])
    with CommDebugMode() as comm:
        y = ops.matmul(x, w)
    assert y.placements == (S(0), S(1)) and comm.get_total_counts() == 0


@case(dims=(1,))
def words_of_oneflow(mesh):
    placement = oneop.placement("cpu", ranks=list(range(mesh.size())))
    x = oneop.global_tensor(numbers(8, 4), placement=placement, sbp=oneop.sbp.split(0))
    assert isinstance(x, DTensor) and x.placements == (S(0),) and x.shape == (8, 4)
    y = ops.relu(x).to_global(sbp=oneop.sbp.broadcast)
    assert y.placements == (R,)
    z = numbers(2, 3).to_global(placement=placement, sbp=oneop.sbp.partial_sum)
    assert z.placements == (P,) and z.shape == (2, 3)
    assert torch.equal(oneop.to_local(x), x.to_local())


@case(dims=(1,))
def masked_partial_sums_are_summed_first(mesh):
    """What torch's embedding makes of a weight that is split by rows: no signature has a word for it."""
    weight, ids = numbers(11, 4), torch.tensor([0, 7, 3, 9, 2, 5, 10, 4])
    part, places = spread(weight, mesh, [S(0)]).requires_grad_(), spread(ids, mesh, [R])
    embed = torch.nn.functional.embedding
    torch._dynamo.reset()  # compiled first: torch cannot trace an embedding like one that ran before
    fast = torch.compile(lambda ids, weight: ops.relu(embed(ids, weight)), backend="aot_eager", fullgraph=True)
    close(fast(places, part), weight[ids].relu())
    rows = embed(places, part)
    assert type(rows.placements[0]).__name__ == "_MaskPartial", rows.placements
    found = oneop.sharding.explain(ops.relu, rows)
    assert len(found.moves) == 1 and found.moves[0].how in ("reduce-scatter", "all-reduce"), found
    for run, plain in ((ops.relu, torch.relu), (ops.scale, lambda x: x * 2)):
        close(run(embed(places, part)), plain(weight[ids]))
    close(oneop.sharding.pin(ops.relu, "S(0) -> S(0)")(embed(places, part)), weight[ids].relu())
    text = refused(lambda: oneop.sharding.pin(ops.scale, "P -> P")(embed(places, part)))
    assert 'op "d_scale", input "x": DTensor makes no P of a tensor that lies MaskP' in text, text
    part.grad = None
    ops.relu(embed(places, part)).sum().backward()
    whole = weight.clone().requires_grad_()
    whole[ids].relu().sum().backward()
    close(part.grad, whole.grad)
    text = refused(lambda: oneop.sbp.of_placements(rows.placements))
    assert "is not a split, a broadcast or a partial sum\n  redistribute the tensor first" in text, text


@case(dims=(1,))
def global_tensors_of_every_reduction(mesh):
    place = oneop.placement("cpu", list(range(mesh.size())))
    for whole in (numbers(4, 3), -numbers(4, 3).abs() - 1, torch.arange(-3, 9).reshape(4, 3)):
        for word in ["P", "P(max)", "P(min)", "B", "S(0)"] + ["P(avg)"] * whole.is_floating_point():
            close(oneop.global_tensor(whole, placement=place, sbp=word), whole, word)
            close(oneop.global_tensor(whole, placement=place, sbp="B").to_global(sbp=word), whole, word)


@case(dims=(1,))
def means_of_integers_are_refused(mesh):
    place = oneop.placement("cpu", list(range(mesh.size())))
    for whole in (torch.arange(8), torch.tensor([True, False])):
        text = refused(lambda whole=whole: oneop.global_tensor(whole, placement=place, sbp="P(avg)"))
        kind = str(whole.dtype).removeprefix("torch.")
        assert f"sbp: a tensor of {kind} cannot lie P(avg)\n  a mean of integers is no integer" in text, text
        lying = DTensor.from_local(whole, mesh, [Partial("avg")], run_check=False)
        for run in (ops.relu, lambda x: oneop.sharding.explain(ops.relu, x), oneop.sharding.pin(ops.relu, "B -> B")):
            text = refused(lambda run=run, lying=lying: run(lying))
            assert f'op "d_relu", input "x": it lies P(avg) and is {kind}\n  a mean of integers' in text, text


@case(dims=(2,))
def strided_splits(mesh):
    from torch.distributed.tensor.placement_types import _StridedShard

    whole = torch.arange(32.0, dtype=torch.float64).reshape(8, 4)
    layout = (_StridedShard(0, split_factor=mesh.size(1)), S(0))

    def strided(tensor):  # the second dimension cuts first, the first one cuts what that left
        rows = tensor.chunk(mesh.size(1))[mesh.get_local_rank(1)].chunk(mesh.size(0))[mesh.get_local_rank(0)]
        return DTensor.from_local(rows.clone(), mesh, layout, shape=tensor.shape, stride=tensor.stride())

    x = strided(whole)
    with CommDebugMode() as comm:
        y = ops.relu(x)
        ops.momentum(x, strided(whole * 2), strided(whole * 3), lr=0.1)
    assert comm.get_total_counts() == 0 and y.placements == layout
    assert torch.equal(y.to_local(), strided(whole).to_local().relu())
    assert torch.allclose(x.to_local(), (whole_after := strided(whole - 0.1 * (1.8 * whole + 3 * whole))).to_local())
    assert whole_after.placements == x.placements
