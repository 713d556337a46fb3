"""NdarrayUtil and NewKernelUtil against torch: NaN, infinities, limits of integers, and division by zero."""

import platform
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

import oneop

PORT = Path(__file__).parent / "port"
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)
INF, NAN = float("inf"), float("nan")


@pytest.fixture(scope="module")
def ops():
    oneop.load(oneop.build("t_ndarrays", [PORT / "ndarrays.cpp"]))
    return oneop.ops


@pytest.fixture(scope="module")
def blas():
    """Optimized, as a compiler has made wrong lanes of these sums; portable, which needs no objects of the SDK."""
    flags = ["-O3", "-march=native"] if platform.machine() == "x86_64" else ["-O3"]
    oneop.load(oneop.build("t_blas", [PORT / "blas.cpp"], cflags=flags, portable=True))
    return oneop.ops.nd_blas


def reduced(x, axes):
    return [1 if axis in axes else extent for axis, extent in enumerate(x.shape)]


EXTREMES = {"Max": torch.amax, "Min": torch.amin}
SPECIAL = [NAN, INF, -INF, 0.0, -1.0, 2.5, 65504.0, -65504.0, 1.0]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", EXTREMES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_extremes_of_floats(ops, name, dtype, data):
    shape = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    shape[data.draw(st.integers(0, len(shape) - 1))] = data.draw(st.sampled_from([1, 3, 16, 17, 33]))
    axes = data.draw(st.lists(st.integers(0, len(shape) - 1), unique=True, min_size=1))
    count = torch.Size(shape).numel()
    values = data.draw(st.lists(st.sampled_from(SPECIAL), min_size=count, max_size=count))
    x = torch.tensor(values).reshape(shape).to(dtype)
    got = ops.nd_reduce(x, shape=reduced(x, axes), name=name)
    assert_close(got, EXTREMES[name](x, axes, keepdim=True), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", EXTREMES)
def test_a_nan_wins_wherever_it_stands(ops, name, dtype):
    for count in (1, 2, 15, 16, 17, 100, 1024, 2049, 5000):
        for at in {0, 1, count // 3, count // 2, count - 2, count - 1} & set(range(count)):
            x = torch.zeros(2, count, dtype=dtype)
            x[1, at] = NAN
            assert ops.nd_reduce(x, shape=[2, 1], name=name).isnan().flatten().tolist() == [False, True]
            rows = x.T.contiguous()
            assert ops.nd_reduce(rows, shape=[1, 2], name=name).isnan().flatten().tolist() == [False, True]
    same = torch.full((3, 700), -INF if name == "Max" else INF, dtype=dtype)
    assert_close(ops.nd_reduce(same, shape=[3, 1], name=name), same[:, :1])


@pytest.mark.parametrize("dtype", INTS, ids=str)
@pytest.mark.parametrize("name", EXTREMES)
def test_extremes_of_integers(ops, name, dtype):
    limits = torch.iinfo(dtype)
    for value in (limits.min, limits.max, 0):
        for shape, axes in (((3, 40), [1]), ((40, 3), [0]), ((2, 3, 20), [0, 2])):
            x = torch.full(shape, value, dtype=dtype)
            assert torch.equal(ops.nd_reduce(x, shape=reduced(x, axes), name=name), EXTREMES[name](x, axes, True))
            x.view(-1)[7] = limits.min // 2 + 3
            assert torch.equal(ops.nd_reduce(x, shape=reduced(x, axes), name=name), EXTREMES[name](x, axes, True))


@pytest.mark.parametrize("dtype", (*FLOATS, *INTS), ids=str)
def test_reductions_of_nothing(ops, dtype):
    x = torch.empty(0, 2, dtype=dtype)
    limits = None if dtype.is_floating_point else torch.iinfo(dtype)
    wanted = {"Sum": 0, "Prod": 1, "Max": limits.min if limits else -INF, "Min": limits.max if limits else INF}
    for name, value in wanted.items():
        assert ops.nd_reduce(x, shape=[1, 2], name=name).tolist() == [[value, value]]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_larger_and_the_smaller_of_two(ops, dtype):
    x, y = torch.cartesian_prod(torch.tensor(SPECIAL), torch.tensor(SPECIAL)).T.contiguous().to(dtype)
    for name, function in (("Max", torch.maximum), ("Min", torch.minimum)):
        got = ops.nd_binary(x, y, shape=[len(x)], name=name)
        assert_close(got, function(x, y), rtol=0, atol=0, equal_nan=True)
    assert_close(ops.nd_binary(x, y, shape=[len(x)], name="Relu"), torch.relu(x), rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_quotients_of_integers_end_no_process(ops, dtype):
    """What C++ leaves open and x86-64 answers with a signal: zero gives 0, the least integer over -1 is itself."""
    limits = torch.iinfo(dtype)
    numbers = sorted({limits.min, limits.min + 1, -7, -2, -1, 0, 1, 2, 7, limits.max - 1, limits.max})
    numbers = [number for number in numbers if number >= limits.min]
    pairs = [(x, y) for x in numbers for y in numbers]
    x, y = (torch.tensor(column, dtype=dtype) for column in zip(*pairs, strict=True))

    def wrapped(value):
        return (value - limits.min) % (limits.max - limits.min + 1) + limits.min

    def truncated(x, y):
        return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)

    rules = {
        "Div": truncated,
        "FMod": lambda x, y: x - y * truncated(x, y),
        "FloorMod": lambda x, y: x % y,
    }
    for name, rule in rules.items():
        wanted = [0 if y == 0 else wrapped(rule(x, y)) for x, y in pairs]
        assert ops.nd_binary(x, y, shape=[len(pairs)], name=name).tolist() == wanted
    for divisor in numbers:
        wanted = [0 if divisor == 0 else wrapped(truncated(number, divisor)) for number in numbers]
        row, by = torch.tensor(numbers, dtype=dtype), torch.tensor([divisor], dtype=dtype)
        assert ops.nd_binary(row, by, shape=[len(numbers)], name="DivByScalar").tolist() == wanted


@pytest.mark.parametrize("dtype", (*FLOATS, *INTS), ids=str)
@pytest.mark.parametrize("steps", [(1, 1), (-1, 1), (1, -1), (-1, -1), (2, -3), (-2, 3), (0, 1), (0, -2)], ids=str)
def test_vectors_with_steps(blas, dtype, steps):
    """BLAS's rule: element i of n stands at i * step, or at (i - n + 1) * step where the step is negative."""
    for n in range(26):  # 16 and 20 int16 were summed wrongly by lanes that gcc 12 miscompiled
        x, y = (torch.arange(max(1, (n - 1) * abs(step) + 1)) % 3 + 1 for step in steps)
        at = [[i * step if step >= 0 else (i - n + 1) * step for i in range(n)] for step in steps]
        wanted = y.clone()
        wanted[at[1]] += 2 * x[at[0]]
        x, y = x.to(dtype), y.to(dtype)
        for name in ("axpy", "Axpy"):
            got = blas(x, y, shape=list(y.shape), name=name, n=n, steps=steps)
            assert torch.equal(got, wanted.to(dtype))
        for name in ("dot", "Dot"):
            got = blas(x, y, shape=[], name=name, n=n, steps=steps)
            assert torch.equal(got, (x.long()[at[0]] * y.long()[at[1]]).sum().to(dtype))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_broadcast_reads_all_of_its_source_or_is_refused(ops, data):
    extents = st.lists(st.integers(0, 3), max_size=4)
    x, shape = torch.rand(data.draw(extents)), data.draw(extents)
    lacks = max(0, x.ndim - len(shape))  # dimensions of one element may be dropped
    try:
        wanted = x.reshape(x.shape[lacks:]).expand(shape) if x.shape[:lacks] == (1,) * lacks else None
    except RuntimeError:
        wanted = None
    if wanted is None:
        with pytest.raises(oneop.OneopError, match=r"a dimension of \d+ elements cannot be broadcast to \d+"):
            ops.nd_binary(x, x, shape=shape, name="BroadcastTo")
    else:
        assert torch.equal(ops.nd_binary(x, x, shape=shape, name="BroadcastTo"), wanted)
