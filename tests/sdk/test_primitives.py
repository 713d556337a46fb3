"""ep::primitive: every computation, for every type that it claims, against torch."""

import re
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from torch.testing import assert_close

import oneop

HERE = Path(__file__).parent
INCLUDE = HERE.parents[1] / "src/oneop/include/oneflow/core/ep/include/primitive"
FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INF, NAN = float("inf"), float("nan")
INTS = (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64)


def numbers(header):
    names = re.findall(r"^  k(\w+),$", (INCLUDE / header).read_text(), re.MULTILINE)
    return {name: number for number, name in enumerate(names)}


UNARY, BINARY = numbers("unary_op.h"), numbers("binary_op.h")


@pytest.fixture(scope="module")
def ops():
    oneop.load(oneop.build("t_primitives", [HERE / "port/primitives.cpp"]))
    return oneop.ops


def close(got, want, dtype, exact=1e-11):
    # float16 and bfloat16 are rounded once, from float
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2, torch.float32: 2e-5}.get(dtype, exact)
    assert_close(got, want, rtol=tolerance, atol=tolerance, equal_nan=True)


SHAPES = ((3, 700), (0,), ())
UNARIES = {
    "Identity": lambda x: x.clone(),
    "Elu": lambda x: functional.elu(x, 0.5),
    "Celu": lambda x: functional.celu(x, 0.5),
    "Relu": torch.relu,
    "Gelu": functional.gelu,
    "HardSwish": functional.hardswish,
    "HardSigmoid": functional.hardsigmoid,
    "HardShrink": lambda x: functional.hardshrink(x, 0.5),
    "HardTanh": lambda x: functional.hardtanh(x, 0.5, 1.5),
    "LeakyRelu": lambda x: functional.leaky_relu(x, 0.5),
    "Mish": functional.mish,
    "Selu": torch.selu,
    "Silu": functional.silu,
    "SoftShrink": lambda x: functional.softshrink(x, 0.5),
    "SoftSign": functional.softsign,
    "SoftPlus": lambda x: functional.softplus(x, 0.5, 1.5),
    "Tanh": torch.tanh,
    "Threshold": lambda x: functional.threshold(x, 0.5, 1.5),
    "FastGelu": lambda x: functional.gelu(x, approximate="tanh"),
    "QuickGelu": lambda x: x * torch.sigmoid(1.702 * x),
    "SquareReLU": lambda x: torch.relu(x) ** 2,
    "Abs": torch.abs,
    "Acos": torch.acos,
    "Acosh": torch.acosh,
    "Asin": torch.asin,
    "Asinh": torch.asinh,
    "Atan": torch.atan,
    "Atanh": torch.atanh,
    "Ceil": torch.ceil,
    "Cos": torch.cos,
    "Cosh": torch.cosh,
    "Digamma": torch.digamma,
    "Trigamma": lambda x: torch.polygamma(1, x),
    "Erf": torch.erf,
    "Erfc": torch.erfc,
    "Exp": torch.exp,
    "Exp2": torch.exp2,
    "Expm1": torch.expm1,
    "Floor": torch.floor,
    "Lgamma": torch.lgamma,
    "Log": torch.log,
    "Log2": torch.log2,
    "Log10": torch.log10,
    "Log1p": torch.log1p,
    "LogSigmoid": functional.logsigmoid,
    "Negative": torch.neg,
    "Reciprocal": torch.reciprocal,
    "ReciprocalNoNan": lambda x: torch.where(x == 0, torch.zeros_like(x), 1 / x),
    "Rint": torch.round,
    "Round": torch.round,
    "Rsqrt": torch.rsqrt,
    "Sigmoid": torch.sigmoid,
    "Sign": torch.sign,
    "Sin": torch.sin,
    "Sinh": torch.sinh,
    "Sqrt": torch.sqrt,
    "Square": torch.square,
    "Tan": torch.tan,
    "Trunc": torch.trunc,
    "NanAssign": lambda x: torch.nan_to_num(x, nan=0.0, posinf=torch.inf, neginf=-torch.inf),
}
TESTS = {
    "LogicalNot": torch.logical_not,
    "NotEqualZero": lambda x: x != 0,
    "IsInf": torch.isinf,
    "IsNan": torch.isnan,
    "IsFinite": torch.isfinite,
}


