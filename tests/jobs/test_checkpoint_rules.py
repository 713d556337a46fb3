"""Checkpoints: of one step, all or nothing, any names, and step counts that find their jobs."""

import json
import threading

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError
from oneop.jobs.training.session import current_session

PLACE = tp.Numpy.Placeholder((1,))
ONE = np.ones(1, np.float32)


def make_train(name="train", variables=("w", "v"), rate=1.0, optimizer=None, size=4, backend="planned"):
    @oneop.global_function(type="train", name=name, backend=backend)
    def train(x: PLACE) -> tp.Numpy:
        weights = [oneop.get_variable(v, (size,), initializer=oneop.ones_initializer()) for v in variables]
        loss = sum((w * x).square().sum() for w in weights)
        (optimizer or (lambda: oneop.optimizer.SGD(rate, momentum=0.0)))().minimize(loss)
        return loss

    return train


def contents():
    return {name: value.clone() for name, value in current_session().tensors()}


def assert_contents(expected):
    found = contents()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


# --- beside training --------------------------------------------------------------------------------------------------


def test_saved_and_predicted_beside_training(tmp_path):
    size = 1 << 14

    @oneop.global_function(type="train")
    def train(x: PLACE) -> tp.Numpy:
        weights = [oneop.get_variable(n, (size,), initializer=oneop.zeros_initializer()) for n in ("a", "b", "c")]
        loss = sum((w * x).sum() for w in weights)
        oneop.optimizer.SGD(1.0, momentum=0.0).minimize(loss)
        return loss

    @oneop.global_function()
    def predict(x: PLACE) -> tuple[tp.Numpy, tp.Numpy, tp.Numpy]:
        return tuple(oneop.get_variable(n, (size,)) + x for n in ("a", "b", "c"))

    train(ONE), predict(ONE)
    errors, done = [], threading.Event()

    def guard(act):
        def run():
            try:
                while not done.is_set() and not errors:
                    act()
            except BaseException as error:
                errors.append(error)

        return threading.Thread(target=run)

    def look():
        values = {float(v) for part in predict(0 * ONE) for v in (part.min(), part.max())}
        assert len(values) == 1, values

    threads = [guard(lambda: train(ONE)), guard(look)]
    for thread in threads:
        thread.start()
    for number in range(25):
        tensors = load_file(oneop.checkpoint.save(tmp_path / f"{number % 2}.safetensors"))
        values = {float(v) for n in "abc" for v in (tensors[f"variable/{n}"].min(), tensors[f"variable/{n}"].max())}
        assert values == {-float(tensors["counter/train/steps"])}
    done.set()
    for thread in threads:
        thread.join(60)
    assert not errors, errors


def test_many_save_to_one_path(tmp_path):
    make_train()(ONE)
    start, errors = threading.Barrier(4), []

    def save():
        try:
            start.wait(30)
            for _ in range(20):
                oneop.checkpoint.save(tmp_path)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=save) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not errors, errors
    assert [path.name for path in tmp_path.iterdir()] == ["oneop.safetensors"]
    oneop.checkpoint.load(tmp_path)


def test_saving_where_nothing_can_be_written(tmp_path):
    make_train()(ONE)
    (tmp_path / "file").write_text("")
    with pytest.raises(ArgumentError, match=r"checkpoint.save: cannot write "):
        oneop.checkpoint.save(tmp_path / "file" / "below")


def test_saving_inside_a_step(tmp_path):
    op = oneop.define("job_saves(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    found = []

    @op.register_kernel("cpu")
    def kernel(x, out):
        out[...] = x
        try:
            oneop.checkpoint.save(tmp_path)
        except ArgumentError as error:
            found.append(str(error))

    @oneop.global_function(type="train")
    def train(x: PLACE) -> tp.Numpy:
        loss = (oneop.get_variable("w", (1,)) * op(x)).sum()
        oneop.optimizer.SGD(0.1).minimize(loss)
        return loss

    train(ONE)
    assert found == ["checkpoint.save: this thread is inside a run of a job, the step is not finished\n  save after it"]


# --- names ------------------------------------------------------------------------------------------------------------


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=2, max_size=3, unique=True))
def test_any_names_resume(tmp_path, names):
    def adam():
        return oneop.optimizer.Adam(0.1)

    oneop.clear_default_session()
    whole = make_train(variables=names, optimizer=adam)
    for _ in range(4):
        whole(ONE)
    expected = contents()
    oneop.clear_default_session()
    first = make_train(variables=names, optimizer=adam)
    for _ in range(2):
        first(ONE)
    file = oneop.checkpoint.save(tmp_path)
    oneop.clear_default_session()
    oneop.checkpoint.load(file)
    second = make_train(variables=names, optimizer=adam)
    for _ in range(2):
        second(ONE)
    assert_contents(expected)


