"""Which signature a call takes: costs, keys of plans, pins, proofs of what inference implies."""

import threading

import sharded_ops as ops
import torch
from torch.distributed.tensor.debug import CommDebugMode

import oneop
from cases.tools import P, R, S, case, close, numbers, refused, spread


@case(dims=(1,))
def attributes_that_change_between_calls(mesh):
    whole = numbers(8, 8)
    part = spread(whole, mesh, [S(0)])
    for op, (plain, turned), is_turned in ops.turn.values():
        for how in (plain, turned, plain, turned):
            y = op(part, how=how)
            close(y, whole.t() if is_turned(how) else whole, how)
            assert y.placements == (S(1),) if is_turned(how) else (S(0),)
    rectangle = spread(numbers(8, 4), mesh, [S(0)])
    for op, (plain, turned), _ in ops.turn.values():
        assert op(rectangle, how=plain).shape == (8, 4) and op(rectangle, how=turned).shape == (4, 8)


@case(dims=(1,))
def an_attribute_that_nobody_reads_costs_no_miss(mesh):
    part = spread(numbers(8, 4), mesh, [S(0)])
    ops.scale(part, by=1.0)
    ops.scale(part, by=1.5)
    before = torch._C._get_DTensor_sharding_propagator_cache_stats()[1]
    for i in range(5):
        close(ops.scale(part, by=2.0 + i), part.full_tensor() * (2.0 + i))
    misses = torch._C._get_DTensor_sharding_propagator_cache_stats()[1] - before
    assert misses <= 1, misses  # full_tensor and the product are torch's


@case(dims=(1,))
def cheap_redistributions_are_chosen(mesh):
    def comms(run):
        with CommDebugMode() as mode:
            y = run()
        return y.placements[0], {str(op).split(".")[-1] for op, n in mode.get_comm_counts().items() if n}

    x = {str(p): spread(numbers(8, 8), mesh, [p]) for p in (S(0), S(1), R, P)}
    split, broadcast, partial = x[str(S(0))], x[str(R)], x[str(P)]
    assert comms(lambda: ops.add_n([split, broadcast])) == (S(0), set())  # a part of what is there
    assert comms(lambda: ops.add_n([partial, partial])) == (P, set())
    assert comms(lambda: ops.add_n([partial, broadcast])) == (P, set())
    assert comms(lambda: ops.add_n([split, partial])) == (S(0), {"reduce_scatter_tensor"})
    assert comms(lambda: ops.matmul(split, broadcast)) == (S(0), set())
    assert comms(lambda: ops.matmul(x[str(S(1))], split)) == (P, set())


@case(dims=(1,))
def redefinition_is_noticed(mesh):
    part = spread(numbers(8, 4), mesh, [S(0)])
    op = ops.define("d_again(Tensor x) -> Tensor y", torch.neg, infer="elementwise", differentiable=False)
    seen = []
    for signature, placement in [("S(0) -> S(0)", S(0)), ("S(1) -> S(1)", None), ("S(0) -> S(0)", S(0))] * 2:
        op.register_sbp(signature)
        threads = [threading.Thread(target=lambda: seen.append(op(part).placements)) for _ in range(1)]
        for act in [lambda: seen.append(op(part).placements), threads[0].start, threads[0].join]:
            act()
        assert (seen[-1] == (S(0),)) == (placement == S(0)) and seen[-1] == seen[-2], (signature, seen)


@case(dims=(1,))
def what_is_implied_is_proved_for_each_value_of_an_attribute(mesh):
    prefix = oneop.define("d_maybe_prefix(Tensor x, *, bool sums=False) -> Tensor y", infer="elementwise")
    prefix.register_kernel("cpu")(lambda x, sums: x.cumsum(0) if sums else x * 2)
    part = spread(numbers(6, 2), mesh, [S(0)])
    prefix(part)
    text = refused(lambda: prefix(part, sums=True))
    assert 'infer="elementwise" implies' in text, text
    prefix(part, sums=False)


@case(dims=(1,))
def signatures_are_pinned_and_explained(mesh):
    a, b = spread(numbers(8, 4), mesh, [S(0)]), spread(numbers(4, 8), mesh, [S(0)])
    found = oneop.sharding.explain(ops.matmul, a, b)
    assert found.bytes == 4 * 8 * 8 * (mesh.size() - 1) // mesh.size() and "no declared signature" in found.why
    y = oneop.sharding.pin(ops.matmul, "S(1), S(0) -> P")(a, b)
    assert y.placements == (P,)
    close(y, a.full_tensor() @ b.full_tensor())
    try:
        oneop.sharding.pin(ops.matmul, "S(1), S(0) -> B")(a, b)
        raise AssertionError("not refused")
    except AssertionError as error:
        assert "it does not run under S(1), S(0) -> B" in str(error), error


@case(dims=(1,))
def what_inference_only_implies_is_proved_first(mesh):
    mixing = ops.define(
        "d_mixing(Tensor x) -> Tensor y", lambda x: x.cumsum(0), infer="elementwise", differentiable=False
    )
    part = spread(numbers(8, 4), mesh, [S(0)])
    for run in (mixing, torch.compile(lambda x: mixing(x), backend="aot_eager")):
        try:
            run(part)
            raise AssertionError("not refused")
        except RuntimeError as error:
            assert 'op "d_mixing": infer="elementwise" implies' in str(error), error
    mixing.register_sbp("S(1) -> S(1)")
    close(mixing(part), part.full_tensor().cumsum(0))
