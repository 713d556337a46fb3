"""The table of torch's ops for numpy and jax.numpy: each entry against torch, and jax against numpy."""

import numpy as np
import pytest

from oneop.hosts.aten.table import TABLE
from oneop.hosts.frameworks import NUMPY, Namespace, call, infer, num_outputs

G = np.random.default_rng(0)
A = G.standard_normal((3, 4))
B = G.standard_normal((3, 4))
M = G.standard_normal((4, 2))
UNIT = G.uniform(0.1, 0.9, (3, 4))
WHOLE = G.integers(-5, 5, (3, 4))
FLAGS = WHOLE > 0
INDEX = np.array([2, 0])

#: Arguments for each entry, as torch's schema has them.
CALLS = {
    **{f"aten::{name}": [UNIT] for name in ("exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt")},
    **{f"aten::{name}": [UNIT] for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan")},
    **{f"aten::{name}": [UNIT] for name in ("asinh", "atanh", "erfc", "sigmoid", "reciprocal", "relu")},
    **{
        f"aten::{name}": [A]
        for name in ("abs", "sign", "floor", "ceil", "trunc", "square", "isnan", "isinf", "isfinite")
    },
    **{f"aten::{name}": [A] for name in ("neg", "round", "positive", "sgn", "contiguous", "detach", "alias", "conj")},
    **{f"aten::{name}": [FLAGS] for name in ("logical_not", "bitwise_not", "any", "all", "sum", "cos")},
    "aten::acosh": [UNIT + 1],
    **{
        f"aten::{name}.Tensor": [A, B]
        for name in ("add", "sub", "mul", "div", "rsub", "eq", "ne", "lt", "le", "gt", "ge")
    },
    **{
        f"aten::{name}.Scalar": [A, 2]
        for name in ("add", "sub", "mul", "div", "rsub", "eq", "ne", "lt", "le", "gt", "ge")
    },
    **{f"aten::{name}.Tensor": [A, UNIT] for name in ("remainder", "fmod")},
    **{f"aten::{name}.Scalar": [A, 0.5] for name in ("remainder", "fmod")},
    **{f"aten::bitwise_{name}.Tensor": [WHOLE, WHOLE + 1] for name in ("and", "or", "xor")},
    **{f"aten::{name}": [A, B] for name in ("maximum", "minimum", "logical_and", "logical_or", "logical_xor", "atan2")},
    "aten::div.Tensor_mode": [A, UNIT, "floor"],
    "aten::div.Scalar_mode": [A, 0.3, "trunc"],
    "aten::floor_divide": [A, UNIT],
    "aten::pow.Tensor_Scalar": [UNIT, 2.5],
    "aten::pow.Tensor_Tensor": [UNIT, A],
    "aten::pow.Scalar": [2.0, A],
    "aten::where.self": [FLAGS, A, B],
    "aten::where.ScalarOther": [FLAGS, A, 0.0],
    "aten::masked_fill.Scalar": [A, FLAGS, 7],
    "aten::clamp": [A, -0.5, 0.5],
    "aten::clamp_min": [A, 0.1],
    "aten::clamp_max": [A, 0.1],
    "aten::lerp.Scalar": [A, B, 0.25],
    "aten::lerp.Tensor": [A, B, UNIT],
    "aten::threshold_backward": [A, B, 0],
    "aten::sigmoid_backward": [A, UNIT],
    "aten::tanh_backward": [A, UNIT],
    "aten::to.dtype": [A, "float32"],
    "aten::type_as": [WHOLE, A],
    "aten::sum": [WHOLE.astype(np.int32)],
    "aten::sum.dim_IntList": [A, [1], True],
    "aten::mean": [A],
    "aten::mean.dim": [A, [0, 1]],
    "aten::amax": [A, [1], True],
    "aten::amin": [A, [0]],
    "aten::max": [A],
    "aten::min": [A],
    "aten::prod": [UNIT],
    "aten::argmax": [A, 1],
    "aten::argmin": [A],
    "aten::max.dim": [A, 1],
    "aten::min.dim": [A, 0, True],
    "aten::cumsum": [A, 1],
    "aten::cumprod": [A, 0],
    "aten::softmax.int": [A, 1],
    "aten::_softmax": [A, -1, False],
    "aten::log_softmax.int": [A, 0],
    "aten::_log_softmax": [A, 1, False],
    "aten::logsumexp": [A, [1]],
    "aten::reshape": [A, [2, -1]],
    "aten::view": [A, [12]],
    "aten::view_as": [A, A.reshape(2, 6)],
    "aten::expand": [A, [2, -1, 4]],
    "aten::broadcast_to": [A, [2, 3, 4]],
    "aten::expand_as": [A[:1], A],
    "aten::permute": [A, [1, 0]],
    "aten::transpose.int": [A, 0, 1],
    "aten::t": [A],
    "aten::unsqueeze": [A, -1],
    "aten::squeeze": [A[:1]],
    "aten::squeeze.dim": [A[:1], 1],
    "aten::squeeze.dims": [A[:1], [0, 1]],
    "aten::flatten.using_ints": [A.reshape(3, 2, 2), 1],
    "aten::cat": [[A, B], 1],
    "aten::stack": [[A, B], -1],
    "aten::flip": [A, [0]],
    "aten::roll": [A, [1], [1]],
    "aten::repeat": [A, [2, 1, 2]],
    "aten::tril": [A],
    "aten::triu": [A, 1],
    "aten::slice.Tensor": [A, 1, 1, 4, 2],
    "aten::narrow": [A, 1, 1, 2],
    "aten::select.int": [A, 1, -1],
    "aten::split.Tensor": [A, 3, 1],
    "aten::split_with_sizes": [A, [1, 3], 1],
    "aten::chunk": [A, 2],
    "aten::unbind.int": [A],
    "aten::index_select": [A, 0, INDEX],
    "aten::gather": [A, 1, WHOLE[:, :2] % 4],
    "aten::index.Tensor": [A, [None, INDEX]],
    "aten::sort": [A],
    "aten::argsort": [A, 0, True],
    "aten::full": [[2, 3], 1.5],
    "aten::full_like": [A, 2],
    "aten::zeros_like": [WHOLE],
    "aten::ones_like": [A],
    "aten::zeros": [[2], "int64"],
    "aten::ones": [[2]],
    "aten::scalar_tensor": [2],
    "aten::matmul": [A, M],
    "aten::mm": [A, M],
    "aten::mv": [A, M[:, 0]],
    "aten::dot": [A[0], B[0]],
    "aten::outer": [A[0], B[1]],
    "aten::addmm": [A[:, :2], A, M, 2, 0.5],
    "aten::linear": [A, B],
}
every_call = pytest.mark.parametrize("name", CALLS)


def test_the_table_has_the_common_ones():
    assert len(TABLE) >= 150 and len(CALLS) >= 100 and set(CALLS) <= set(TABLE)
    assert (
        num_outputs("aten::sort") == 2 and num_outputs("aten::chunk") == -1 and num_outputs("aten::no_such_op") is None
    )


@every_call
def test_numpy_gives_what_torch_gives(name):
    torch = pytest.importorskip("torch")
    operator, _, overload = name.removeprefix("aten::").partition(".")

    def to_torch(value):
        if isinstance(value, np.ndarray):
            return torch.from_numpy(value)
        if isinstance(value, list):
            return [to_torch(item) for item in value]
        return (
            getattr(torch, value) if isinstance(value, str) and hasattr(torch, value) and value[-1].isdigit() else value
        )

    function = getattr(getattr(torch.ops.aten, operator), overload or "default")
    keywords = {}
    arguments = [to_torch(value) for value in CALLS[name]]
    if operator in ("zeros", "ones", "full", "div", "addmm"):  # torch takes the rest by name
        names = [argument.name for argument in function._schema.arguments]
        count = sum(not argument.kwarg_only for argument in function._schema.arguments)
        keywords = dict(zip(names[count:], arguments[count:], strict=False))
        arguments = arguments[:count]
    expected = function(*arguments, **keywords)
    expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
    result = call(NUMPY, name, CALLS[name])
    assert len(result) == len(expected)
    for ours, theirs in zip(result, expected, strict=True):
        assert ours.dtype == theirs.numpy().dtype and ours.shape == tuple(theirs.shape)
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-12 if ours.dtype == np.float64 else 1e-6, atol=1e-15)


