"""Every way to call a job runs through one gate: the same results, nothing left behind, no wait without end."""

import threading

import numpy as np
import pytest
import torch

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError, OpValueError

N = 1000
PLACE = tp.Numpy.Placeholder((N,))


def filled(value):
    return np.full(N, value, np.float32)


def in_threads(*functions):
    """Run the functions, each in a thread; raise the first error of any."""
    errors = []

    def guarded(function):
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(function,), daemon=True) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]


@pytest.fixture
def job(leaky_relu):
    """A job of one kernel, which works on the caller's arrays where it can."""

    @oneop.global_function()
    def scaled(x: PLACE) -> tp.Numpy:
        return leaky_relu(x, alpha=0.5)

    return scaled


WAYS = {
    "keyword": lambda job, x: job(x=x),
    "strided": lambda job, x: job(np.repeat(x, 2)[::2]),
    "reversed": lambda job, x: job(x[::-1].copy()[::-1]),
    "position": lambda job, x: job(x),
    "readonly": lambda job, x: job(np.frombuffer(x.tobytes(), np.float32)),
    "unaligned": lambda job, x: job(np.frombuffer(b"abcd" + x.tobytes(), np.float32, offset=4)),
    "inference": lambda job, x: torch.inference_mode()(lambda: job(x=x))(),
}


@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", WAYS)
def test_no_call_sees_the_arrays_of_another(job, first, second):
    kept = []
    for value in (1, 2, 3):
        for way in (first, second):
            x = filled(-value)
            kept.append((value, WAYS[way](job, x)))
            x[:] = 99
            del x
    for value, result in kept:
        np.testing.assert_array_equal(result, filled(-value / 2))


def test_profile_touches_nothing_of_the_callers(job):
    x = filled(-2)
    result = job(x)
    assert job.profile(3).seconds > 0
    np.testing.assert_array_equal(result, filled(-1))
    np.testing.assert_array_equal(x, filled(-2))


def test_profile_leaves_variables_and_counts_alone(tmp_path):
    @oneop.global_function(type="train")
    def train(x: PLACE) -> tp.Numpy:
        loss = (oneop.get_variable("w", (N,), initializer=oneop.ones_initializer()) * x).sum()
        oneop.optimizer.Adam(0.1).minimize(loss)
        return loss

    train(filled(1))
    before = snapshot()
    train.profile(5)
    assert_same(snapshot(), before)


def snapshot():
    from oneop.jobs.training.session import current_session

    return {name: value.clone() for name, value in current_session().tensors()}


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def test_positions_and_keywords_in_threads(job):
    def call(way, value):
        def run():
            x = filled(-value)
            for _ in range(300):
                assert (WAYS[way](job, x) == -value / 2).all()

        return run

    in_threads(*(call(way, value) for value, way in enumerate(WAYS)))


# --- failing runs -----------------------------------------------------------------------------------------------------


@pytest.fixture
def picky():
    """An op that raises for negative input, else doubles it."""
    op = oneop.define("job_picky(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu")
    def kernel(x, out):
        if x[0] < 0:
            raise ValueError("negative")
        np.multiply(x, 2, out=out)

    @op.register_grad
    def gradient(ctx, dy):
        return dy * 2

    return op


def test_a_run_that_fails_leaves_nothing_behind(picky, leaky_relu):
    @oneop.global_function()
    def job(x: PLACE) -> tp.Numpy:
        return leaky_relu(picky(leaky_relu(x, alpha=0.5)), alpha=0.5)

    result = job(filled(3))
    for call in (lambda: job(filled(-1)), lambda: job(x=filled(-1))):
        with pytest.raises(OpValueError, match="negative"):
            call()
        np.testing.assert_array_equal(job(x=filled(4)), filled(8))
        np.testing.assert_array_equal(job(filled(5)), filled(10))
    np.testing.assert_array_equal(result, filled(6))


@pytest.mark.parametrize("backend", ["planned", "eager"])
def test_a_step_that_fails_does_not_count(picky, backend):
    @oneop.global_function(type="train", backend=backend)
    def train(x: PLACE) -> tp.Numpy:
        w = oneop.get_variable("w", (N,), initializer=oneop.ones_initializer())
        loss = picky(w * x).sum()
        oneop.optimizer.Adam(oneop.optimizer.CosineScheduler(0.1, 10)).minimize(loss)
        return loss

    train(filled(1))
    before = snapshot()
    with pytest.raises(Exception, match="negative") as caught:
        train(filled(-1))
    note = 'job "train": the step failed and does not count; it changed no variable'
    assert caught.value.__notes__[-1] == note
    assert_same(snapshot(), before)
    train(filled(1))
    assert int(snapshot()["counter/train/steps"]) == 2


@pytest.mark.parametrize("backend", ["planned", "eager"])
def test_a_failed_step_says_what_it_changed(picky, backend):
    @oneop.global_function(type="train", backend=backend)
    def train(x: PLACE) -> tp.Numpy:
        oneop.get_variable("seen", (N,), trainable=False).add_(x)
        loss = picky(oneop.get_variable("w", (N,), initializer=oneop.ones_initializer()) * x).sum()
        oneop.optimizer.SGD(0.1).minimize(loss)
        return loss

    train(filled(1))
    with pytest.raises(Exception, match="negative") as caught:
        train(filled(-1))
    assert caught.value.__notes__[-1].endswith("does not count; it had changed variable/seen")


# --- calls from inside ------------------------------------------------------------------------------------------------


def calling_op(name, act):
    """An op on arrays whose kernel calls `act` and copies."""
    op = oneop.define(f"{name}(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu")
    def kernel(x, out):
        act(x)
        out[...] = x

    return op


