"""Jobs on several ranks: alike on all of them, or refused on all of them."""

import sharded_ops as ops
import torch
import torch.distributed as dist

import oneop
from cases.tools import case, close, refused


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