def run_unary(ops, name, x, dtype=None, a=0.5, b=1.5):
    return ops.prim_unary(x, shape=list(x.shape), dtype=dtype or x.dtype, op=UNARY[name], a=a, b=b)


@pytest.mark.parametrize("name", UNARIES)
def test_unary_floats(ops, name):
    torch.manual_seed(0)
    for dtype in FLOATS:
        for shape in SHAPES:
            # |x| < 1 for the inverse functions, x > 1 for acosh; away from poles of the others
            x = torch.rand(shape, dtype=torch.float64) * 1.8 - 0.9
            x = x.abs() + 1.05 if name in {"Acosh", "Trigamma", "Digamma", "Lgamma"} else x * 3 if "a" < name else x
            x = x.to(dtype)
            if name not in {"Digamma", "Trigamma", "Lgamma", "Acosh"} and x.numel() > 4:
                x.view(-1)[:4] = torch.tensor([0.0, torch.nan, torch.inf, -torch.inf])
            if name in {"Gelu", "HardSwish"}:  # torch's own is nan for an infinite float32, and for -inf
                x = x.nan_to_num(posinf=3.0, neginf=-3.0)
            want = UNARIES[name](x.double() if dtype in FLOATS[2:] else x).to(dtype)
            # torch's trigamma has nine digits (against mpmath)
            close(run_unary(ops, name, x), want, dtype, exact=1e-8 if name == "Trigamma" else 1e-11)


@pytest.mark.parametrize("name", TESTS)
def test_questions(ops, name):
    for dtype in (*FLOATS, *INTS, torch.bool):
        x = torch.tensor([0, 1, 2, 0, 5]).to(dtype)
        if dtype.is_floating_point:
            x[:3] = torch.tensor([torch.nan, torch.inf, -torch.inf])
        assert_close(run_unary(ops, name, x, dtype=torch.bool), TESTS[name](x))


@pytest.mark.parametrize("name", ["Identity", "Relu", "Abs", "Negative", "Sign", "Square", "Floor", "BitwiseNot"])
def test_unary_integers(ops, name):
    functions = {**UNARIES, "BitwiseNot": torch.bitwise_not, "Relu": lambda x: x.clamp(min=0)}
    for dtype in INTS:
        x = torch.arange(-4 if dtype.is_signed else 0, 9).to(dtype)
        if name == "Negative" and not dtype.is_signed:
            continue
        assert_close(run_unary(ops, name, x), functions[name](x))


def test_unary_that_is_not_for_these_types(ops):
    with pytest.raises(RuntimeError, match="no such primitive"):
        run_unary(ops, "Tanh", torch.arange(3))


BINARIES = {
    "Add": torch.add,
    "Sub": torch.sub,
    "Mul": torch.mul,
    "Max": torch.maximum,
    "Min": torch.minimum,
    "Fmod": torch.fmod,
    "FloorMod": torch.remainder,
    "FloorDiv": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "TruncDiv": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
}
COMPARISONS = {
    "Equal": torch.eq,
    "NotEqual": torch.ne,
    "LessThan": torch.lt,
    "LessEqual": torch.le,
    "GreaterThan": torch.gt,
    "GreaterEqual": torch.ge,
    "LogicalAnd": torch.logical_and,
    "LogicalOr": torch.logical_or,
    "LogicalXor": torch.logical_xor,
}
PAIRS = (((4, 5), (4, 5)), ((4, 1, 600), (3, 1)), ((600,), (2, 3, 1)), ((), (7,)), ((0, 3), (1, 3)))


def run_binary(ops, name, x, y, dtype=None, a=0.0, b=0.0):
    shape = torch.broadcast_shapes(x.shape, y.shape)
    return ops.prim_binary(x, y, shape=list(shape), dtype=dtype or x.dtype, op=BINARY[name], a=a, b=b)


