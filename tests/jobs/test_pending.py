"""Callback jobs: they own their inputs, waiting never hangs, and errors reach somebody."""

import gc
import threading

import numpy as np
import pytest

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError, OpValueError
from oneop.jobs.pending import _worker

PLACE = tp.Numpy.Placeholder((4,))


def filled(value):
    return np.full(4, value, np.float32)


@pytest.fixture
def gate():
    """An event that lets kernels go on."""
    return threading.Event()


@pytest.fixture
def job(gate):
    op = oneop.define("job_gated(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu")
    def kernel(x, out):
        assert gate.wait(30)
        if x[0] < 0:
            raise ValueError("negative")
        np.multiply(x, 2, out=out)

    @oneop.global_function()
    def gated(x: PLACE) -> tp.Callback[tp.Numpy]:
        return op(x)

    return gated


def test_the_input_is_the_job_s_own(job, gate):
    x = filled(1)
    pending = job(x)
    x[:] = 50
    gate.set()
    np.testing.assert_array_equal(pending.wait(), filled(2))


def test_results_come_in_order(job, gate):
    seen = []
    pendings = [job(filled(value)) for value in range(6)]
    for pending in pendings:
        pending(lambda y: seen.append(float(y[0])))
    gate.set()
    pendings[-1].wait()
    done = threading.Event()
    job(filled(0))(lambda y: done.set())
    assert done.wait(30) and seen == [0, 2, 4, 6, 8, 10]


def test_waiting_in_a_callback(job, gate):
    gate.set()
    done = threading.Event()
    found = []

    def callback(y):
        found.append(job(filled(y[0])).wait()[0])
        job(filled(5))(lambda z: (found.append(z[0]), done.set()))

    job(filled(1))(callback)
    assert done.wait(30) and found == [4, 10]


def test_a_kernel_that_waits_for_its_own_run():
    pendings = []
    op = oneop.define("job_waits_for_itself(Tensor x) -> Tensor y", infer="elementwise")
    called = threading.Event()

    @op.register_kernel("cpu")
    def kernel(x, out):
        assert called.wait(30)
        pendings[0].wait()

    @oneop.global_function()
    def job(x: PLACE) -> tp.Callback[tp.Numpy]:
        return op(x)

    pendings.append(job(filled(1)))
    called.set()
    with pytest.raises(ArgumentError, match='job "job": a run waits for itself, inside one of its kernels'):
        pendings[0].wait()


def test_an_error_reaches_who_waits(job, gate):
    gate.set()
    pending = job(filled(-1))
    for _ in range(2):
        with pytest.raises(OpValueError, match="negative"):
            pending.wait()
    np.testing.assert_array_equal(job(filled(1)).wait(), filled(2))  # and nobody else


def flush():
    """Return when the thread of the jobs has done everything that was queued."""
    done = threading.Event()
    _worker().submit(done.set)
    assert done.wait(30)


def test_an_error_that_a_callback_cannot_take_reaches_the_next_call(job, gate):
    gate.set()
    called = []
    job(filled(-1))(called.append)
    flush()
    with pytest.raises(OpValueError, match="negative") as caught:
        job(filled(1))
    assert caught.value.__notes__[-1] == 'job "gated": a run failed, so its callback was not called'
    np.testing.assert_array_equal(job(filled(1)).wait(), filled(2))
    assert called == []


def test_an_error_that_nobody_waits_for(job, gate):
    gate.set()
    pending = job(filled(-1))
    flush()
    del pending
    gc.collect()
    with pytest.raises(OpValueError, match="negative") as caught:
        job(filled(1))
    assert caught.value.__notes__[-1] == 'job "gated": a run failed, and nobody waited for it'


def test_a_callback_that_raises(job, gate):
    gate.set()

    def callback(y):
        raise KeyError("mine")

    job(filled(1))(callback)
    flush()
    with pytest.raises(KeyError, match="mine") as caught:
        job(filled(1))
    assert caught.value.__notes__ == ['job "gated": a callback raised this']


def test_a_callback_job_that_changes_its_input():
    @oneop.global_function()
    def job(x: PLACE) -> tp.Callback[tp.Numpy]:
        return x.add_(1)

    with pytest.raises(ArgumentError) as caught:
        job(filled(1))
    assert str(caught.value) == (
        'job "job", parameter "x": the job changes it, and its result is a Callback: the caller could not know when\n'
        "  change a copy: x = x.clone()"
    )
