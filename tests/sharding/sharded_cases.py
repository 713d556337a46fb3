"""Calls on DTensors, compared with the same calls on whole tensors. Each case takes a mesh and runs on every rank."""

import functools
import threading

import sharded_cpp
import sharded_ops as ops
import torch
import torch.distributed as dist
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.debug import CommDebugMode

import oneop

S, R, P = Shard, Replicate(), Partial()
CASES = {}


def case(function=None, *, dims=(1, 2)):
    def add(function):
        function.dims = dims
        CASES[function.__name__] = function
        return function

    return add if function is None else add(function)


def fits(function, mesh):
    return mesh.ndim in function.dims


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
    """Yield placements for each of several tensors: one way on a line of devices, each with two others on a grid."""
    columns = list(zip(*lists, strict=True))
    pairs = [
        (columns[i], columns[(i + k) % len(columns)]) for i in range(len(columns)) for k in range(min(3, len(columns)))
    ]
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


@case
def elementwise(mesh):
    train(mesh, ops.relu, [numbers(8, 6)], ways(mesh, [S(0), S(1), R, P]))
    train(mesh, functools.partial(ops.scale, by=3.0), [numbers(8, 6)], ways(mesh, [S(0), S(1), R, P]))


@case
def variadic(mesh):
    def run(*xs):
        return ops.add_n(list(xs), by=2.0)

    mixed = ways(mesh, [S(0), P, S(1), S(0)], [S(0), P, R, P], [S(0), P, S(1), R])
    train(mesh, run, [numbers(8, 4) for _ in range(3)], mixed)


@case
def matmul_like(mesh):
    lists = [S(0), R, S(1), S(0), P], [R, S(1), S(0), S(0), R]
    train(mesh, ops.matmul, [numbers(8, 4), numbers(4, 8)], ways(mesh, *lists))


@case
def softmax_like(mesh):
    for dim in (0, 1):
        train(mesh, functools.partial(ops.softmax, dim=dim), [numbers(8, 4)], ways(mesh, [S(0), S(1), R, P]))


@case
def embedding_like(mesh):
    ids = torch.tensor([5, 0, 3, 3, 1, 7, 2, 2])
    lists = [R, S(1), R, S(0), P], [R, R, S(0), S(0), R]
    train(mesh, lambda weight, ids: ops.embedding(weight, ids), [numbers(8, 4), ids], ways(mesh, *lists))


@case
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


@case
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


@case
def several_outputs(mesh):
    whole = numbers(8, 4)
    for (placements,) in ways(mesh, [S(0), S(1), R, P]):
        low, high = ops.min_max(spread(whole, mesh, placements), dim=1)
        close(low, whole.amin(1))
        close(high, whole.amax(1))
        if set(placements) == {S(0)}:
            assert low.placements == high.placements == (S(0),) * mesh.ndim


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
def in_place(mesh):
    x, y = numbers(8, 4), numbers(8, 4)
    for own, other in [(S(0), S(0)), (S(0), R), (R, S(0)), (S(1), P), (P, P), (P, R)]:
        part = spread(x, mesh, [own])
        ops.add_(part, spread(y, mesh, [other]))
        assert part.placements == (own,)
        close(part, x + y, (own, other))
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
def plain_tensors_beside_dtensors_are_refused(mesh):
    part = spread(numbers(8, 4), mesh, [S(0)])
    try:
        ops.add_n([part, numbers(8, 4)])
        raise AssertionError("not refused")
    except RuntimeError as error:
        assert "mixed torch.Tensor and DTensor" in str(error)


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
def jobs_in_the_consistent_view(mesh):
    import numpy as np

    from oneop import typing as tp

    ids = f"0:0-{mesh.size() - 1}"
    oneop.clear_default_session()

    def job(name, devices):
        @oneop.global_function("train")
        def step(x: tp.Numpy.Placeholder((8, 4))) -> tp.Numpy:
            with oneop.scope.placement("cpu", devices), oneop.scope.namespace(name):
                w = oneop.get_variable("w", (4, 2), initializer=oneop.constant_initializer(0.5))
                y = ops.relu(ops.matmul(x, w))
                oneop.optimizer.SGD(oneop.optimizer.PiecewiseConstantScheduler([], [0.1]), momentum=0.9).minimize(
                    y.mean()
                )
                return y

        return step

    one, many = job("one", "0:0"), job("many", ids)
    for i in range(3):
        x = np.random.default_rng(i).standard_normal((8, 4)).astype(np.float32)
        np.testing.assert_allclose(one(x), many(x), rtol=1e-6, atol=1e-6)
    many_w, one_w = (
        oneop.jobs.training.session.current_session().variables[f"{name}-w"].value for name in ("many", "one")
    )
    close(many_w, one_w)

    @oneop.global_function()
    def wrong(x: tp.Numpy.Placeholder((8, 4))) -> tp.Numpy:
        with oneop.scope.placement("cpu", f"0:0-{mesh.size()}"):
            return ops.relu(x)

    try:
        wrong(x)
        raise AssertionError("not refused")
    except TypeError as error:
        expected = f'job "wrong": its placement has {mesh.size() + 1} devices, and the program has {mesh.size()} ranks'
        assert str(error).splitlines()[0] == expected, error


