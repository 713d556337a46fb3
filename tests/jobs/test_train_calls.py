"""However a train job is called, a step is the same: plain arrays by position run in C++, other calls in Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import oneop
from oneop import typing as tp
from oneop.jobs.training.session import current_session


class Falling:
    """A schedule of the user's own, which may fail."""

    fails_at = -1

    def rate(self, step):
        if step == self.fails_at:
            raise LookupError(f"no rate for step {step}")
        return 0.5 / (step + 1)


SCHEDULES = {
    "constant": lambda: oneop.optimizer.PiecewiseConstantScheduler([], [0.25]),
    "piecewise": lambda: oneop.optimizer.PiecewiseConstantScheduler([2, 4], [0.5, 0.25, 0.125]),
    "warmup": lambda: oneop.optimizer.PiecewiseConstantScheduler(
        [3], [0.5, 0.25], warmup=oneop.optimizer.warmup.linear(2, 0.1)
    ),
    "cosine": lambda: oneop.optimizer.CosineScheduler(0.5, 6),
    "own": Falling,
}
OPTIMIZERS = {
    "SGD": lambda schedule: oneop.optimizer.SGD(schedule, momentum=0.9),
    "Adam": oneop.optimizer.Adam,
}
CALLS = {
    "position": lambda job, x, t: job(x, t),
    "keyword": lambda job, x, t: job(t=t, x=x),
    "strided": lambda job, x, t: job(np.repeat(x, 2, axis=0)[::2], t),
}


def make_job(schedule, optimizer):
    @oneop.global_function(type="train")
    def train(
        x: tp.Numpy.Placeholder((4, 3), dtype=oneop.float32), t: tp.Numpy.Placeholder((4,), dtype=oneop.float32)
    ) -> tp.Numpy:
        w = oneop.get_variable("w", (3,), initializer=oneop.ones_initializer())
        b = oneop.get_variable("b", (1,), initializer=oneop.zeros_initializer())
        loss = ((x @ w + b - t) ** 2).mean()
        OPTIMIZERS[optimizer](schedule).minimize(loss)
        return loss

    return train


def run(forms, schedule, optimizer):
    """Return the losses and all that the session keeps after one step by each form of call."""
    oneop.clear_default_session()
    rng = np.random.default_rng(0)
    job = make_job(SCHEDULES[schedule](), optimizer)
    losses = []
    for form in forms:
        x, t = rng.standard_normal((4, 3), dtype=np.float32), rng.standard_normal(4, dtype=np.float32)
        losses.append(CALLS[form](job, x, t).copy())
    return losses, {name: value.clone().numpy() for name, value in current_session().tensors()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("schedule", SCHEDULES)
@settings(max_examples=6, deadline=None)
@given(st.lists(st.sampled_from(sorted(CALLS)), min_size=2, max_size=7))
def test_all_forms_of_call_make_the_same_steps(schedule, optimizer, forms):
    losses, kept = run(forms, schedule, optimizer)
    expected, expected_kept = run(["keyword"] * len(forms), schedule, optimizer)
    np.testing.assert_array_equal(losses, expected)
    assert kept.keys() == expected_kept.keys() and any("counter" in name for name in kept)
    for name, value in kept.items():
        np.testing.assert_array_equal(value, expected_kept[name], err_msg=name)


@pytest.mark.parametrize("form", CALLS)
def test_a_schedule_that_fails_changes_nothing(form):
    schedule = Falling()
    schedule.fails_at = 2
    job = make_job(schedule, "Adam")
    x, t = np.ones((4, 3), np.float32), np.ones(4, np.float32)
    CALLS[form](job, x, t), CALLS[form](job, x, t)
    before = {name: value.clone() for name, value in current_session().tensors()}
    for _ in range(2):
        with pytest.raises(LookupError, match="no rate for step 2"):
            CALLS[form](job, x, t)
    for name, value in current_session().tensors():
        assert value.equal(before[name]), name
    schedule.fails_at = -1
    CALLS[form](job, x, t)
    [count] = [int(value) for name, value in current_session().tensors() if name.startswith("counter")]
    assert count == 3


def test_an_inner_step_that_fails_is_explained_by_the_quick_way_too():
    op = oneop.define("train_calls_fails(Tensor x) -> Tensor y", infer="elementwise")

    @op.register_kernel("cpu")
    def kernel(x, out):
        if x[0] < 0:
            raise ValueError("negative")
        out[:] = x

    op.register_grad(lambda ctx, dy: dy)

    @oneop.global_function(type="train")
    def train(x: tp.Numpy.Placeholder((4,), dtype=oneop.float32)) -> tp.Numpy:
        w = oneop.get_variable("w", (4,), initializer=oneop.ones_initializer())
        loss = (oneop.ops.train_calls_fails(x) * w).sum()
        oneop.optimizer.SGD(SCHEDULES["constant"](), momentum=0).minimize(loss)
        return loss

    train(np.ones(4, np.float32))
    notes = []
    for call in (lambda x: train(x), lambda x: train(x=x)):
        with pytest.raises(oneop.errors.OpValueError, match="negative") as caught:
            call(-np.ones(4, np.float32))
        notes.append(caught.value.__notes__)
    assert notes[0] == notes[1] == ['job "train": the step failed and does not count; it changed no variable']
