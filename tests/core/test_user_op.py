"""`user_op_builder`, as the OneFlow documents call ops."""

import pytest
import torch

import oneop
from oneop.errors import ArgumentError, OpNotFoundError

X = torch.tensor([-2.0, 4.0])


def build(op, name="call"):
    return oneop.user_op_builder(name).Op(op)


def test_a_call(ops):
    call = build("t_relu", "my_call").Input("x", [X]).Output("y").Attr("alpha", 0.25).Build()
    assert call.op_name == "my_call"
    assert call.InferAndTryRun().SoleOutputBlob().tolist() == [-0.5, 4]


def test_lists_and_names_that_are_keywords(ops):
    y = build("t_add_n").Input("in", [X, X, X]).Output("out").Build().InferAndTryRun().SoleOutputBlob()
    assert y.tolist() == [-6, 12]


def test_gradients(ops):
    x = X.clone().requires_grad_()
    build("t_relu").Input("x", [x]).Output("y").Build().InferAndTryRun().SoleOutputBlob().sum().backward()
    assert x.grad.tolist() == [0.5, 1]


def test_outputs_come_in_the_order_in_which_they_are_asked_for(ops):
    rest, whole = (
        build("t_parts").Input("x", [X]).Output("rest").Output("whole").Build().InferAndTryRun().RemoteBlobList()
    )
    assert whole.dtype == torch.int64 and rest.dtype == torch.float32
    call = build("t_multiples").Input("x", [X]).Output("sum").Output("out", 2).Build().InferAndTryRun()
    total, one, two = call.RemoteBlobList()
    assert total.tolist() == [-6, 12] and one.tolist() == [-2, 4] and two.tolist() == [-4, 8]
    assert list(call.RemoteBlobDict()) == ["sum", "out"]


def test_optional_inputs(ops):
    y = build("t_affine").Input("x", [X]).Input("bias", (X,)).Output("y").Build().InferAndTryRun().SoleOutputBlob()
    assert y.tolist() == [-4, 8]


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: oneop.user_op_builder(""), "user_op_builder: expected a name, found ''"),
        (
            lambda: oneop.user_op_builder("n").Build(),
            'user_op_builder("n"): no op was chosen\n  call .Op("op_type_name") before .Build()',
        ),
        (
            lambda: build("t_relu").Input("x", X),
            'op "t_relu", input "x": expected a list of tensors, found Tensor\n  write .Input("x", [x])',
        ),
        (lambda: build("t_relu").Output("y", 0), 'op "t_relu", output "y": expected a count of at least 1, found 0'),
        (
            lambda: build("t_affine").Input("x", [X]).Input("scalee", [X]).Build(),
            'op "t_affine" has no input "scalee", did you mean "scale"?\n  it has: x, scale, bias',
        ),
        (
            lambda: build("t_parts").Input("x", [X]).Output("rset").Build(),
            'op "t_parts" has no output "rset", did you mean "rest"?\n  it has: whole, rest',
        ),
        (
            lambda: (
                build("t_parts")
                .Input("x", [X])
                .Output("rest")
                .Output("whole")
                .Build()
                .InferAndTryRun()
                .SoleOutputBlob()
            ),
            'op "t_parts" has 2 outputs here\n  use .RemoteBlobList() instead of .SoleOutputBlob()',
        ),
    ],
)
def test_errors(ops, make, text):
    with pytest.raises(ArgumentError) as raised:
        make()
    assert str(raised.value) == text


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: build("t_relu").Output("y").Build(), 'input "x": expected exactly 1 tensor, found 0'),
        (lambda: build("t_relu").Input("x", [X, X]).Build(), 'input "x": expected exactly 1 tensor, found 2'),
        (
            lambda: build("t_relu").Input("x", [X]).Output("y", 2).Build(),
            'output "y": expected exactly 1 tensor, found 2',
        ),
        (
            lambda: build("t_relu").Input("x", [X]).Output("y").Attr("alpha", "x").Build().InferAndTryRun(),
            "attribute \"alpha\": expected a float, found str 'x'",
        ),
    ],
)
def test_errors_that_say_where_the_op_is(ops, text_of, defined, make, text):
    with pytest.raises(ArgumentError) as raised:
        make()
    assert text_of(raised) == f'op "t_relu", {text}\n  defined at {defined("t_relu")}'


def test_unknown_op(ops):
    with pytest.raises(OpNotFoundError, match='no op "t_rleu" is registered, did you mean "t_relu"'):
        build("t_rleu")


def test_results_before_running(ops):
    with pytest.raises(RuntimeError) as raised:
        build("t_relu").Input("x", [X]).Output("y").Build().SoleOutputBlob()
    assert str(raised.value) == 'op "t_relu" has not run: call .InferAndTryRun() first'
