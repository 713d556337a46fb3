"""Tracing: one job at a time, in no mode of the caller, all or nothing, and again when an op changed."""

import threading

import numpy as np
import pytest
import torch

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError, KernelNotFoundError
from oneop.jobs import job
from oneop.jobs.training.session import current_session
from oneop.registry import isolated
from oneop.runtime.core import core

PLACE = tp.Numpy.Placeholder((4,))


def filled(value):
    return np.full(4, value, np.float32)


def ones():
    return oneop.get_variable("w", (4,), initializer=oneop.ones_initializer())


def make_job(number, fails=False):
    @oneop.global_function()
    def job(x: PLACE) -> tp.Numpy:
        layer = torch.nn.Linear(4, 4)
        if fails:
            raise ValueError("mine")
        return torch.relu(x) + number + 0 * layer(x).sum()

    return job


def test_first_calls_in_threads():
    """Each thread traces jobs of its own, some of which fail."""
    originals = torch.nn.Module.__call__, torch.nn.Module.__getattr__
    start = threading.Barrier(6)
    errors = []

    def work(number):
        try:
            start.wait(30)
            for round_ in range(3):
                fails = (number + round_) % 3 == 0
                job = make_job(number, fails)
                if fails:
                    with pytest.raises(ValueError, match="mine"):
                        job(filled(1))
                else:
                    assert (job(filled(round_)) == round_ + number).all()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not errors, errors
    assert originals == (torch.nn.Module.__call__, torch.nn.Module.__getattr__)
    assert torch.utils._python_dispatch._get_current_dispatch_mode_stack() == []


