# ruff: noqa: E402  jax may not be there
"""oneop.jax: calls, gradients, vmap and shardings, against the numpy host, which is compared with torch's."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

jax = pytest.importorskip("jax")
pytest.importorskip("jax.ffi")

import jax.numpy as jnp
from host_cases import CASES, library, name_of, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P

import oneop.jax as ojax
import oneop.numpy as onp
from oneop.errors import (
    ArgumentError,
    GradientNotFoundError,
    KernelNotFoundError,
    OpNotFoundError,
    OpNotImplementedError,
)

jax.config.update("jax_enable_x64", True)

CALLED = [case for case in CASES if not case.is_in_place]
SIZES = {"rows": st.sampled_from([1, 2, 5]), "columns": st.sampled_from([1, 3, 8])}
X = np.array([-1.0, 0.5, 2.0], np.float32)
CPUS = jax.devices("cpu")


def op(name, of):
    return getattr(ojax.load(library(name)), of)


@pytest.fixture(autouse=True)
def one_thread():
    onp.set_num_threads(1)


@pytest.fixture(autouse=True)
def on_the_cpu():
    """Where jax has a GPU, it would take that: test_jax_cuda.py has what runs there."""
    with jax.default_device(CPUS[0]):
        yield


def outputs_of(result):
    return list(result) if isinstance(result, tuple) else [result]


def flat(values):
    return [item for value in values for item in (value if isinstance(value, (list, tuple)) else [value])]


def as_jax(values):
    return jax.tree.map(jnp.asarray, values)


@pytest.mark.parametrize("case", CALLED, ids=name_of)
def test_results_are_those_of_numpy(case):
    theirs = getattr(onp.load(library(case.library)), case.op)
    ours = op(case.library, case.op)

    @settings(max_examples=4, deadline=None, derandomize=True, database=None)
    @given(**SIZES, dtype=st.sampled_from(case.dtypes), seed=st.integers(0, 99))
    def holds(rows, columns, dtype, seed):
        inputs = case.inputs(seed, rows, columns, dtype)
        expected = outputs_of(theirs(*inputs, **case.attrs))
        compiled = jax.jit(lambda *arrays: ours(*arrays, **case.attrs))
        for call in (lambda *arrays: ours(*arrays, **case.attrs), compiled):
            result = outputs_of(call(*as_jax(inputs)))
            assert len(result) == len(expected) and all(map(same_bits, result, expected))
        shapes = outputs_of(jax.eval_shape(compiled, *as_jax(inputs)))
        assert [(spec.shape, spec.dtype) for spec in shapes] == [(y.shape, y.dtype) for y in expected]

    holds()


@pytest.mark.parametrize("case", [case for case in CALLED if case.is_differentiable], ids=name_of)
def test_gradients_are_those_of_numpy(case):
    theirs = getattr(onp.load(library(case.library)), case.op)
    ours = op(case.library, case.op)

    @settings(max_examples=3, deadline=None, derandomize=True, database=None)
    @given(**SIZES, dtype=st.sampled_from(case.dtypes), seed=st.integers(0, 99))
    def holds(rows, columns, dtype, seed):
        inputs = case.inputs(seed, rows, columns, dtype)
        result, pullback = onp.vjp(theirs, *inputs, **case.attrs)
        dys = [np.linspace(1, 2, y.size).reshape(y.shape).astype(y.dtype) for y in outputs_of(result)]
        pairs = zip(flat(inputs), flat(pullback(*dys)), strict=True)
        expected = [np.zeros_like(x) if grad is None else grad for x, grad in pairs if x is not None]
        primal, pull = jax.vjp(lambda *arrays: outputs_of(ours(*arrays, **case.attrs)), *as_jax(inputs))
        cotangents = [
            jnp.asarray(dy) if jnp.issubdtype(y.dtype, jnp.inexact) else np.zeros(y.shape, jax.dtypes.float0)
            for y, dy in zip(primal, dys, strict=True)
        ]
        for grad, other in zip(jax.tree.leaves(pull(cotangents)), expected, strict=True):
            if grad.dtype == jax.dtypes.float0:
                continue
            if case.op == "host_sine":  # its steps are numpy's and jax's own
                np.testing.assert_allclose(grad, other, rtol=1e-6)
            else:
                assert same_bits(grad, other)

    holds()


def test_second_order():
    matmul = op("op_h", "oph_matmul")
    a, b = jnp.arange(6.0).reshape(2, 3), jnp.arange(12.0).reshape(3, 4) / 7
    ours = jax.jacrev(jax.grad(lambda a: (matmul(a, b, scale=0.5) ** 3).sum()))(a)
    theirs = jax.jacrev(jax.grad(lambda a: ((0.5 * a @ b) ** 3).sum()))(a)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    sine = op("host_ops", "host_sine")  # an eager gradient of two steps of the framework
    np.testing.assert_allclose(jax.grad(jax.grad(sine))(jnp.float32(0.3)), -np.sin(np.float32(0.3)), rtol=1e-5)
    relu = op("leaky_relu", "leaky_relu")
    assert not jax.grad(lambda x: jax.grad(lambda x: relu(x).sum())(x).sum())(jnp.asarray(X)).any()


def test_gradients_under_jit_and_of_one_input():
    gated = op("op_h", "oph_gated")
    gate = jnp.asarray([1.0, -1.0, 1.0])
    grad = jax.jit(jax.grad(lambda x: (gated(x, gate) * jnp.arange(3.0)).sum()))(jnp.ones(3))
    assert grad.tolist() == [0, 0, 2]
    norm = op("rms_norm", "rms_norm")
    x, w = jnp.ones((2, 4)), jnp.arange(4.0)
    both = jax.grad(lambda x, w: norm(x, w).sum(), argnums=(0, 1))(x, w)
    assert same_bits(jax.grad(lambda w: norm(x, w).sum())(w), both[1])


def test_what_has_no_gradient():
    with pytest.raises(GradientNotFoundError, match='op "host_no_gradient" has no gradient, and one is needed'):
        jax.grad(lambda x: op("host_ops", "host_no_gradient")(x).sum())(X)
    binary = op("op_h", "oph_binary")  # declared not differentiable
    assert not jax.grad(lambda x: binary(x, x, kind="add").sum())(X).any()


def calls_in(function, *arrays):
    return str(jax.make_jaxpr(function)(*arrays)).count("oneop_call[")


def loops_in(function, *arrays):
    return str(jax.make_jaxpr(function)(*arrays)).count("scan[")


@pytest.mark.parametrize("dims", [(0, None), (1, 0), (2, 1), (None, 0)])
def test_vmap_of_two_inputs(dims):
    matmul, g = op("op_h", "oph_matmul"), np.random.default_rng(0)
    shapes = [[2, 3], [3, 4]]
    for shape, dim in zip(shapes, dims, strict=True):
        if dim is not None:
            shape.insert(dim, 5)
    a, b = (jnp.asarray(g.standard_normal(shape)) for shape in shapes)
    result = jax.vmap(matmul, in_axes=dims)(a, b)
    expected = jnp.stack(
        [
            matmul(*(x if dim is None else jnp.take(x, i, axis=dim) for x, dim in zip((a, b), dims, strict=True)))
            for i in range(5)
        ]
    )
    assert same_bits(result, expected)


def test_vmap_is_one_call_where_a_split_allows_it():
    softmax = op("op_h", "oph_softmax")
    x = jnp.asarray(np.random.default_rng(0).standard_normal((5, 2, 3)))
    for axis in (0, 1):
        batched = jax.vmap(softmax, in_axes=axis)
        assert (calls_in(batched, x), loops_in(batched, x)) == (1, 0)
        expected = [softmax(jnp.take(x, i, axis=axis)) for i in range(x.shape[axis])]
        for result, others in zip(batched(x), zip(*expected, strict=True), strict=True):
            assert same_bits(result, jnp.stack(others))
    row = jax.vmap(jax.vmap(softmax))  # no axis is left to fold into
    assert loops_in(row, x) == 2 and same_bits(row(x)[0], softmax(x)[0])
    assert jax.vmap(softmax)(x[:0])[0].shape == (0, 2, 3)


def test_vmap_of_a_gradient_and_a_gradient_of_vmap():
    softmax = op("op_h", "oph_softmax")
    x = jnp.asarray(np.random.default_rng(1).standard_normal((4, 2, 3)))
    loss = lambda x: (softmax(x)[0] ** 2).sum()  # noqa: E731
    each = jnp.stack([jax.grad(loss)(row) for row in x])
    assert same_bits(jax.vmap(jax.grad(loss))(x), each)
    np.testing.assert_allclose(jax.grad(lambda x: jax.vmap(loss)(x).sum())(x), each, rtol=1e-12)


def mesh():
    return jax.sharding.Mesh(np.array(CPUS).reshape(2, 2), ("a", "b"))


needs_devices = pytest.mark.skipif(len(CPUS) < 4, reason="jax was set up with fewer devices before")


def compiled_text(function, *arrays):
    return jax.jit(function).lower(*arrays).compile().as_text()


@needs_devices
def test_rows_stay_where_they_are():
    softmax = op("op_h", "oph_softmax")
    x = jnp.asarray(np.random.default_rng(2).standard_normal((8, 6)))
    spread = jax.device_put(x, NamedSharding(mesh(), P(("a", "b"), None)))
    result = jax.jit(softmax)(spread)
    assert same_bits(result[0], softmax(x)[0])
    assert result[0].sharding.shard_shape((8, 6)) == (2, 6)
    assert "all-gather" not in compiled_text(softmax, spread)
    columns = jax.device_put(x, NamedSharding(mesh(), P(None, "a")))  # rows are needed whole
    assert same_bits(jax.jit(softmax)(columns)[0], softmax(x)[0])


@needs_devices
@pytest.mark.parametrize(
    ("left", "right", "local"),
    [
        (P("a", None), P(None, "b"), (4, 3)),
        (P(None, "a"), P("a", None), (8, 6)),
        (P("b", "a"), P("a", None), (4, 6)),
        (P("a", None), P(None, "a"), None),
    ],
)
def test_products_split_sums_too(left, right, local):
    matmul, g = op("op_h", "oph_matmul"), np.random.default_rng(3)
    a, b = jnp.asarray(g.integers(-9, 9, (8, 4)) * 1.0), jnp.asarray(g.integers(-9, 9, (4, 6)) * 1.0)
    result = jax.jit(matmul)(
        jax.device_put(a, NamedSharding(mesh(), left)), jax.device_put(b, NamedSharding(mesh(), right))
    )
    assert same_bits(result, a @ b)
    if local is not None:
        assert result.sharding.shard_shape((8, 6)) == local


@needs_devices
def test_gradients_of_sharded_arrays():
    norm = op("rms_norm", "rms_norm")
    x, w = jnp.asarray(np.random.default_rng(4).standard_normal((8, 6))), jnp.ones(6)
    loss = jax.jit(jax.grad(lambda x, w: (norm(x, w) ** 2).sum(), argnums=(0, 1)))
    spread = jax.device_put(x, NamedSharding(mesh(), P("a", None)))
    for ours, theirs in zip(loss(spread, w), loss(x, w), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


BAD = {
    "attribute": (lambda f, x: f(x, alpha="a"), ArgumentError),
    "too many": (lambda f, x: f(x, x), ArgumentError),
    "unknown": (lambda f, x: f(x, alhpa=1), ArgumentError),
    "missing": (lambda f, x: f(), ArgumentError),
    "dtype": (lambda f, x: f(x > 0), KernelNotFoundError),
}


@pytest.mark.parametrize("bad", BAD)
def test_bad_input_is_told_as_by_numpy(bad):
    act, cls = BAD[bad]
    with pytest.raises(cls) as theirs:
        act(onp.load(library("leaky_relu")).leaky_relu, X)
    for wrap in (lambda call: call, jax.jit):
        with pytest.raises(cls) as ours:
            wrap(lambda x: act(op("leaky_relu", "leaky_relu"), x))(jnp.asarray(X))
        assert str(ours.value) == str(theirs.value)


def test_shapes_that_do_not_fit_are_refused_while_tracing():
    with pytest.raises(Exception, match=r'op "oph_matmul": .*k') as raised:
        jax.eval_shape(op("op_h", "oph_matmul"), jnp.ones((2, 3)), jnp.ones((4, 5)))
    with pytest.raises(type(raised.value)) as theirs:
        onp.load(library("op_h")).oph_matmul(np.ones((2, 3)), np.ones((4, 5)))
    assert str(theirs.value) == str(raised.value)


def test_what_is_no_array_and_ops_that_are_not_there():
    relu = op("leaky_relu", "leaky_relu")
    with pytest.raises(ArgumentError, match=r'op "leaky_relu", input "x": expected a jax.Array, found float'):
        relu(3.0)
    assert same_bits(relu(X), relu(jnp.asarray(X)))
    with pytest.raises(OpNotFoundError, match=r'did you mean "leaky_relu"\?'):
        _ = ojax.ops.leaky_rely
    with pytest.raises(AttributeError, match='this library has no op "rely"; it has: leaky_relu'):
        _ = ojax.load(library("leaky_relu")).rely
    assert "leaky_relu" in dir(ojax.ops) and repr(relu) == "<oneop op leaky_relu on jax arrays>"
    with pytest.raises(
        OpNotImplementedError, match='op "oph_add_" changes its input "x", and arrays of JAX do not change'
    ):
        op("op_h", "oph_add_")


def test_a_kernel_that_throws_is_an_exception():
    fails = op("host_ops", "host_fails")
    for call in (fails, jax.jit(fails)):
        with pytest.raises(RuntimeError, match=r'op "host_fails", kernel at .*: out of patience'):
            jax.block_until_ready(call(X))
    assert same_bits(op("host_ops", "host_sine")(X), onp.load(library("host_ops")).host_sine(X))


HOST_INPUT = """
#include "oneflow/core/framework/framework.h"
#include "oneop/op.h"
OP("hosts_by(Tensor x, Tensor factor) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set_like("y", "x"); })
    .kernel<float(float, float)>([](auto x, auto factor, auto y) {
      for (int64_t i = 0; i != x.numel(); ++i) y[i] = x[i] * factor[0];
    })
    .no_grad();
REGISTER_OP_HOST_MEMORY_INPUT("hosts_by", "factor", 0);
"""


def test_programs_for_a_gpu_are_lowered_without_one(tmp_path):
    from oneop._build.library import build

    relu = jax.jit(op("leaky_relu", "leaky_relu"))
    text = relu.trace(X).lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("@oneop_call(") == 1
    (tmp_path / "by.cpp").write_text(HOST_INPUT)
    scaled = ojax.load(build("hosts_by", [tmp_path / "by.cpp"])).hosts_by
    assert same_bits(scaled(X, np.array([2], np.float32)), 2 * X)
    with pytest.raises(OpNotImplementedError, match="reads an input in host memory, which XLA does not hand over"):
        jax.jit(scaled).trace(X, X).lower(lowering_platforms=("cuda",))


def test_64_bits_that_are_switched_off():
    parts = op("arguments", "t_parts")
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(OpNotImplementedError, match='op "t_parts" gives int64, which JAX holds only with 64 bits'):
            parts(X)
    finally:
        jax.config.update("jax_enable_x64", True)


def test_equal_values_of_other_types_are_other_attributes():
    attrs = op("arguments", "t_attrs")
    assert same_bits(attrs(X, i32=1), onp.load(library("arguments")).t_attrs(X, i32=1))
    with pytest.raises(ArgumentError, match='attribute "i32": expected an int of 32 bits, found bool True'):
        attrs(jnp.asarray(X), i32=True)
    assert not same_bits(attrs(jnp.asarray(X), d=0.0), attrs(jnp.asarray(X), d=-0.0))


def test_calls_that_repeat_are_handed_on_to_their_programs():
    attrs, theirs = op("arguments", "t_attrs"), onp.load(library("arguments")).t_attrs
    x = jnp.asarray(X)
    values = [0.0, -0.0, float("nan"), float("inf"), 1.0, *np.linspace(2, 3, 9).tolist()]  # more than are kept
    for value in [*values, *values]:
        assert same_bits(attrs(x, d=value), theirs(X, d=value))
        assert same_bits(attrs(x, s="a", d=value), theirs(X, d=value, s="a"))
        assert same_bits(attrs(x, d=value, s="a"), theirs(X, d=value, s="a"))
        assert same_bits(attrs(x, i64s=[1, 2], d=value), theirs(X, i64s=[1, 2], d=value))
    with pytest.raises(ArgumentError, match='op "t_attrs" has no input or attribute "e"'):
        attrs(x, e=1.0)


def test_what_is_kept_for_arrays_is_not_used_for_other_inputs():
    affine, theirs = op("arguments", "t_affine"), onp.load(library("arguments")).t_affine
    x, y = jnp.asarray(X), jnp.asarray(2 * X)
    for _ in range(2):
        for inputs in [(x, None, y), (x, x, y), (X, None, y), (x, x, None)]:
            arrays = [None if array is None else np.asarray(array) for array in inputs]
            assert same_bits(affine(*inputs), theirs(*arrays))
    assert op("arguments", "t_range")(shape=(2, 3)).shape == (2, 3)
    assert op("arguments", "t_range")(shape=(3, 2)).shape == (3, 2)


def test_the_object_that_is_called():
    relu = op("leaky_relu", "leaky_relu")
    assert repr(relu) == "<oneop op leaky_relu on jax arrays>" and relu.__name__ == "leaky_relu"
    assert same_bits(jax.jit(relu)(jnp.asarray(X)), relu(jnp.asarray(X)))
    with pytest.raises(ArgumentError, match="keep_calls: expected a callable"):
        sys.modules["oneop._numpy_host"].keep_calls(relu)
    with pytest.raises(ArgumentError, match="keep: expected an edition, a dict and a program"):
        relu.keep(1)


def rebuilt(tmp_path, source):
    """The library hosts_changing, made of this source and loaded."""
    from oneop._build.library import build

    (tmp_path / "changing.cpp").write_text(f'#include "oneop/op.h"\n{source}')
    return ojax.load(build("hosts_changing", [tmp_path / "changing.cpp"]))


ONE = 'OP("hosts_changing(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return x; }).no_grad();'
TWO = ONE.replace("x)", "x, Tensor z)", 1).replace("(auto x)", "(auto x, auto z)").replace("return x", "return x + z")
PAIR = ONE.replace("Tensor y", "(Tensor y, Tensor w)").replace("return x", "return oneop::results(x, x)")
WIDE = """
OP("hosts_changing(Tensor x) -> Tensor y")
    .infer([](oneop::Infer& ctx) { ctx.set("y", {ctx.size("x", 0) * 100000}); })
    .kernel<float>([](auto x, auto y) {
      for (int64_t i = 0; i != y.numel(); ++i) y[i] = x[0];
    })
    .no_grad();
"""
IN_PLACE = 'OP("hosts_changing(Tensor(a!) x) -> ()").elementwise<float>([](auto x) { return x + 1; }).no_grad();'


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (TWO, "the call was made for 1 inputs, and the op has 2 since its library was loaded again"),
        (PAIR, "the call was made for 1 outputs, and the op has 2 since its library was loaded again"),
        (WIDE, "its library was loaded again, and its outputs are not those that this program was compiled for"),
    ],
    ids=["inputs", "outputs", "sizes"],
)
def test_programs_of_a_library_that_was_replaced_do_not_write_elsewhere(tmp_path, source, told):
    program, x = jax.jit(rebuilt(tmp_path, ONE).hosts_changing), jnp.asarray(X)
    assert same_bits(program(x), X)
    called = rebuilt(tmp_path, source).hosts_changing
    new = called(x, x) if source == TWO else called(x)
    expected = {TWO: 2 * X, PAIR: X, WIDE: np.full(3, X[0])}[source]
    assert same_bits(flat(outputs_of(new))[0][:3], expected)
    with pytest.raises((RuntimeError, ValueError), match=told):
        jax.block_until_ready(program(x))
    rebuilt(tmp_path, ONE)
    assert same_bits(program(x), X)


def test_an_op_that_was_replaced_is_read_again(tmp_path):
    called, x = rebuilt(tmp_path, ONE).hosts_changing, jnp.asarray(X)
    assert same_bits(called(x), called(x))
    rebuilt(tmp_path, TWO)
    for one in (called, ojax.ops.hosts_changing):
        assert same_bits(one(x, x), 2 * X) and same_bits(one(x, x), 2 * X)
        with pytest.raises(ArgumentError, match='input "z": expected exactly 1 tensor, found none'):
            one(x)
        with pytest.raises(ArgumentError, match=r'input "z": expected a jax.Array, found str'):
            one(x, "a")
    rebuilt(tmp_path, IN_PLACE)
    with pytest.raises(OpNotImplementedError, match='changes its input "x", and arrays of JAX do not change'):
        called(x)
    assert same_bits(x, X)


def test_without_jit():
    relu, x = op("leaky_relu", "leaky_relu"), jnp.asarray(X)
    expected, slope = relu(x), jax.grad(lambda x: relu(x).sum())(x)
    with jax.disable_jit():
        assert same_bits(relu(x), expected) and same_bits(jax.grad(lambda x: relu(x).sum())(x), slope)


def line():
    return jax.sharding.Mesh(np.array(CPUS), ("a",))


def both_ways(function, *arrays):
    """What a function gives, eager and compiled."""
    return [function(*arrays), jax.jit(function)(*arrays)]


@needs_devices
def test_ops_in_shard_map():
    softmax, x = op("op_h", "oph_softmax"), jnp.asarray(np.random.default_rng(5).standard_normal((8, 6)))
    for check in (True, False):
        rows = jax.shard_map(softmax, mesh=line(), in_specs=P("a"), out_specs=P("a"), check_vma=check)
        for result in both_ways(rows, x):
            assert all(map(same_bits, result, softmax(x)))
    each = jax.shard_map(jax.vmap(lambda row: softmax(row)[0]), mesh=line(), in_specs=P("a"), out_specs=P("a"))
    assert same_bits(each(x), softmax(x)[0])
    for claimed in both_ways_of_a_wrong_claim(softmax):  # parts differ, so they are no copies
        with pytest.raises(ValueError, match="replica"):
            claimed(x)


def both_ways_of_a_wrong_claim(function):
    wrong = jax.shard_map(lambda x: function(x)[0], mesh=line(), in_specs=P("a"), out_specs=P())
    return [wrong, jax.jit(wrong)]


@needs_devices
@pytest.mark.parametrize("check", [True, False])
def test_gradients_in_shard_map(check):
    matmul, g = op("op_h", "oph_matmul"), np.random.default_rng(6)
    a, b = jnp.asarray(g.standard_normal((8, 4))), jnp.asarray(g.standard_normal((4, 6)))
    rows = jax.shard_map(matmul, mesh=line(), in_specs=(P("a"), P()), out_specs=P("a"), check_vma=check)
    ours = jax.grad(lambda a, b: (rows(a, b) ** 3).sum(), argnums=(0, 1))
    theirs = jax.grad(lambda a, b: ((a @ b) ** 3).sum(), argnums=(0, 1))(a, b)
    for grads in both_ways(ours, a, b):  # that of b is summed over the devices
        for grad, other in zip(grads, theirs, strict=True):
            np.testing.assert_allclose(grad, other, rtol=1e-9)
    twice = jax.grad(lambda a: jax.grad(lambda a: (rows(a, b) ** 3).sum())(a).sum())
    expected = jax.grad(lambda a: jax.grad(lambda a: ((a @ b) ** 3).sum())(a).sum())(a)
    for grad in both_ways(twice, a):
        np.testing.assert_allclose(grad, expected, rtol=1e-9)
    inside = jax.shard_map(
        jax.grad(lambda a, b: (matmul(a, b) ** 3).sum()),
        mesh=line(),
        in_specs=(P("a"), P()),
        out_specs=P("a"),
        check_vma=check,
    )
    for grad in both_ways(inside, a, b):
        np.testing.assert_allclose(grad, theirs[0], rtol=1e-9)


@needs_devices
def test_gradients_in_shard_map_of_outputs_that_have_none():
    parts = op("arguments", "t_parts")  # one output is whole numbers
    rest = jax.shard_map(lambda x: parts(x)[1], mesh=line(), in_specs=P("a"), out_specs=P("a"))
    for grad in both_ways(jax.grad(lambda x: (2 * rest(x)).sum()), jnp.arange(8.0)):
        assert grad.tolist() == [2.0] * 8
    sine = op("host_ops", "host_sine")  # an eager gradient, of steps of the framework
    each = jax.shard_map(sine, mesh=line(), in_specs=P("a"), out_specs=P("a"))
    x = jnp.arange(8, dtype=jnp.float32)
    for grad in both_ways(jax.grad(lambda x: each(x).sum()), x):
        np.testing.assert_allclose(grad, np.cos(x), rtol=1e-5)


EFFECTS = """
#include <stdexcept>
#include "oneop/op.h"
OP("hosts_expect(Tensor x) -> ()").infer([](oneop::Infer&) {}).kernel<float>([](auto x) {
  for (int64_t i = 0; i != x.numel(); ++i) {
    if (x[i] < 0) throw std::runtime_error("a negative number");
  }
}).no_grad();
OP("hosts_noted(Tensor x) -> Tensor y").side_effect().elementwise<float>([](auto x) { return x; }).no_grad();
OP("hosts_drawn(Tensor x) -> Tensor y").random().elementwise<float>([](auto x) { return x; }).no_grad();
OP("hosts_drawn_whole(Tensor x) -> Tensor y").random().same_shape().kernel<float>([](auto x, auto y) {
  for (int64_t i = 0; i != x.numel(); ++i) y[i] = x[i];
}).no_grad();
"""


@pytest.fixture
def effects(tmp_path):
    from oneop._build.library import build

    (tmp_path / "effects.cpp").write_text(EFFECTS)
    return ojax.load(build("hosts_effects", [tmp_path / "effects.cpp"]))


def beside(act):
    """A function that calls `act` and gives something else."""
    return lambda x: (act(x), x + 1)[1]


WITH_EFFECTS = {
    "alone": lambda act: act,
    "unused": beside,
    "vmap": lambda act: beside(lambda x: jax.vmap(act)(x[:, None])),
    "grad": lambda act: jax.grad(lambda x: beside(act)(x).sum()),
    "checkpoint": lambda act: jax.grad(jax.checkpoint(lambda x: (beside(act)(x) ** 2).sum())),
    "scan": lambda act: lambda x: jax.lax.scan(lambda carry, row: (act(row), (carry, None))[1], 0, x[:, None])[0],
    "cond": lambda act: lambda x: jax.lax.cond(x.size > 1, beside(act), lambda x: x, x),
}


@pytest.mark.parametrize("use", WITH_EFFECTS)
@pytest.mark.parametrize("wrap", [lambda call: call, jax.jit], ids=["eager", "jit"])
def test_an_op_that_gives_nothing_is_called_for_what_it_does(effects, use, wrap):
    call = wrap(WITH_EFFECTS[use](effects.hosts_expect))
    jax.block_until_ready(call(jnp.abs(X)))
    jax.effects_barrier()

    def refused():
        jax.block_until_ready(call(jnp.asarray(X)))
        jax.effects_barrier()

    with pytest.raises(RuntimeError, match=r'op "hosts_expect", kernel at .*: a negative number'):
        refused()
    jax._src.dispatch.runtime_tokens.clear()  # else they are told once more when the process ends


@needs_devices
def test_effects_and_random_numbers_on_several_devices(effects):
    x = jnp.arange(8, dtype=jnp.float32)
    rows = jax.device_put(x, NamedSharding(line(), P("a")))
    for name, reason in [
        ("hosts_expect", "does more than give outputs"),
        ("hosts_noted", "does more than give outputs"),
        ("hosts_drawn_whole", "is random and has no SBP signatures"),
    ]:
        act = getattr(effects, name)
        for wrap in (lambda call: call, jax.jit):
            with pytest.raises(OpNotImplementedError, match=f'op "{name}" {reason}'):
                wrap(act)(rows)
        each = jax.shard_map(beside(act), mesh=line(), in_specs=P("a"), out_specs=P("a"))
        assert all(same_bits(y, x + 1) for y in both_ways(each, x))
    jax.effects_barrier()
    assert same_bits(jax.jit(effects.hosts_drawn)(rows), x)
    copies = jax.device_put(x, NamedSharding(mesh(), P("a")))  # each half on two devices
    with pytest.raises(RuntimeError, match='"hosts_drawn" is random, and some devices would have copies of a part'):
        jax.block_until_ready(jax.jit(effects.hosts_drawn)(copies))


def test_arrays_that_the_engine_cannot_describe():
    relu = op("leaky_relu", "leaky_relu")
    with pytest.raises(ArgumentError, match='op "leaky_relu": arrays of dtype int4 are not supported'):
        relu(jnp.ones(2, jnp.int4))
    from jax import export

    shape = jax.ShapeDtypeStruct(export.symbolic_shape("b, 3"), np.float32)
    with pytest.raises(OpNotImplementedError, match=r'op "leaky_relu": an input has the shape \(b, 3\), and inference'):
        export.export(jax.jit(relu))(shape)


FROM_ELSEWHERE = """
import sys, jax, jax.export, numpy as np, oneop.jax
oneop.jax.load(sys.argv[1])
with open(sys.argv[2], "rb") as file:
    program = jax.export.deserialize(file.read())
print(program.call(np.array([-1, 2], np.float32)).tolist())
"""


def test_a_program_of_another_process(tmp_path):
    pytest.importorskip("flatbuffers")
    import subprocess

    from jax import export

    relu, unchecked = op("leaky_relu", "leaky_relu"), [export.DisabledSafetyCheck.custom_call("oneop_call")]
    program = jax.jit(lambda x: relu(x, alpha=0.5))
    exported = export.export(program, platforms=["cpu"], disabled_checks=unchecked)(
        jax.ShapeDtypeStruct((2,), np.float32)
    )
    (tmp_path / "program").write_bytes(exported.serialize())
    (tmp_path / "run.py").write_text(FROM_ELSEWHERE)
    command = [sys.executable, tmp_path / "run.py", library("leaky_relu").path, tmp_path / "program"]
    environment = {**os.environ, "PYTHONPATH": str(Path(ojax.__file__).parents[2]), "JAX_PLATFORMS": "cpu"}
    said = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert said.stdout == "[-0.5, 2.0]\n", said.stderr