def test_names_that_no_file_can_hold():
    with pytest.raises(ArgumentError, match="is not valid Unicode, a checkpoint could not hold it"):
        make_train(variables=["\ud800"])(ONE)


# --- files that do not fit --------------------------------------------------------------------------------------------


def test_what_is_missing_is_named(tmp_path):
    make_train(variables=("w",))(ONE)
    file = oneop.checkpoint.save(tmp_path)
    oneop.clear_default_session()
    job = make_train(variables=("w", "v"), optimizer=lambda: oneop.optimizer.SGD(0.1, momentum=0.9))
    job(ONE)
    before = contents()
    with pytest.raises(ArgumentError) as caught:
        oneop.checkpoint.load(file)
    assert str(caught.value) == (
        f"checkpoint.load: {file} does not fit the jobs here\n"
        '  not in the file: momentum of variable "w", variable "v", momentum of variable "v", '
        'the step count of job "train"\n'
        "  keep the values of what is missing: checkpoint.load(path, strict=False)"
    )
    assert_contents(before)
    oneop.checkpoint.load(file, strict=False)
    assert torch.equal(contents()["variable/w"], load_file(file)["variable/w"])
    assert torch.equal(contents()["variable/v"], before["variable/v"])


def test_a_renamed_variable_is_noticed_whichever_comes_first(tmp_path):
    make_train(variables=("old",))(ONE)
    file = oneop.checkpoint.save(tmp_path)
    oneop.clear_default_session()
    oneop.checkpoint.load(file)
    with pytest.raises(ArgumentError) as caught:
        make_train(variables=("new",))(ONE)
    assert str(caught.value) == (
        f'variable "new" is not in the checkpoint {file}\n'
        '  variables of the checkpoint that no job has asked for: "old"\n'
        "  rename it, or let new variables start from their initializers: checkpoint.load(path, strict=False)"
    )
    oneop.clear_default_session()
    job = make_train(variables=("new",))
    job(ONE)
    with pytest.raises(ArgumentError, match=r'not in the file: variable "new".*\n  only in the file: variable "old"'):
        oneop.checkpoint.load(file)
    oneop.clear_default_session()
    oneop.checkpoint.load(file, strict=False)
    make_train(variables=("new",))(ONE)


def damaged(tensors, metadata, change):
    change(tensors, metadata)
    return tensors, metadata


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t, m: t.update({"state/gone/mean": torch.zeros(1)}), "is damaged"),
        (lambda t, m: t.update({"nonsense": torch.zeros(1)}), "is damaged"),
        (lambda t, m: t.update({"counter/train/steps": torch.zeros(3)}), "is damaged"),
        (lambda t, m: m.update({"jobs": "{"}), "is damaged"),
        (lambda t, m: m.update({"jobs": '{"train": 3}'}), "is damaged"),
        (lambda t, m: m.clear(), "is not a checkpoint of jobs"),
        (lambda t, m: m.update({"oneop": "99"}), "is not a checkpoint of jobs"),
        (lambda t, m: t.update({"variable/w": torch.zeros(5)}), 'variable "w" is torch.float32 \\(5,\\) in the file'),
        (lambda t, m: t.pop("state/w/mean"), 'not in the file: mean of variable "w"'),
    ],
)
def test_loading_is_all_or_nothing(tmp_path, change, message):
    job = make_train(optimizer=lambda: oneop.optimizer.Adam(0.1))
    job(ONE)
    file = oneop.checkpoint.save(tmp_path)
    job(ONE)
    before = contents()
    jobs = json.dumps({"train": {"job": "train", "trains": ["v", "w"]}})
    tensors, metadata = damaged(load_file(file), {"oneop": "2", "jobs": jobs}, change)
    save_file(tensors, file, metadata)
    with pytest.raises(ArgumentError, match=message):
        oneop.checkpoint.load(file)
    assert_contents(before)


# --- step counts ------------------------------------------------------------------------------------------------------


