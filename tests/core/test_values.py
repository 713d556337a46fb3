"""Calls give the right values whatever the tensors look like."""

import pytest
import torch
from torch.testing import assert_close

from oneop.errors import ArgumentError


def relu(x, alpha=0.5):
    return torch.where(x > 0, x, (alpha * x).to(x.dtype))


def views():
    base = torch.randn(4, 6)
    yield "contiguous", base
    yield "transposed", base.t()
    yield "sliced", base[:, ::2]
    yield "offset", base.flatten()[5:]
    yield "expanded", torch.randn(3, 1).expand(3, 5)
    yield "expanded scalar", torch.tensor(-1.5).expand(2, 3)
    yield "channels last", torch.randn(2, 3, 4, 5).contiguous(memory_format=torch.channels_last)
    yield "empty", torch.empty(0)
    yield "empty matrix", torch.empty(3, 0, 2)
    yield "0-d", torch.tensor(-2.0)
    yield "flipped", base.flip(0)
    yield "negated lazily", torch.randn(3, dtype=torch.complex64).conj().imag
    yield "32 dimensions", torch.randn([1] * 31 + [2])
    yield "strides of a dimension of size 1", torch.empty_strided((1, 4), (100, 1)).fill_(-1)


@pytest.mark.parametrize("name, x", [pytest.param(name, x, id=name) for name, x in views()])
def test_any_tensor_gives_a_contiguous_result(ops, name, x):
    for _ in range(2):  # the second call takes the short way
        y = ops.t_relu(x)
        assert_close(y, relu(x))
        assert y.is_contiguous() and y.shape == x.shape


@pytest.mark.parametrize(
    "dtype",
    [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int32, torch.int64],
    ids=str,
)
def test_dtypes(ops, dtype):
    x = torch.tensor([-4, -2, 0, 2, 5]).to(dtype)
    assert_close(ops.t_relu(x), relu(x))


def test_bool(ops):
    assert ops.t_increment(torch.tensor([True, False])).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16], ids=str)
def test_small_integers_wrap(ops, dtype):
    x = torch.tensor([0, 1, torch.iinfo(dtype).max], dtype=dtype)
    assert_close(ops.t_increment(x), x + 1)


def test_a_kernel_that_reads_strides_gets_the_tensor_as_it_is(ops):
    base = torch.randn(4, 6)
    for x in (base, base.t(), base[::2, 1:4], base.t()[1:, ::3], torch.randn(1, 5).expand(7, 5)):
        for _ in range(2):
            assert_close(ops.t_columns(x), x.sum(0))


def test_same_shape_other_strides_is_another_call(ops):
    square = torch.randn(5, 5)
    for x in (square, square.t(), square, square.t()):
        assert_close(ops.t_columns(x), x.sum(0))


def test_scratch_memory(ops):
    for n in (1, 1000, 0):
        x = torch.randn(n)
        assert_close(ops.t_sum(x), x.sum(), rtol=1e-4, atol=1e-4)


def test_several_outputs(ops):
    x = torch.tensor([1.5, -0.25])
    whole, rest = ops.t_parts(x)
    assert whole.dtype == torch.int64 and whole.tolist() == [1, -1]
    assert rest.tolist() == [0.5, 0.75]


def test_a_number_of_outputs_that_the_caller_chooses(ops):
    x = torch.tensor([1.0, 2.0])
    (one,) = ops.t_multiples(x)
    assert_close(one, x)
    a, b, total = ops.t_multiples(x, output_counts=[2, 1])
    assert_close([a, b, total], [x, 2 * x, 3 * x])
    for _ in range(2):
        assert isinstance(ops.t_multiples(x, output_counts=[3, 0]), tuple)


def test_list_inputs(ops):
    xs = [torch.randn(3) for _ in range(5)]
    assert_close(ops.t_add_n(xs), sum(xs))
    assert_close(ops.t_add_n(tuple(xs[:2])), xs[0] + xs[1])
    assert_close(ops.t_add_n(in_=xs[:3]), sum(xs[:3]))
    assert_close(ops.t_add_n(**{"in": xs[:3]}), sum(xs[:3]))


def test_more_tensors_than_fit_inline(ops):
    xs = [torch.full((2,), float(i)) for i in range(100)]
    for _ in range(2):
        assert ops.t_add_n(xs).tolist() == [4950, 4950]


def test_optional_inputs(ops):
    x, s, b = torch.randn(3, 4).unbind()
    for _ in range(2):
        assert_close(ops.t_affine(x), x)
        assert_close(ops.t_affine(x, s), x * s)
        assert_close(ops.t_affine(x, bias=b), x + b)
        assert_close(ops.t_affine(x, None, b), x + b)
        assert_close(ops.t_affine(bias=b, x=x, scale=s), x * s + b)
        assert_close(ops.t_affine(x, [], [b]), x + b)


def test_an_op_without_inputs(ops):
    assert ops.t_range(shape=(2, 2)).tolist() == [[0, 1], [2, 3]]
    y = ops.t_range(shape=[3], dtype=torch.float64, step=0.5, device="cpu")
    assert y.dtype == torch.float64 and y.tolist() == [0, 0.5, 1]
    assert ops.t_range(shape=(2,), device=torch.device("meta")).device.type == "meta"
    assert torch.ops.oneop.t_range(shape=[2]).tolist() == [0, 1]


def test_in_place(ops):
    x, total = torch.ones(3), torch.zeros(3)
    for i in range(1, 4):
        version = total._version
        assert ops.t_accumulate(x, total).tolist() == [2, 2, 2]
        assert total.tolist() == [i, i, i]
        assert total._version == version + 1


def test_in_place_on_a_view(ops):
    base = torch.zeros(4, 3)
    ops.t_accumulate(torch.ones(4), base[:, 1])
    assert base.sum(0).tolist() == [0, 4, 0]


def test_in_place_where_elements_share_memory_is_refused(ops):
    shared = torch.zeros(1).expand(3)
    with pytest.raises(ArgumentError, match="the op changes it, and several of its elements share memory"):
        ops.t_accumulate(torch.ones(3), shared)
    assert shared.tolist() == [0, 0, 0]


def test_parallel_for(ops):
    x = torch.randn(300_001)
    assert_close(ops.t_parallel_relu(x), relu(x))


@pytest.mark.slow
def test_more_than_two_to_the_31_elements(ops):
    n = 2**31 + 10
    x = torch.zeros(n, dtype=torch.uint8)
    x[-1] = 6
    y = ops.t_increment(x)
    assert y.shape == (n,)
    assert y[-1] == 7 and y[0] == 1 and y[2**31] == 1


def test_the_inputs_stay_as_they_were(ops):
    x = torch.randn(5, 5).t()
    before = x.clone()
    ops.t_relu(x)
    assert torch.equal(x, before)