@pytest.mark.parametrize("name", [*BINARIES, "Div", "Pow"])
def test_binary(ops, name):
    torch.manual_seed(1)
    functions = {**BINARIES, "Div": torch.div, "Pow": torch.pow}
    for dtype in (*FLOATS, *(INTS if name in BINARIES else ())):
        for x_shape, y_shape in PAIRS:
            low = 0 if not dtype.is_signed else -6
            x = torch.randint(low, 7, x_shape).to(dtype)
            y = torch.randint(low, 7, y_shape).to(dtype)
            y[y == 0] = 3
            x, y = (x.abs(), y) if name == "Pow" else (x, y)
            wide = torch.float64 if dtype in FLOATS[2:] else dtype
            want = functions[name](x.to(wide), y.to(wide)).to(dtype)
            close(run_binary(ops, name, x, y), want, dtype)


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(ops, name):
    torch.manual_seed(2)
    for dtype in (*FLOATS, *INTS, torch.bool):
        for x_shape, y_shape in PAIRS:
            x, y = torch.randint(0, 3, x_shape).to(dtype), torch.randint(0, 3, y_shape).to(dtype)
            assert_close(run_binary(ops, name, x, y, torch.bool), COMPARISONS[name](x, y))


def test_close(ops):
    x = torch.tensor([1.0, torch.nan, torch.inf, 2.0])
    y = torch.tensor([1.00001, torch.nan, torch.inf, 2.1])
    for name, equal_nan in (("IsClose", False), ("IsCloseEqualNan", True)):
        got = run_binary(ops, name, x, y, torch.bool, a=1e-3, b=1e-5)
        assert_close(got, torch.isclose(x, y, atol=1e-3, rtol=1e-5, equal_nan=equal_nan))


def test_bits_and_scalars(ops):
    x, y = torch.arange(8, dtype=torch.int32), torch.tensor(5, dtype=torch.int32)
    for name, function in (("And", torch.bitwise_and), ("Or", torch.bitwise_or), ("Xor", torch.bitwise_xor)):
        assert_close(run_binary(ops, f"Bitwise{name}", x, y), function(x, y))
    got = ops.prim_scalar_binary(x.float(), shape=[8], dtype=torch.float32, op=BINARY["Pow"], a=2.0)
    assert_close(got, x.float() ** 2)
    zeta = run_binary(ops, "Zeta", torch.tensor([2.0, 3.5, 1.0]), torch.tensor([1.0, 0.25, 2.0]))
    assert_close(zeta, torch.special.zeta(torch.tensor([2.0, 3.5, 1.0]), torch.tensor([1.0, 0.25, 2.0])))


GRADS = sorted(set(re.findall(r"(\w+)BackwardWithDyX", " ".join(BINARY))) - {"ReciprocalNoNan"})


@pytest.mark.parametrize("name", GRADS)
def test_gradients_of_unary(ops, name):
    spelled = {key.lower(): value for key, value in UNARIES.items()}
    torch.manual_seed(3)
    x = torch.rand(2, 400, dtype=torch.float64) * 1.8 - 0.9
    x = x.abs() + 1.05 if name in {"Acosh", "Digamma", "Lgamma", "Rsqrt", "Sqrt", "Log", "Log2", "Log10"} else x
    for dtype in FLOATS:
        leaf = x.to(dtype).double().clone().requires_grad_()
        dy = torch.randn_like(leaf).to(dtype)
        spelled[name.lower()](leaf).backward(dy.double())
        got = run_binary(ops, f"{name}BackwardWithDyX", dy, leaf.detach().to(dtype), a=0.5, b=1.5)
        # torch multiplies by 1/6 as a float, and its trigamma has nine digits (against mpmath)
        close(got, leaf.grad.to(dtype), dtype, exact=1e-7 if name in {"Hardsigmoid", "Digamma"} else 1e-11)