def cosine():
    return oneop.optimizer.Adam(oneop.optimizer.CosineScheduler(0.1, 20))


def losses(job, count):
    return [float(job(ONE)) for _ in range(count)]


def test_jobs_of_one_name_have_counts_of_their_own(tmp_path):
    alone = losses(make_train("step", ("p",), optimizer=cosine), 6)
    oneop.clear_default_session()
    p, q = (make_train("step", (v,), optimizer=cosine) for v in "pq")
    found = [float(p(ONE))]
    losses(q, 3)
    found += losses(p, 2)
    file = oneop.checkpoint.save(tmp_path)
    found_q = losses(q, 2)
    assert found + losses(p, 3) == alone
    for order in ("pq", "qp"):  # whoever is traced first
        oneop.clear_default_session()
        oneop.checkpoint.load(file)
        jobs = {v: make_train("step", (v,), optimizer=cosine) for v in "pq"}
        for v in order:
            jobs[v].compile()
        assert losses(jobs["p"], 3) == alone[3:]
        assert losses(jobs["q"], 2) == found_q


def test_two_live_jobs_that_a_file_could_not_tell_apart():
    first, second = make_train(), make_train()
    first(ONE)
    with pytest.raises(ArgumentError) as caught:
        second(ONE)
    assert str(caught.value) == (
        'job "train": another train job of this name trains the same variables, and a checkpoint could not tell their '
        'step counts apart\n  name one of them: global_function("train", name="...")'
    )
    make_train("other")(ONE)
    del first
    second(ONE)  # as when a cell of a notebook is run again
    assert int(current_session().counts["train"].value) == 2


def test_a_renamed_job_does_not_start_its_schedule_again(tmp_path):
    job = make_train("old", optimizer=cosine)
    whole = losses(job, 3)
    file = oneop.checkpoint.save(tmp_path)
    whole += losses(job, 3)

    def resumed(name, **options):
        oneop.clear_default_session()
        oneop.checkpoint.load(file, **options)
        return losses(make_train(name, optimizer=cosine), 3)

    with pytest.raises(ArgumentError) as caught:
        resumed("new")
    assert str(caught.value) == (
        f'job "new" (trains v, w) is not in the checkpoint {file}, so its learning rate would start again at step 0\n'
        '  jobs of the checkpoint that do not exist here: "old" (3 steps, trains v, w)\n'
        '  give the job the name it had, global_function("train", name="..."), '
        "or start at 0: checkpoint.load(path, restart=True)"
    )
    assert resumed("old") == whole[3:]
    assert resumed("new", restart=True) != whole[3:]

    def constant():
        return oneop.optimizer.Adam(0.1)

    oneop.clear_default_session()
    job = make_train("old", optimizer=constant)
    whole = losses(job, 2)
    file = oneop.checkpoint.save(tmp_path)
    whole += losses(job, 2)
    oneop.clear_default_session()
    oneop.checkpoint.load(file)
    assert losses(make_train("new", optimizer=constant), 2) == whole[2:]  # Adam's count belongs to the variables


def test_format_1_can_be_read(tmp_path):
    job = make_train(optimizer=cosine)
    losses(job, 3)
    file = oneop.checkpoint.save(tmp_path)
    expected = losses(job, 2)
    tensors = load_file(file)
    step = tensors.pop("state/w/step")
    tensors.pop("state/v/step")
    tensors["counter/train/step"] = step
    save_file(tensors, file, {"oneop": "1", "trainable": "w,v"})
    oneop.clear_default_session()
    oneop.checkpoint.load(file)
    assert losses(make_train(optimizer=cosine), 2) == expected
    tensors["counter/other/steps"] = tensors["counter/train/steps"].clone()
    save_file(tensors, file, {"oneop": "1", "trainable": "w,v"})
    with pytest.raises(ArgumentError, match=r"does not say which variables the jobs .* train"):
        oneop.checkpoint.load(file)


@pytest.mark.parametrize(
    "optimizer", ["SGD", *(pytest.param(name, marks=pytest.mark.slow) for name in ("Adam", "AdamW"))]
)
def test_the_inductor_backend_trains_alike(optimizer):
    def chosen():
        return getattr(oneop.optimizer, optimizer)(0.1, weight_decay=0.01)

    expected = losses(make_train(optimizer=chosen), 4)
    oneop.clear_default_session()
    found = losses(make_train(optimizer=chosen, backend="inductor"), 4)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