@case(dims=(1,))
def jobs_must_be_alike_on_all_ranks(mesh):
    import tempfile
    from pathlib import Path

    import numpy as np

    from oneop import typing as tp

    rank, ids = dist.get_rank(), f"0:0-{mesh.size() - 1}"

    def job(name, by, rate, shape=(8, 4)):
        oneop.clear_default_session()

        def step(x: tp.Numpy.Placeholder(shape)) -> tp.Numpy:
            with oneop.scope.placement("cpu", ids):
                w = oneop.get_variable("w", (4, 2), initializer=oneop.constant_initializer(0.5))
                loss = ops.scale(ops.matmul(x, w), by=by).mean()
                oneop.optimizer.SGD(oneop.optimizer.PiecewiseConstantScheduler([], [rate])).minimize(loss)
                return loss

        step.__name__ = name
        return oneop.global_function("train")(step)

    def refusal(run):
        try:
            run()
        except TypeError as error:
            return str(error)
        raise AssertionError("not refused")

    x = np.ones((8, 4), np.float32)
    text = refusal(lambda: job("attr", 2.0 + (rank == 1), 0.1)(x))
    assert 'job "attr": rank 1 runs another program than rank 0: the graphs differ, first at number ' in text, text
    assert 'oneop.d_scale.default, in "by"\n  rank 0: 2.0\n  rank 1: 3.0\n' in text, text
    text = refusal(lambda: job("rate", 2.0, 0.1 + 0.1 * (rank == 1))(x))
    assert "the learning rates differ" in text and "rank 0: [0.1" in text and "rank 1: [0.2" in text, text
    rows = 8 + (rank == 1)
    text = refusal(lambda: job("shape", 2.0, 0.1, (rows, 4))(np.ones((rows, 4), np.float32)))
    assert 'job "shape", step 0: rank 1 makes another call than rank 0' in text, text
    assert 'rank 0: job "shape", step 0, on float32[8, 4]\n  rank 1: job "shape", step 0, on float32[9, 4]' in text, (
        text
    )
    same = job("same", 2.0, 0.1)
    same(x)
    text = refusal(lambda: same(x + (rank == 1)))
    assert 'job "same", step 1: input 0 of rank 1 is not that of rank 0' in text, text
    folder = [tempfile.mkdtemp() if rank == 0 else ""]
    dist.broadcast_object_list(folder)
    own = Path(folder[0], str(rank))
    oneop.checkpoint.save(own)
    assert own.exists() == (rank == 0)