@pytest.mark.parametrize("by_keyword", [False, True])
def test_a_kernel_cannot_call_its_own_job(by_keyword):
    calls = []

    def again(x):
        if x[0] == 7:
            calls.append(job(x=filled(1)) if by_keyword else job(filled(1)))

    op = calling_op("job_recursive", again)

    @oneop.global_function()
    def job(x: PLACE) -> tp.Numpy:
        return op(x) + 1

    job(filled(1))
    with pytest.raises(ArgumentError) as caught:
        job(filled(7))
    assert str(caught.value) == (
        'job "job" is called again from inside its own run (by a kernel or a signal handler)\n'
        "  a job has one set of buffers: call the function itself there, or make a second job of it"
    )
    np.testing.assert_array_equal(job(filled(1)), filled(2))


def test_a_kernel_may_call_another_job_that_is_compiled():
    @oneop.global_function()
    def inner(x: PLACE) -> tp.Numpy:
        return x * 10

    seen = []
    op = calling_op("job_nested", lambda x: seen.append(inner(filled(3))[0]))

    @oneop.global_function()
    def outer(x: PLACE) -> tp.Numpy:
        return op(x) + 1

    with pytest.raises(ArgumentError, match='tracing job "inner" is not possible inside a run of a job'):
        outer(filled(1))
    inner.compile()
    np.testing.assert_array_equal(outer(filled(1)), filled(2))
    assert seen == [30]


def test_a_watch_callback_may_call_its_own_job():
    seen = []

    def look(value):
        seen.append(float(value[0]))
        if value[0] == 2:
            np.testing.assert_array_equal(watched(filled(100)), filled(201))

    @oneop.global_function()
    def watched(x: PLACE) -> tp.Numpy:
        y = x * 2
        oneop.watch(y, look)
        return y + 1

    np.testing.assert_array_equal(watched(filled(1)), filled(3))
    assert seen == [2, 200]


def test_jobs_that_wait_for_each_other_are_told():
    """Two threads, two jobs whose kernels call the other job: without a word this would hang."""
    inside = threading.Barrier(2)
    jobs = {}

    def call_other(name):
        def act(x):
            if x[0] == 7:
                inside.wait(30)
                jobs[name](filled(2))

        return act

    ops = {name: calling_op(f"job_circle_{name}", call_other(other)) for name, other in (("a", "b"), ("b", "a"))}

    def job_of(name, op):
        @oneop.global_function(name=name)
        def job(x: PLACE) -> tp.Numpy:
            return op(x) * 1

        return job

    for name, op in ops.items():
        jobs[name] = job_of(name, op)
        jobs[name](filled(1))
    refused = []

    def run(name):
        def call():
            try:
                jobs[name](filled(7))
            except ArgumentError as error:
                refused.append(str(error))

        return call

    in_threads(run("a"), run("b"))
    assert len(refused) == 1 and "this call would wait forever" in refused[0]
    for job in jobs.values():
        np.testing.assert_array_equal(job(filled(2)), filled(2))


def test_a_predict_kernel_cannot_train():
    @oneop.global_function(type="train")
    def train(x: PLACE) -> tp.Numpy:
        loss = (oneop.get_variable("w", (N,)) * x).sum()
        oneop.optimizer.SGD(0.1).minimize(loss)
        return loss

    train(filled(1))
    op = calling_op("job_trains", lambda x: train(filled(1)))

    @oneop.global_function()
    def predict(x: PLACE) -> tp.Numpy:
        return op(x) + oneop.get_variable("w", (N,))

    with pytest.raises(ArgumentError, match="the variables cannot be changed here"):
        predict(filled(1))


def test_nobody_is_kept_out(job):
    """Threads in tight loops, a reader and a writer of variables among them, all get their turn."""

    @oneop.global_function(type="train")
    def train(x: PLACE) -> tp.Numpy:
        loss = (oneop.get_variable("w", (N,)) * x).sum()
        oneop.optimizer.SGD(0.1).minimize(loss)
        return loss

    @oneop.global_function()
    def predict(x: PLACE) -> tp.Numpy:
        return x + oneop.get_variable("w", (N,))

    train(filled(1)), predict(filled(1))
    done = {name: threading.Event() for name in ("train", "predict", "keyword")}

    def loop(name, call):
        def run():
            count = 0
            while not all(event.is_set() for event in done.values()):
                call()
                count += 1
                if count == 30:
                    done[name].set()

        return run

    in_threads(
        loop("train", lambda: train(filled(1))),
        loop("predict", lambda: predict(filled(1))),
        loop("keyword", lambda: predict(x=filled(1))),
    )


def test_arrays_that_torch_cannot_share_are_copied():
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((3,), dtype=oneop.float32)) -> tp.Numpy:
        return x + 1

    record = np.zeros(3, dtype=[("a", "i1"), ("x", "f4")])
    record["x"] = [1, 2, 3]
    for array in (record["x"], np.array([1, 2, 3], ">f4"), np.array([3, 2, 1], "f4")[::-1]):
        assert job(array).tolist() == [2, 3, 4]


def test_ops_that_return_lists():
    x = torch.arange(4.0).reshape(2, 2)
    for function in (
        lambda x: torch.unbind_copy(x),
        lambda x: torch.split_with_sizes_copy(x, [1, 1]),
        lambda x: torch._foreach_add([x, x * 2], 1),
    ):
        job = oneop.compile_job(function, [x])
        for found, want in zip(job(x), function(x), strict=True):
            assert torch.equal(found, want)