@every_call
def test_jax_gives_what_numpy_gives(name):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    space = Namespace(jax.numpy, lambda dtype: jax.dtypes.canonicalize_dtype(jax.numpy.dtype(dtype)))
    given = jax.tree.map(lambda x: jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x, CALLS[name])
    for ours, theirs in zip(call(space, name, given), call(NUMPY, name, CALLS[name]), strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-12 if theirs.dtype == np.float64 else 1e-6, atol=1e-15)


def test_dtypes_are_promoted_as_torch_does():
    torch = pytest.importorskip("torch")
    values = [
        np.ones(2, np.float32),
        np.array(1.0),
        np.ones(2, np.int32),
        np.array(3),
        np.ones(2, bool),
        np.ones(2, np.float16),
    ]
    numbers = [2, 2.5, True]
    for x in values:
        for y in [*values, *numbers]:
            other = torch.from_numpy(y) if isinstance(y, np.ndarray) else y
            kind = "Tensor" if isinstance(y, np.ndarray) else "Scalar"
            result = call(NUMPY, f"aten::mul.{kind}", [x, y])[0]
            assert result.dtype == (torch.from_numpy(x) * other).numpy().dtype, (x.dtype, y)


def test_shapes_are_inferred_without_data():
    assert infer("aten::cos", [("blob", 0)], [((2, 3), "float32")]) == [((2, 3), "float32")]
    with pytest.raises(ValueError):
        infer("aten::cat", [("blobs", [3, 4]), ("int", 0)], [((2,), "float32"), ((), "float32")])
