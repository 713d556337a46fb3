"""Calls that are wrong: a message names op and argument, what was expected and found, and where to look."""

import pytest
import torch

import oneop
from oneop.errors import ArgumentError, OpNotFoundError
from oneop.registry import isolated

X = torch.ones(3)


@pytest.fixture
def refused(ops, text_of, defined):
    """Call an op wrongly and return the message without its last line, which must say where the op is defined."""

    def call(name, *args, **kwargs):
        with pytest.raises(ArgumentError) as raised:
            getattr(ops, name)(*args, **kwargs)
        *lines, last = text_of(raised).split("\n")
        assert last == f"  defined at {defined(name)}"
        return "\n".join(lines)

    return call


def test_missing_input(refused):
    assert refused("t_relu") == 'op "t_relu", input "x": expected exactly 1 tensor, found none'
    assert refused("t_relu", None) == 'op "t_relu", input "x": expected exactly 1 tensor, found none'
    assert refused("t_multiply", X) == 'op "t_multiply", input "by": expected exactly 1 tensor, found none'
    assert refused("t_add_n") == 'op "t_add_n", input "in": expected at least 2 tensors, found none'


def test_too_few_or_many_tensors(refused):
    assert refused("t_add_n", [X]) == 'op "t_add_n", input "in": expected at least 2 tensors, found 1'
    assert refused("t_relu", [X, X]) == 'op "t_relu", input "x": expected exactly 1 tensor, found 2'
    assert refused("t_affine", X, [X, X]) == 'op "t_affine", input "scale": expected none or exactly 1 tensor, found 2'
    assert refused("t_relu", []) == 'op "t_relu", input "x": expected exactly 1 tensor, found 0'


def test_too_many_by_position(refused):
    assert (
        refused("t_relu", X, 0.1) == 'op "t_relu": takes 1 input by position, found 2\n  give attributes by name: alpha'
    )
    assert refused("t_multiply", X, X, X) == 'op "t_multiply": takes 2 inputs by position, found 3'
    assert refused("t_range", X) == (
        'op "t_range": takes no inputs, found 1\n  give attributes by name: shape, dtype, step'
    )


def test_not_a_tensor(refused):
    assert refused("t_relu", [1.0]) == 'op "t_relu", input "x": expected a torch.Tensor, found float'
    assert refused("t_relu", 3) == 'op "t_relu", input "x": expected a torch.Tensor, found int'
    assert refused("t_add_n", [X, "x"]) == 'op "t_add_n", input "in": expected a torch.Tensor, found str'
    assert refused("t_relu", lambda x: x).splitlines() == [
        'op "t_relu", input "x": expected a torch.Tensor, found function',
        "  to give the op a kernel, write @op.register_kernel",
    ]
    assert refused("t_relu", X.numpy()) == 'op "t_relu", input "x": expected a torch.Tensor, found ndarray'


def test_unknown_name(refused):
    assert refused("t_relu", X, alhpa=0.1) == (
        'op "t_relu" has no input or attribute "alhpa", did you mean "alpha"?\n  it has: x, alpha'
    )
    assert refused("t_relu", X, completely_different=0.1) == (
        'op "t_relu" has no input or attribute "completely_different"\n  it has: x, alpha'
    )
    assert refused("t_affine", X, scal=X) == (
        'op "t_affine" has no input or attribute "scal", did you mean "scale"?\n  it has: x, scale, bias'
    )
    assert refused("t_tally", shape=1) == 'op "t_tally" has no input or attribute "shape"\n  it has: device'


def test_given_twice(refused):
    assert refused("t_relu", X, x=X) == 'op "t_relu", input "x": given twice, by position and by name'
    assert refused("t_add_n", [X, X], in_=[X, X]) == 'op "t_add_n", input "in": given twice, by position and by name'


def test_wrong_device(refused):
    assert (
        refused("t_range", shape=(1,), device="tpu")
        == "op \"t_range\", device: expected a torch.device or its name, found str 'tpu'"
    )
    assert (
        refused("t_range", shape=(1,), device=3)
        == 'op "t_range", device: expected a torch.device or its name, found int 3'
    )


def test_mixed_devices(refused):
    assert refused("t_multiply", X, X.to("meta")) == (
        'op "t_multiply": its inputs are on different devices\n  in: cpu\n  by: meta\n'
        "  move them to one device: x.to(device)"
    )
    assert refused("t_add_n", [X.to("meta"), X]) == (
        'op "t_add_n": its inputs are on different devices\n  in 0: meta\n  in 1: cpu\n'
        "  move them to one device: x.to(device)"
    )


def test_too_many_dimensions(refused):
    x = torch.ones([1] * 33)
    assert refused("t_relu", x) == 'op "t_relu", input "x": expected at most 32 dimensions, found 33'
    assert refused("t_multiply", X, x) == 'op "t_multiply", input "by": expected at most 32 dimensions, found 33'