@case(dims=(1,))
def programs_that_differ_are_named(mesh):
    """The first call, variable or value that is another one on a rank."""
    import numpy as np

    from oneop import typing as tp

    is_other, ids = dist.get_rank() == 1, f"0:0-{mesh.size() - 1}"

    def job(name, body, shape=(4, 2), start=0.5):
        oneop.clear_default_session()

        def step(x: tp.Numpy.Placeholder((8, 4))) -> tp.Numpy:
            with oneop.scope.placement("cpu", ids):
                return body(
                    ops.matmul(x, oneop.get_variable("w", shape, initializer=oneop.constant_initializer(start)))
                )

        step.__name__ = name
        return oneop.global_function("predict")(step)

    x = np.ones((8, 4), np.float32)
    text = refused(lambda: job("op", ops.relu if is_other else lambda y: ops.scale(y, by=1.0))(x))
    assert "the graphs differ, first at number" in text, text
    assert "rank 0: oneop.d_scale.default\n  rank 1: oneop.d_relu.default\n" in text, text
    text = refused(lambda: job("more", lambda y: ops.relu(ops.relu(y)) if is_other else ops.relu(y))(x))
    assert "the graphs differ" in text and "rank 1: oneop.d_relu.default" in text, text
    text = refused(lambda: job("wide", ops.relu, shape=(4, 3 if is_other else 2))(x))
    assert "the variables differ, first at number 0, variable/w, in its shape" in text, text
    assert "rank 0: (4, 2)\n  rank 1: (4, 3)" in text, text
    text = refused(lambda: job("start", ops.relu, start=0.25 if is_other else 0.5)(x))
    assert "the values of the variables differ, first at number 0, variable/w, in its values" in text, text
    assert "rank 0: [0.5, 0.5, 0.5, 0.5]" in text and "rank 1: [0.25, " in text, text


@case(dims=(1,))
def a_rank_that_refuses_its_call_tells_the_others(mesh):
    """Nobody waits for the time-out, whatever was refused, and the next right call runs on all ranks."""
    import datetime
    import time

    import numpy as np

    from oneop import typing as tp
    from oneop.jobs import meeting

    is_other, ids = dist.get_rank() == 1, f"0:0-{mesh.size() - 1}"
    start = time.monotonic()
    oneop.clear_default_session()
    x, few, wide = np.ones((8, 4), np.float32), np.ones((7, 4), np.float32), np.ones((8, 4), np.float64)

    def check(text, job, step, own):
        if is_other:
            assert own in text, text
        else:
            assert f'job "{job}", step {step}: rank 1 refused its call, so no rank runs this step' in text, text
            assert f"rank 1: {own}" in text, text

    @oneop.global_function("predict")
    def told(x: tp.Numpy.Placeholder((8, 4))) -> tp.Numpy:
        with oneop.scope.placement("cpu", ids):
            return ops.relu(x)

    own = 'job "told", parameter "x": expected float32 (8, 4), found '
    check(refused(lambda: told(few if is_other else x)), "told", 0, own + "float32 (7, 4)")
    for step in range(2):
        np.testing.assert_array_equal(told(x), x)
        check(refused(lambda: told(wide if is_other else x)), "told", step + 1, own + "float64 (8, 4)")
    check(refused(lambda: told(*[x] * (2 if is_other else 1))), "told", 2, 'job "told" takes 1 arguments')
    text = refused(lambda: told(few))  # all of them
    assert own + "float32 (7, 4)" in text, text

    @oneop.global_function("predict")
    def later(x: tp.Numpy.Placeholder((8, 4))) -> tp.Callback[tp.Numpy]:
        with oneop.scope.placement("cpu", ids):
            return ops.relu(x)

    first = later(x)
    own = 'job "later", parameter "x": expected float32 (8, 4), found float32 (7, 4)'
    check(refused(lambda: later(few if is_other else x).wait()), "later", 1, own)
    np.testing.assert_array_equal(first.wait(), x)
    np.testing.assert_array_equal(later(x).wait(), x)

    @oneop.global_function("predict")
    def untraced(x: tp.Numpy.Placeholder((8, 4))) -> tp.Numpy:
        with oneop.scope.placement("cpu", ids):
            if is_other:
                raise ValueError("there is no such op on this rank")
            return ops.relu(x)

    check(refused(lambda: untraced(x)), "untraced", 0, "there is no such op on this rank")

    class Planned(oneop.Graph):
        def build(self, x):
            with oneop.scope.placement("cpu", ids):
                return ops.relu(x)

    graph = Planned()
    batch, short = torch.ones(8, 4), torch.ones(6, 4)
    close(graph(batch), batch)
    text = refused(lambda: graph(short if is_other else batch))  # which that rank plans again
    assert "rank 1 makes another call than rank 0" in text, text
    assert 'rank 0: job "Planned", step 1, on float32[8, 4]' in text, text
    assert 'rank 1: job "Planned", step 0, on float32[6, 4]' in text, text
    close(graph(batch), batch)
    close(graph(short), short)
    one = graph.job_for(batch)
    own = 'job "Planned", input 0: expected torch.float32 (8, 4), found torch.float32 (6, 4)'
    check(refused(lambda: one(short if is_other else batch)), "Planned", 2, own)
    text = refused(lambda: told(x) if is_other else graph(batch))  # other jobs
    assert 'rank 0: job "Planned", step 2' in text and 'rank 1: job "told", step 2' in text, text
    close(graph(batch), batch)
    assert time.monotonic() - start < 20, "somebody waited"
    before, meeting.PATIENCE = meeting.PATIENCE, datetime.timedelta(milliseconds=200)
    try:
        for _ in range(2):  # the others come later than the rank that refuses is willing to wait
            if not is_other:
                time.sleep(0.6)
            text = refused(lambda: told(few if is_other else x))
            check(text, "told", 2, 'job "told", parameter "x": expected float32 (8, 4), found float32 (7, 4)')
    finally:
        meeting.PATIENCE = before
    np.testing.assert_array_equal(told(x), x)


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


