"""What jobs refuse, each with its text: annotations, variables, optimizers, schedules, checkpoints."""

import inspect

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import oneop
from oneop import typing as tp
from oneop.errors import ArgumentError

PLACE = tp.Numpy.Placeholder((2,))
X = np.ones(2, np.float32)


def refusal(function, *args, **kwargs):
    with pytest.raises(ArgumentError) as raised:
        function(*args, **kwargs)
    return str(raised.value)


def predict(body):
    """A predict job with this body, run once."""

    @oneop.global_function()
    def job(x: PLACE) -> tp.Numpy:
        return body(x)

    return job(X)


def train(body):
    """A train job whose loss this body makes, run once."""

    @oneop.global_function(type="train")
    def job(x: PLACE) -> tp.Numpy:
        loss = body(x)
        oneop.optimizer.SGD(0.1).minimize(loss)
        return loss

    return job(X)


# --- annotations ------------------------------------------------------------------------------------------------------


def test_annotations_that_name_nothing():
    def job(x: "NoSuchThing") -> tp.Numpy:  # noqa: F821
        return x

    assert refusal(lambda: oneop.global_function()(job)(X)) == (
        "job \"job\": its annotations cannot be read: name 'NoSuchThing' is not defined"
    )


def test_parameters_that_are_not_ordinary():
    def job(*xs: PLACE) -> tp.Numpy:
        return xs[0]

    assert refusal(lambda: oneop.global_function()(job)(X)) == (
        'job "job", parameter "xs": only ordinary parameters are possible'
    )


def test_a_value_that_is_no_tensor():
    @oneop.global_function()
    def job(x: tp.Tensor.Placeholder((2,))) -> tp.Numpy:
        return x

    assert refusal(job, [1.0, 2.0]) == ('job "job", parameter "x": expected a torch tensor, float32 (2,), found list')


def test_results_of_another_form():
    @oneop.global_function()
    def job(x: PLACE) -> dict[str, tp.Numpy]:
        return x

    assert 'job "job": its return annotation is dict[str, ' in refusal(job, X)


def test_results_that_are_no_blobs():
    @oneop.global_function()
    def job(x: PLACE) -> tp.Numpy:
        return "x"

    assert refusal(job, X) == 'job "job": it must return blobs (tensors), found str'


def test_a_placeholder_without_a_dtype():
    assert refusal(tp.Numpy.Placeholder, (2,), dtype="float32") == (
        "Numpy.Placeholder: expected a dtype such as oneop.float32, found 'float32'"
    )


# --- placements and graphs --------------------------------------------------------------------------------------------


def test_placements_of_one_job_on_other_devices():
    def body(x):
        with oneop.scope.placement("cpu", "0:0"):
            y = x + 1
        with oneop.scope.placement("cpu", "0:0-1"):
            return y + 1

    text = refusal(predict, body)
    assert 'job "job": all placements must have the same devices, found ranks (0,) and (0, 1)' in text


def test_a_graph_without_its_base():
    class Half(oneop.nn.Graph if hasattr(oneop, "nn") else oneop.Graph):
        def __init__(self):
            pass

        def build(self, x):
            return x / 2

    assert refusal(Half(), torch.ones(2)) == "Half: call super().__init__() in its __init__"


# --- variables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options, text",
    [
        ({}, 'get_variable("w"): it needs a shape\n  name it: get_variable("w", shape=(2, 3))'),
        (
            {"shape": (2,), "regularizer": object()},
            'get_variable("w"): regularizers are not supported\n  use weight_decay of the optimizer',
        ),
        (
            {"shape": (2,), "initializer": lambda shape, dtype: torch.zeros(3)},
            'variable "w": expected torch.float32 (2,) from its initializer, found torch.float32 (3,)',
        ),
    ],
)
def test_variables(options, text):
    assert refusal(predict, lambda x: x + oneop.get_variable("w", **options)) == text


def test_a_variable_of_another_shape():
    predict(lambda x: x + oneop.get_variable("w", (2,)))
    text = refusal(predict, lambda x: x + oneop.get_variable("w", (1,)))
    assert text.startswith('variable "w"')
    assert text.endswith("variables are shared by name: rename it, or call oneop.clear_default_session()")


def test_gradients_of_a_predict_job():
    def body(x):
        oneop.watch_diff(x)
        return x

    assert refusal(predict, body) == (
        'job "job": watch_diff needs gradients, which a predict job does not compute\n'
        '  make it global_function(type="train")'
    )


# --- training ---------------------------------------------------------------------------------------------------------


def test_a_loss_without_variables():
    def body(x):
        oneop.get_variable("w", (2,))
        return x.sum()

    assert refusal(train, body) == (
        'job "job": the loss does not depend on any trainable variable\n'
        "  compute it from oneop.get_variable(name, shape), with trainable=True"
    )


@pytest.mark.parametrize(
    "make, text",
    [
        (
            lambda: oneop.optimizer.Adam(0.1, do_bias_correction=False),
            "Adam: do_bias_correction=False is not supported\n  leave it out: moments are always corrected",
        ),
        (
            lambda: oneop.optimizer.PiecewiseConstantScheduler([1, 2], [0.1]),
            "PiecewiseConstantScheduler: expected one value more than boundaries, found 1 values and 2 boundaries",
        ),
        (
            lambda: oneop.optimizer.PiecewiseConstantScheduler([2, 1], [1, 2, 3]),
            "PiecewiseConstantScheduler: boundaries must rise, found [2, 1]",
        ),
        (
            lambda: oneop.optimizer.CosineScheduler(0.1, 0),
            "CosineScheduler: expected a positive number of steps, found 0",
        ),
        (
            lambda: oneop.kaiming_initializer("normal"),
            "kaiming_initializer: expected random_normal or random_uniform, found 'normal'",
        ),
        (
            lambda: oneop.kaiming_initializer(mode="fan"),
            "kaiming_initializer: expected fan_in or fan_out, found 'fan'",
        ),
    ],
    ids=lambda value: inspect.getsource(value).strip()[:40] if callable(value) else "",
)
def test_optimizers(make, text):
    assert refusal(make) == text


# --- checkpoints ------------------------------------------------------------------------------------------------------


def test_a_checkpoint_that_cannot_be_read(tmp_path):
    path = tmp_path / "broken.safetensors"
    path.write_bytes(b"nothing")
    assert refusal(oneop.checkpoint.load, path).startswith(f"checkpoint.load: cannot read {path}\n  ")


def test_a_checkpoint_with_a_tensor_too_many(tmp_path):
    path = tmp_path / "other.safetensors"
    oneop.checkpoint.save(path)
    from safetensors import safe_open

    with safe_open(str(path), framework="pt") as file:
        metadata = file.metadata()
    save_file({"strange": torch.zeros(1)}, path, metadata=metadata)
    assert 'it has a tensor "strange", which is no variable, state of a variable, or step count' in refusal(
        oneop.checkpoint.load, path
    )