@pytest.mark.parametrize("name", ["Celu", "Hardshrink", "Hardtanh", "Relu", "Softshrink", "Tanh", "Sigmoid"])
def test_gradients_from_the_result(ops, name):
    spelled = {key.lower(): value for key, value in UNARIES.items()}
    leaf = (torch.rand(300, dtype=torch.float64) * 4 - 2).requires_grad_()
    y = spelled[name.lower()](leaf)
    dy = torch.randn_like(leaf)
    y.backward(dy)
    close(run_binary(ops, f"{name}BackwardWithDyY", dy, y.detach(), a=0.5, b=1.5), leaf.grad, torch.float64)


def test_cast(ops):
    for source in (*FLOATS, *INTS, torch.bool):
        for target in (*FLOATS, *INTS, torch.bool):
            x = torch.tensor([0, 1, 2, 3, 100]).to(source)
            assert_close(ops.prim_cast(x, shape=[5], dtype=target, op=0), x.to(target))


def test_add_where_permute_pad(ops):
    torch.manual_seed(4)
    for dtype in (*FLOATS, *INTS):
        x, y, z = (torch.randint(0, 9, (3, 1, 5)).to(dtype) for _ in range(3))
        assert_close(ops.prim_add(x, y, z, shape=[3, 1, 5], dtype=dtype, op=0), x + y + z)
        condition = torch.randint(0, 2, (3, 4, 1)).bool()
        got = ops.prim_where(condition, x, y[:1], shape=[3, 4, 5], dtype=dtype, op=0)
        assert_close(got, torch.where(condition, x, y[:1]))
    for dtype in (torch.int8, torch.float16, torch.float32, torch.float64, torch.complex128):
        x = torch.arange(2 * 3 * 4 * 5).reshape(2, 3, 4, 5).to(dtype)
        got = ops.prim_permute(x, shape=[5, 3, 2, 4], dtype=dtype, op=0, list=[3, 1, 0, 2])
        assert_close(got, x.permute(3, 1, 0, 2).contiguous())
    x = torch.rand(3, 4)
    got = ops.prim_pad(x, shape=[5, 3], dtype=x.dtype, op=0, a=7.0, list=[1, -1], more=[1, 0])
    assert_close(got, functional.pad(x, (-1, 0, 1, 1), value=7.0))