@case(dims=(1,))
def jobs_on_batches_that_do_not_split_evenly(mesh):
    """Parts are cut and padded in other ways on each rank; the programs are the same all the same."""
    import numpy as np

    from oneop import typing as tp

    ids = f"0:0-{mesh.size() - 1}"
    for rows in (mesh.size() + 1, 2 * mesh.size() - 2, 2 * mesh.size() + 1):
        oneop.clear_default_session()

        def job(name, devices, rows=rows):
            @oneop.global_function("train")
            def step(blob: tp.Numpy.Placeholder((rows, 4))) -> tp.Numpy:
                with oneop.scope.placement("cpu", devices), oneop.scope.namespace(name):
                    w = oneop.get_variable("w", (4, 2), initializer=oneop.constant_initializer(0.5))
                    y = ops.relu(ops.matmul(blob, w))
                    oneop.optimizer.SGD(oneop.optimizer.PiecewiseConstantScheduler([], [0.1])).minimize(y.sum())
                    return y

            return step

        one, many = job("one", "0:0"), job("many", ids)
        for i in range(2):
            x = np.random.default_rng(i).standard_normal((rows, 4)).astype(np.float32)
            np.testing.assert_allclose(one(x), many(x), rtol=1e-5, atol=1e-6)


def refused(act):
    """Return the text of the error that an act raises."""
    try:
        act()
    except Exception as error:
        return str(error)
    raise AssertionError("it was not refused")


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
def compiled_where_parts_of_some_sizes_are_refused(mesh):
    """A plan that was made for one size may not serve another, also on a rank whose own part is empty in both."""
    for dynamic in (None, True):
        torch._dynamo.reset()
        fast = torch.compile(lambda x, block: ops.blocks(x, block=block), backend="aot_eager", dynamic=dynamic)
        for rows, columns, block in ((9, 16, 4), (7, 6, 3), (9, 9, 3), (7, 6, 3), (5, 12, 3), (5, 9, 3), (4, 18, 6)):
            whole = numbers(rows, columns)
            weights = numbers(rows, columns)
            expected = whole.clone().requires_grad_()
            (ops.blocks(expected, block=block) * weights).sum().backward()
            part = spread(whole, mesh, [S(1)]).requires_grad_()
            found = fast(part, block)
            close(found.detach(), ops.blocks(whole, block=block), (dynamic, rows, columns, block))
            (found * spread(weights, mesh, [Replicate()])).sum().backward()
            close(part.grad, expected.grad, (dynamic, rows, columns, block))


@case(dims=(1,))
def compiled_after_eager_with_other_outer_sizes(mesh):
    for dynamic in (None, False, True):
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


@case
def gradient_of_torch_ops(mesh):
    cpp = sharded_cpp.load()
    tensors = [numbers(8, 6), numbers(8, 6)]
    train(mesh, cpp.c_weighted, tensors, ways(mesh, [S(0), S(1), R, S(0)], [S(0), S(1), S(0), R]))


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