@pytest.mark.filterwarnings("ignore:.*quantize", "ignore:The PyTorch API of nested")
def test_unsupported_tensors(refused):
    x = torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8)
    assert (
        refused("t_relu", x)
        == 'op "t_relu", input "x": tensors of dtype qint8 are not supported\n  convert it: x.dequantize()'
    )
    assert refused("t_relu", torch.ones(3).to_sparse()) == (
        'op "t_relu", input "x": expected a strided tensor, found layout Sparse\n  convert it: x.to_dense()'
    )
    for layout in (torch.strided, torch.jagged):
        assert refused("t_relu", torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=layout)) == (
            'op "t_relu", input "x": nested tensors are not supported\n'
            "  call the op on each of x.unbind(), or on x.to_padded_tensor(value)"
        )


@pytest.mark.parametrize("bytes_left", [0, 4, 52])
@pytest.mark.parametrize("view", [lambda x: x, lambda x: x.t(), lambda x: x[1:], lambda x: x[:, 1]])
def test_a_storage_that_was_shrunk(refused, view, bytes_left):
    """As FSDP does with parameters that it does not need for the moment."""
    x = torch.ones(4, 4)
    part = view(x)
    x.untyped_storage().resize_(bytes_left)
    assert refused("t_relu", part) == (
        'op "t_relu", input "x": its storage is smaller than the tensor\n  it was resized or freed'
    )
    x.untyped_storage().resize_(64)
    x.fill_(1)
    assert torch.equal(oneop.ops.t_relu(part), torch.ones_like(part))


def test_a_changed_argument_whose_elements_share_memory():
    with isolated():
        op = oneop.define("t_add_one(Tensor(a!) x) -> ()", differentiable=False)

        @op.register_kernel("cpu")
        def kernel(x):
            x += 1

        x = torch.zeros(3, 1)
        with pytest.raises(ArgumentError) as error:
            op(x.expand(3, 4))
        assert str(error.value).splitlines()[:2] == [
            'op "t_add_one", input "x": the op changes it, and several of its elements share memory',
            "  give it a copy: x.clone()",
        ]
        op(x.t())
        assert torch.equal(x, torch.ones(3, 1))


def test_output_counts(refused):
    assert refused("t_multiples", X, output_counts=[1]) == (
        'op "t_multiples", output_counts: expected 2 numbers (out, sum), found 1'
    )
    assert refused("t_multiples", X, output_counts=[0, 0]) == (
        'op "t_multiples", output "out": expected at least 1 tensor, found 0'
    )
    assert refused("t_multiples", X, output_counts=[1, 2]) == (
        'op "t_multiples", output "sum": expected none or exactly 1 tensor, found 2'
    )
    for many in (65537, 10**9, 2**31 - 1):  # before memory is asked for
        assert refused("t_multiples", X, output_counts=[many, 1]) == (
            f'op "t_multiples", output "out": expected at most 65536 tensors, found {many}'
        )
    for beyond in (2**31, 2**32 + 1, 2**40, 2**63 - 1):  # an int32 of it would be a small number
        assert refused("t_multiples", X, output_counts=[beyond, 1]) == (
            'op "t_multiples", output "out": expected at most 65536 tensors, found 2147483647'
        )
    assert refused("t_multiples", X, output_counts=3) == (
        'op "t_multiples", output_counts: expected a list of ints, found int 3'
    )


def test_unknown_op(ops):
    for find in (lambda: ops.t_rleu, lambda: oneop.get_op("t_rleu"), lambda: oneop.show("t_rleu")):
        with pytest.raises(OpNotFoundError) as raised:
            find()
        first, second = str(raised.value).split("\n")
        assert first == 'no op "t_rleu" is registered, did you mean "t_relu"?'
        count = len(oneop.list_ops())
        assert second == f"  see oneop.list_ops() for the {count} that are, or load its library: oneop.load(path)"
    with pytest.raises(AttributeError):  # so that hasattr works
        ops.no_such_thing_at_all  # noqa: B018
    assert not hasattr(ops, "no_such_thing_at_all")


def test_an_unknown_op_far_from_all_names(ops):
    with pytest.raises(OpNotFoundError, match=r'^no op "zzzzzzzzzz" is registered\n'):
        oneop.get_op("zzzzzzzzzz")


def test_the_same_messages_through_torch(ops, text_of, defined):
    with pytest.raises(ArgumentError) as raised:
        torch.ops.oneop.t_add_n([X])
    assert text_of(raised) == (
        f'op "t_add_n", input "in": expected at least 2 tensors, found 1\n  defined at {defined("t_add_n")}'
    )