@pytest.mark.parametrize("dtype", FLOATS)
def test_matmul(ops, dtype):
    torch.manual_seed(5)
    shapes = (((3, 2, 17, 9), (2, 9, 33)), ((5, 7), (7, 3)), ((4, 0), (0, 6)), ((2, 130, 70), (70, 65)))
    for x_shape, y_shape in shapes:
        for op in range(4):
            x, y = torch.randn(x_shape).to(dtype), torch.randn(y_shape).to(dtype)
            want = x.double() @ y.double()
            c = torch.randn(want.shape).to(dtype)
            want = (0.5 * want + 2 * c.double()).to(dtype)
            left = x.mT.contiguous() if op & 1 else x
            right = y.mT.contiguous() if op & 2 else y
            got = ops.prim_matmul(left, right, c, shape=list(want.shape), dtype=dtype, op=op, a=0.5, b=2.0)
            tolerance = {torch.float16: 1e-2, torch.bfloat16: 6e-2, torch.float32: 1e-4}.get(dtype, 1e-12)
            assert_close(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", FLOATS)
def test_softmax(ops, dtype):
    torch.manual_seed(6)
    for op, function in ((0, torch.softmax), (1, torch.log_softmax)):
        leaf = (torch.randn(5, 300, dtype=torch.float64) * 8).to(dtype).double().requires_grad_()
        y = function(leaf, 1)
        dy = torch.randn(5, 300).to(dtype)
        y.backward(dy.double())
        close(ops.prim_softmax(leaf.detach().to(dtype), shape=[5, 300], dtype=dtype, op=op), y.to(dtype), dtype)
        if dtype in FLOATS[:2]:
            got = ops.prim_softmax_grad(y.detach().to(dtype), dy, shape=[5, 300], dtype=dtype, op=op)
            close(got, leaf.grad.to(dtype), dtype)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_in_place_floats(ops, dtype):
    """Where OneFlow lets the result be an operand, it is the same as in memory of its own, bit for bit."""
    torch.manual_seed(7)
    x, y, z = (torch.randn(5, 700).to(dtype) for _ in range(3))
    same = {"shape": [5, 700], "dtype": dtype}
    for name in UNARIES:
        call = {**same, "op": UNARY[name], "a": 0.5, "b": 1.5}
        assert_same(ops.prim_unary(x, **call, in_place="x"), ops.prim_unary(x, **call))
    for name in (*BINARIES, "Div", "Pow", *(f"{each}BackwardWithDyX" for each in GRADS)):
        call = {**same, "op": BINARY[name], "a": 0.5, "b": 1.5}
        for place in "xy":
            assert_same(ops.prim_binary(x, y, **call, in_place=place), ops.prim_binary(x, y, **call))
        row = y[:1].contiguous()
        assert_same(ops.prim_binary(x, row, **call, in_place="x"), ops.prim_binary(x, row, **call))
    call = {**same, "op": BINARY["Pow"], "a": 2.0}
    assert_same(ops.prim_scalar_binary(x, **call, in_place="x"), ops.prim_scalar_binary(x, **call))
    for op in (0, 1):
        call = {**same, "op": op}
        assert_same(ops.prim_softmax(x, **call, in_place="x"), ops.prim_softmax(x, **call))
        for place in ("y", "dy"):
            assert_same(ops.prim_softmax_grad(y, z, **call, in_place=place), ops.prim_softmax_grad(y, z, **call))
    function = (torch.softmax, torch.log_softmax)
    for op in (0, 1):
        got = ops.prim_softmax(x, **same, op=op, in_place="x")
        close(got, function[op](x.double(), 1).to(dtype), dtype)


@pytest.mark.parametrize("dtype", (*FLOATS, *INTS), ids=str)
def test_in_place(ops, dtype):
    torch.manual_seed(8)
    x, y, z = (torch.randint(1, 9, (5, 700)).to(dtype) for _ in range(3))
    same = {"shape": [5, 700], "dtype": dtype, "op": 0}
    for place in "xyz":
        assert_same(ops.prim_add(x, y, z, **same, in_place=place), x + y + z)
    condition = torch.randint(0, 2, (5, 1)).bool()
    for place in "xy":
        assert_same(ops.prim_where(condition, x, y, **same, in_place=place), torch.where(condition, x, y))
    for name, function in BINARIES.items():
        for place in "xy":
            got = ops.prim_binary(x, y, **{**same, "op": BINARY[name]}, in_place=place)
            close(got, function(x, y), dtype)
    for target in (*FLOATS, *INTS):
        if target.itemsize == dtype.itemsize:
            assert_same(ops.prim_cast(x, **{**same, "dtype": target}, in_place="x"), x.to(target))


def assert_same(got, want):
    assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integers_at_their_limits(ops, dtype):
    """Powers wrap around as products do, also where a double would round: 3 ** 39. No operand ends the process."""
    limits = torch.iinfo(dtype)
    numbers = [limits.min, limits.min + 1, -3, -2, -1, 0, 1, 2, 3, 5, 7, 10, 38, 39, 62, 63, limits.max - 1, limits.max]
    numbers = sorted({number for number in numbers if limits.min <= number <= limits.max})
    x, y = torch.cartesian_prod(torch.tensor(numbers), torch.tensor(numbers)).T.contiguous().to(dtype)
    assert torch.equal(run_binary(ops, "Pow", x, y), torch.pow(x, y))

    def wrapped(value):
        return (value - limits.min) % (limits.max - limits.min + 1) + limits.min

    def truncated(p, q):
        return abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)

    rules = {
        "Div": truncated,
        "TruncDiv": truncated,
        "FloorDiv": lambda p, q: p // q,
        "Fmod": lambda p, q: p - q * truncated(p, q),
        "FloorMod": lambda p, q: p % q,
    }
    for name, rule in rules.items():
        wanted = [0 if q == 0 else wrapped(rule(p, q)) for p, q in zip(x.tolist(), y.tolist(), strict=True)]
        assert run_binary(ops, name, x, y).tolist() == wanted


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_quotients_of_floats(ops, dtype, data):
    """Bit for bit torch's: 1 // 0.1 is 9, though 1 / 0.1 rounds to 10; also of infinities, zeros and NaN."""
    numbers = st.one_of(
        st.sampled_from([0.0, -0.0, 1.0, -1.0, 0.1, -0.1, 0.3, 3.0, 1e30, 1e-30, INF, -INF, NAN]),
        st.floats(-100, 100, width=32),
    )
    # few: with vectors, torch's own fmod of 1e30 and 1e-30 is nan, alone it is not
    pairs = data.draw(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=3))
    x, y = torch.tensor(pairs, dtype=torch.float64).T.contiguous().to(dtype)
    # half precision is computed as float and rounded once
    wide = dtype if dtype in FLOATS[:2] else torch.float32
    for name in ("FloorDiv", "TruncDiv", "Fmod", "FloorMod"):
        want = BINARIES[name](x.to(wide), y.to(wide)).to(dtype)
        got = run_binary(ops, name, x, y)
        assert_same(got, want)
        assert torch.equal(got.signbit()[~want.isnan()], want.signbit()[~want.isnan()])