def test_one_job_called_first_by_several_threads():
    traced = []

    @oneop.global_function()
    def job(x: PLACE) -> tp.Numpy:
        traced.append(1)
        return x + ones()

    start = threading.Barrier(4)
    results = []

    def call(value):
        start.wait(30)
        results.append((value, job(filled(value))[0]))

    threads = [threading.Thread(target=call, args=(value,)) for value in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(results) == [(value, value + 1) for value in range(4)]
    assert len(traced) == 2  # a trace runs the function twice


MODES = {
    "inference": torch.inference_mode,
    "no_grad": torch.no_grad,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("backend", ["planned", "eager"])
def test_the_mode_of_the_first_call_does_not_matter(mode, backend, tmp_path):
    def jobs():
        @oneop.global_function(backend=backend)
        def predict(x: PLACE) -> tp.Numpy:
            return (ones().reshape(2, 2) @ x.reshape(2, 2)).reshape(4)

        @oneop.global_function(type="train", backend=backend)
        def train(x: PLACE) -> tp.Numpy:
            loss = (ones().reshape(2, 2) @ x.reshape(2, 2)).square().sum()
            oneop.optimizer.SGD(0.01).minimize(loss)
            return loss

        return predict, train

    def losses():
        predict, train = jobs()
        x = np.array([1.01, 2.02, 3.03, 4.04], np.float32)
        return [predict(x), *(train(x) for _ in range(3)), predict(x)]

    expected = losses()
    oneop.clear_default_session()
    predict, train = jobs()
    x = np.array([1.01, 2.02, 3.03, 4.04], np.float32)
    with MODES[mode]():
        found = [predict(x), train(x)]
    found += [train(x), train(x), predict(x)]
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    file = oneop.checkpoint.save(tmp_path)
    oneop.checkpoint.load(file)


def test_a_trace_that_fails_makes_no_variables():
    def job_of(shape, fail):
        @oneop.global_function()
        def job(x: PLACE) -> tp.Numpy:
            w = oneop.get_variable("w", shape, initializer=oneop.ones_initializer())
            return fail(x) + w.sum()

        return job

    def refuse(x):
        raise ValueError("mine")

    for fail, error in ((refuse, ValueError), (lambda x: x.unsqueeze_(0), ArgumentError)):
        with pytest.raises(error):
            job_of((3,), fail)(filled(1))
        assert not current_session().variables
    np.testing.assert_array_equal(job_of((4,), lambda x: x)(filled(1)), filled(5))


def test_a_variable_is_trained_if_the_train_job_says_so():
    @oneop.global_function()
    def predict(x: PLACE) -> tp.Numpy:
        return x * oneop.get_variable("w", (4,), initializer=oneop.ones_initializer(), trainable=False)

    @oneop.global_function(type="train")
    def train(x: PLACE) -> tp.Numpy:
        loss = (ones() * x).sum()
        oneop.optimizer.SGD(0.5, momentum=0).minimize(loss)
        return loss

    predict(filled(1)), train(filled(1))
    np.testing.assert_array_equal(predict(filled(1)), filled(0.5))

    @oneop.global_function()
    def both(x: PLACE) -> tp.Numpy:
        return ones() + oneop.get_variable("w", (4,), trainable=False)

    with pytest.raises(ArgumentError, match="expected trainable=True as before, found trainable=False"):
        both(filled(1))


def test_default_data_type():
    config = oneop.FunctionConfig()
    config.default_data_type(torch.float64)

    @oneop.global_function(function_config=config)
    def job(x: PLACE) -> tp.Numpy:
        return x + oneop.get_variable("w", (4,)) + oneop.get_variable("v", (4,), dtype=torch.float32)

    assert job(filled(1)).dtype == np.float64
    assert current_session().variables["w"].value.dtype == torch.float64
    with pytest.raises(ArgumentError, match="default_data_type: expected a dtype"):
        config.default_data_type("float")


# --- ops that change --------------------------------------------------------------------------------------------------


def define_scale(factor, language="numpy", dtype=torch.float32):
    op = oneop.define("job_changing(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu", language=language, dtypes=dtype)
    def kernel(x):
        return x * factor

    @op.register_grad
    def gradient(ctx, dy):
        return dy * factor

    return op


@pytest.mark.parametrize("language", ["numpy", "torch"])
def test_a_job_uses_an_op_as_it_is_defined_now(language):
    define_scale(2.0, language)
    traced = []

    @oneop.global_function()
    def job(x: PLACE) -> tp.Numpy:
        traced.append(1)
        return oneop.ops.job_changing(x) + 1

    @oneop.global_function(type="train")
    def train(x: PLACE) -> tp.Numpy:
        loss = oneop.ops.job_changing(ones() * x).sum()
        oneop.optimizer.SGD(1.0, momentum=0).minimize(loss)
        return loss

    tensors = oneop.compile_job(lambda x: oneop.ops.job_changing(x), [torch.ones(4)])
    for factor in (2.0, 3.0, 5.0):
        define_scale(factor, language)
        before = current_session().variables["w"].value.clone() if "w" in current_session().variables else torch.ones(4)
        np.testing.assert_array_equal(job(filled(1)), filled(factor + 1))
        np.testing.assert_array_equal(job(x=filled(1)), filled(factor + 1))
        assert torch.equal(tensors(torch.ones(4)), torch.full((4,), factor))
        assert train(filled(1)) == pytest.approx(factor * before.sum().item())
        assert torch.equal(current_session().variables["w"].value, before - factor)
    count = len(traced)
    oneop.define("job_unrelated(Tensor x) -> Tensor y", infer="elementwise")
    np.testing.assert_array_equal(job(filled(1)), filled(6))
    assert len(traced) == count  # an op that is new cannot matter
    assert int(current_session().counts["train"].value) == 3


def test_an_op_that_no_longer_fits():
    define_scale(2.0)

    @oneop.global_function()
    def job(x: PLACE) -> tp.Numpy:
        return oneop.ops.job_changing(x)

    job(filled(1))
    define_scale(2.0, dtype=torch.float64)
    for _ in range(2):
        with pytest.raises(KernelNotFoundError, match='op "job_changing"'):
            job(filled(1))
    define_scale(4.0)
    np.testing.assert_array_equal(job(filled(1)), filled(4))


def pick(rows, factor):
    """Define an op that gives `factor` times the first rows."""
    op = oneop.define("tr_rows(Tensor x) -> Tensor")
    op.register_infer(lambda x: x.like(shape=(rows, *x.shape[1:])))
    op.register_kernel("cpu")(lambda x: np.ascontiguousarray(x[:rows] * np.float32(factor)))
    return op


@pytest.mark.parametrize("rows", [1, 2, 6])
def test_an_op_is_registered_again_between_plan_and_program(monkeypatch, rows):
    """The buffers are those of the old op: the job is compiled again, and nothing is written beyond them."""
    with isolated():
        op = pick(2, 3.0)
        plan_job = job.plan_job
        plans = []

        def plan_and_redefine(traced):
            plans.append(plan_job(traced))
            if len(plans) == 1:
                pick(rows, 5.0)
            return plans[-1]

        monkeypatch.setattr(job, "plan_job", plan_and_redefine)
        x = torch.arange(12.0).view(6, 2)
        [y] = oneop.compile_job(lambda x: (op(x),), [x])(x)
        assert torch.equal(y, x[:rows] * 5) and len(plans) == 2


def test_a_program_refuses_buffers_that_do_not_fit():
    with isolated():
        pick(2, 3.0)
        program = core().JobProgram(core().JobGate("fits", None, False))
        x = torch.ones(6, 2)
        for outputs in ([], [torch.ones(1, 2)], [torch.ones(2, 2, dtype=torch.float64)], [torch.ones(2, 2)] * 2):
            with pytest.raises(oneop.errors.OpRuntimeError) as error:
                program.add_op("tr_rows", (x,), outputs, None)
            assert str(error.value) == 'op "tr_rows" was registered again while a job with it was planned'
        program.add_op("tr_rows", (x,), [torch.ones(2, 2)], None)