ALL_INTS = (*INTS, torch.uint16, torch.uint32, torch.uint64)


def as_integer(value, dtype):
    """What NumberAs says: through int64, whose last bits the integer gets."""
    if value != value:
        return 0
    limits = torch.iinfo(dtype)
    top = limits.max if dtype == torch.uint64 else 2**63 - 1
    whole = top if value > top else -(2**63) if value < -(2**63) else int(value)
    return (whole - limits.min) % (limits.max - limits.min + 1) + limits.min


BEYOND = [
    0.5,
    -0.5,
    -1.0,
    127.5,
    128.0,
    -128.9,
    -129.0,
    255.9,
    256.0,
    300.0,
    -300.0,
    32768.0,
    65504.0,
    -65504.0,
    70000.0,
]
FAR = [2.0**31, -(2.0**31) - 1, 3e9, -3e9, 2.0**32, 1e12, -1e12, 2.0**62, 2.0**63, -(2.0**63), 2.0**64, 1e30, -1e30]


@pytest.mark.parametrize("source", FLOATS, ids=str)
@pytest.mark.parametrize("target", ALL_INTS, ids=str)
def test_casts_beyond_the_range_are_the_same_on_every_processor(ops, source, target):
    for values in (BEYOND, FAR, [INF, -INF, NAN], [1.0] * 3000 + [-1.0] + [2.0] * 3000):
        x = torch.tensor(values, dtype=torch.float64).to(source)
        got = ops.prim_cast(x, shape=[len(values)], dtype=target, op=0)
        assert got.tolist() == [as_integer(value, target) for value in x.tolist()]
    x = torch.tensor([value for value in BEYOND if abs(value) < 2**15]).to(source)
    if target.itemsize == 1 or target == torch.int64:  # where torch says the same
        assert ops.prim_cast(x, shape=[len(x)], dtype=target, op=0).tolist() == x.to(target).tolist()


@pytest.mark.parametrize("target", (*ALL_INTS, *FLOATS, torch.bool), ids=str)
def test_fills(ops, target):
    x = torch.zeros(1)
    for value in (*BEYOND, *FAR, 0.0, 1.0, INF, -INF, NAN):
        got = ops.prim_fill(x, shape=[3], dtype=target, op=0, a=value)
        wanted = torch.tensor(as_integer(value, target), dtype=target) if target in ALL_INTS else None
        wanted = torch.tensor(value, dtype=torch.float64).to(target) if wanted is None else wanted
        assert_same(got, wanted.expand(3))
    for number in (2**62 + 1, -1, 300, 2**40 + 1, 0):
        got = ops.prim_fill(x, shape=[3], dtype=target, op=1, n=number)
        assert_same(got, torch.tensor(number).to(target).expand(3))
