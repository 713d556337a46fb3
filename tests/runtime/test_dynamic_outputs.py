"""Outputs whose size depends on data: inference gives the largest, a kernel what there is."""

import math
import subprocess
import threading

import numpy as np
import pytest
import torch
import torch._inductor.config
from dynamic_sources import KEEP, ONEFLOW
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import distributed as dist
from torch._dynamo.testing import CompileCounterWithBackend
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

import oneop
import oneop.numpy
import oneop.typing as tp
from oneop.errors import (
    ArgumentError,
    CheckError,
    OpCheckFailed,
    OpNotImplementedError,
    OpRuntimeError,
    OpValueError,
    RegistrationError,
)
from oneop.registry import get_op, isolated
from oneop.testing import check
from quick_python import command

masks = st.lists(st.booleans(), max_size=40).map(lambda bits: torch.tensor(bits, dtype=torch.bool))
columns = st.integers(0, 5)


@pytest.fixture(scope="module")
def ops():
    with isolated():
        yield oneop.load_inline("dynamic_outputs", KEEP)


@pytest.fixture(scope="module")
def oneflow_ops():
    with isolated():
        yield oneop.load_inline("dynamic_oneflow", ONEFLOW)


@pytest.fixture
def captured():
    """Let torch.compile take such ops into its graphs, as torch has it for its own.

    Inductor makes no loops in C++ of torch's own ops, which take a second each to compile.
    """
    torch._dynamo.reset()
    lowering = torch._inductor.config.patch(fallback_by_default=True)
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True), lowering:
        yield
    torch._dynamo.reset()


# --- calls ---


@settings(max_examples=60, deadline=None)
@given(mask=masks, width=columns, dtype=st.sampled_from([torch.float32, torch.float64]))
def test_as_torch_selects(ops, mask, width, dtype):
    x = torch.randn(len(mask), width, dtype=dtype, requires_grad=True)
    y = ops.dy_keep(x, mask)
    expected = x[mask]
    assert torch.equal(y, expected) and y.dtype == dtype and y.stride() == expected.stride()
    assert y.untyped_storage().nbytes() == y.nbytes  # torch.save and clones take no more than there is
    weights = torch.randn_like(y)
    assert torch.equal(*(torch.autograd.grad(out, x, weights)[0] for out in (y, expected)))


@settings(max_examples=30, deadline=None)
@given(mask=masks, rows=st.integers(0, 5))
def test_another_axis_than_the_first(ops, mask, rows):
    x = torch.randn(rows, len(mask))
    kept, count = ops.dy_columns(x, mask)
    assert torch.equal(kept, x[:, mask]) and kept.is_contiguous()
    assert count == mask.sum() or x.numel() == 0


def test_gradients_of_two_orders(ops):
    x = torch.randn(6, 3, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([True, False, True, True, False, False])
    assert torch.autograd.gradcheck(lambda x: ops.dy_keep(x, mask), (x,))
    assert torch.autograd.gradgradcheck(lambda x: ops.dy_keep(x, mask), (x,))


def test_results_of_calls_with_one_plan_do_not_meet(ops):
    """The plan is shared, the shapes that kernels write to are not."""
    x = torch.randn(50, 2)

    def call(seed):
        generator = torch.Generator().manual_seed(seed)
        for _ in range(200):
            mask = torch.rand(50, generator=generator) < 0.5
            if not torch.equal(ops.dy_keep(x, mask), x[mask]):
                wrong.append(seed)

    wrong: list[int] = []
    threads = [threading.Thread(target=call, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_little_of_much_memory_is_copied(ops):
    x = torch.randn(100_000, 4)
    mask = torch.zeros(100_000, dtype=torch.bool)
    mask[7] = True
    y = ops.dy_keep(x, mask)
    assert y.untyped_storage().nbytes() == 16 and torch.equal(y, x[7:8])


@pytest.mark.parametrize(
    ("how", "error", "text"),
    [
        (0, OpValueError, 'set_size: the size of output "z" along axis 0 is fixed; declare it with .dynamic'),
        (1, OpValueError, 'set_size: the size of output "y" along axis 1 is fixed'),
        (2, OpValueError, 'set_size: output "y" has room for 4 along axis 0, found 1000'),
        (3, OpValueError, 'set_size: output "y" has room for 4 along axis 0, found -1'),
        (4, CheckError, 'output "y" was given the shape float32[1000, 2]\n  inference says at most float32[4, 2]'),
        (5, CheckError, 'output "y" was given the shape float32[4, 1]'),
    ],
)
def test_a_kernel_that_says_a_wrong_size(ops, how, error, text):
    x = torch.randn(4, 2)
    for _ in range(2):  # the plan is as it was
        with pytest.raises(error) as caught:
            ops.dy_wrong(x, how=how)
        assert text in str(caught.value)


# --- declarations ---


def test_what_cannot_be_declared():
    def refused(**options):
        with isolated(), pytest.raises(RegistrationError) as caught:
            oneop.define("dy_bad(Tensor x) -> Tensor y", infer="same_shape", **options)
        return str(caught.value)

    assert 'dynamic: there is no output "z"' in refused(dynamic={"z": 0}) and "outputs: y" in refused(dynamic={"z": 0})
    assert 'expected an axis of output "y" from 0 on, or several, found int -1' in refused(dynamic={"y": -1})
    assert "from 0 on, or several" in refused(dynamic={"y": ()})
    assert "from 0 on, or several" in refused(dynamic={"y": True})
    assert "expected a mapping of outputs to axes" in refused(dynamic=["y"])
    assert "cannot be split over devices" in refused(dynamic={"y": 0}, sbp="S(0) -> S(0)")


def test_signatures_that_come_later_are_refused():
    with isolated():
        op = oneop.define("dy_later(Tensor x) -> Tensor y", infer="elementwise", dynamic={"y": 0})
        assert not get_op("dy_later").has_sbp  # that of "elementwise" does not hold
        with pytest.raises(RegistrationError, match="leave out its SBP signatures"):
            op.register_sbp("S(0) -> S(0)")


def test_a_wrong_declaration_in_cpp():
    with isolated(), pytest.raises(RegistrationError) as caught:
        oneop.load_inline(
            "dynamic_wrong",
            '#include "oneop/op.h"\nOP("dy_w(Tensor x) -> Tensor y").same_shape().dynamic("yy", 0);\n',
        )
    assert "expected an output and an axis from 0 on" in str(caught.value) and "did you mean y" in str(caught.value)


def test_an_op_shows_it(ops):
    assert "its size depends on data" in str(get_op("dy_keep"))
    assert torch.Tag.dynamic_output_shape in ops.dy_keep.overload.tags


def test_an_op_that_is_defined_again_without_it():
    with isolated():
        for dynamic in ({"y": 0}, None, {"y": 0}):
            op = oneop.define("dy_again(Tensor x) -> Tensor y", infer="same_shape", dynamic=dynamic)

            @op.register_kernel
            def _(x):
                return x

            assert (torch.Tag.dynamic_output_shape in op.overload.tags) == (dynamic is not None)
            if dynamic is None:
                assert op(torch.ones(3, device="meta")).shape == (3,)
                assert torch.vmap(op)(torch.ones(2, 3)).shape == (2, 3)
            else:
                with pytest.raises(OpRuntimeError, match="tensors on the meta device have none"):
                    op(torch.ones(3, device="meta"))


# --- kernels in Python ---


@pytest.fixture(params=["numpy", "torch"], scope="module")
def nonzero(request):
    with isolated():
        op = oneop.define("dy_nonzero(Tensor x) -> Tensor y", dynamic={"y": 0}, differentiable=False)

        @op.register_infer
        def _(x):
            return oneop.TensorSpec((math.prod(x.shape), len(x.shape)), torch.int64)

        @op.register_kernel(language=request.param)
        def _(x):
            if request.param == "torch":
                return torch.nonzero(x)
            return np.argwhere(x)

        yield op


@settings(max_examples=30, deadline=None)
@given(shape=st.lists(st.integers(0, 4), min_size=1, max_size=3), seed=st.integers(0, 100))
def test_results_may_be_smaller(nonzero, shape, seed):
    x = torch.randint(0, 2, shape, generator=torch.Generator().manual_seed(seed)).float()
    assert torch.equal(nonzero(x), torch.nonzero(x))


@pytest.mark.parametrize("language", ["numpy", "torch"])
@pytest.mark.parametrize("shape", [(5, 2), (2, 1), (3,)])
def test_results_that_do_not_fit(language, shape):
    with isolated():
        op = oneop.define("dy_misfit(Tensor x) -> Tensor y", infer="same_shape", dynamic={"y": 0})

        @op.register_kernel(language=language)
        def _(x):
            return torch.ones(shape) if language == "torch" else np.ones(shape, np.float32)

        with pytest.raises(OpValueError, match=r"expected at most float32\[4, 2\]"):
            op(torch.ones(4, 2))


def test_kernels_that_only_fill_memory_are_refused():
    with isolated():
        op = oneop.define("dy_out(Tensor x) -> Tensor y", infer="same_shape", dynamic={"y": 0})
        with pytest.raises(RegistrationError, match="so a kernel must return it\n  it takes out: write it with"):

            @op.register_kernel
            def _(x, out):
                out[:] = x

        pytest.importorskip("numba")
        with pytest.raises(RegistrationError, match="it is compiled, and can only fill its outputs"):

            @op.register_kernel(language="numba")
            def _(x, out):
                out[0] = x[0]


def test_a_composition_is_differentiated_and_compiled(captured):
    with isolated():
        op = oneop.define("dy_positive(Tensor x) -> Tensor y", infer="same_shape", dynamic={"y": 0})

        @op.register_kernel(language="torch")
        def _(x):
            return x[x > 0] * 2

        x = torch.randn(20, requires_grad=True)
        compiled = torch.compile(lambda x: op(x).sum(), fullgraph=True)
        for function in (lambda x: op(x).sum(), compiled):
            assert torch.allclose(function(x), 2 * x[x > 0].sum())
            assert torch.equal(torch.autograd.grad(function(x), x)[0], 2.0 * (x > 0))


# --- where torch traces ---


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_with_symbols(ops, captured, backend):
    counter = CompileCounterWithBackend(backend)

    def function(x, mask):
        return ops.dy_put(ops.dy_keep(x, mask) * 2, mask).sum(0), ops.dy_keep(x, mask)

    compiled = torch.compile(function, fullgraph=True, backend=counter, dynamic=True)
    for rows in (8, 5, 30):
        x = torch.randn(rows, 3, requires_grad=True)
        for mask in (torch.rand(rows) < 0.5, torch.zeros(rows, dtype=torch.bool), torch.ones(rows, dtype=torch.bool)):
            results, expected = compiled(x, mask), function(x, mask)
            torch.testing.assert_close(results, expected)
            grads = [torch.autograd.grad(out[0].sum() + out[1].sum(), x)[0] for out in (results, expected)]
            assert torch.equal(*grads)
    assert counter.frame_count == 1  # one program for all sizes and all data


# Among the quick tests each two of the values meet.
@pytest.mark.parametrize(
    "rows, dynamic, backend",
    [
        pytest.param(
            rows, dynamic, backend, marks=[pytest.mark.slow] * ((rows + dynamic + (backend == "inductor")) % 2)
        )
        for rows in (0, 1, 2)
        for dynamic in (True, False)
        for backend in ("aot_eager", "inductor")
    ],
)
def test_compiled_for_few_rows_first(ops, captured, rows, dynamic, backend):
    def function(x, mask):
        return ops.dy_keep(x, mask) * 2

    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True, backend=backend, dynamic=dynamic)
    for count in (rows, 3, rows):
        for mask in (torch.zeros(count, dtype=torch.bool), torch.ones(count, dtype=torch.bool)):
            x = torch.randn(count, 3, requires_grad=True)
            result, expected = compiled(x, mask), function(x, mask)
            torch.testing.assert_close(result, expected)
            assert torch.equal(*(torch.autograd.grad(out.square().sum(), x)[0] for out in (result, expected)))


def test_compiled_around_it_where_torch_captures_none(ops):
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=False):
        compiled = torch.compile(lambda x, mask: ops.dy_keep(x * 2, mask) + 1, backend="aot_eager")
        x, mask = torch.randn(6, 2), torch.tensor([True, False] * 3)
        assert torch.equal(compiled(x, mask), (x * 2)[mask] + 1)
    torch._dynamo.reset()


def test_exported_and_checked_by_torch(ops):
    class Module(torch.nn.Module):
        def forward(self, x, mask):
            return ops.dy_keep(x, mask).sum(0)

    x, mask = torch.randn(6, 2, requires_grad=True), torch.tensor([True, False] * 3)
    program = torch.export.export(Module(), (x, mask)).module()
    for other in (mask, ~mask, torch.ones(6, dtype=torch.bool)):
        assert torch.allclose(program(x, other), x[other].sum(0))
    results = torch.library.opcheck(ops.dy_keep.overload, (x, mask))
    assert set(results.values()) == {"SUCCESS"}


def test_traced_without_a_declaration(oneflow_ops):
    def call():
        return oneflow_ops.dy_source(rows=2)

    assert call().shape == (2, 2)
    with torch._subclasses.FakeTensorMode(), pytest.raises(OpRuntimeError) as caught:
        call()
    assert "which torch must know before it traces a call\n  declare it: .dynamic(output, axis)" in str(caught.value)


def test_vmap_and_meta_tensors(ops):
    with pytest.raises(OpNotImplementedError) as caught:
        torch.vmap(ops.dy_keep)(torch.ones(2, 3, 1), torch.ones(2, 3, dtype=torch.bool))
    assert "so the results of a vmap would have different sizes" in str(caught.value)
    with pytest.raises(OpRuntimeError, match="and tensors on the meta device have none"):
        ops.dy_keep(torch.ones(3, 1, device="meta"), torch.ones(3, dtype=torch.bool, device="meta"))


def test_dtensors(ops):
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    try:
        mesh = init_device_mesh("cpu", (2,))
        x = DTensor.from_local(torch.ones(3, 1), mesh, [Shard(0)], run_check=False)
        mask = DTensor.from_local(torch.ones(3, dtype=torch.bool), mesh, [Shard(0)], run_check=False)
        with pytest.raises(OpNotImplementedError) as caught:
            ops.dy_keep(x, mask)
        assert "so it cannot be split over devices\n  call it on whole tensors: x.full_tensor()" in str(caught.value)
        assert ops.dy_keep(x.to_local(), mask.to_local()).shape == (3, 1)
    finally:
        dist.destroy_process_group()


# --- OneFlow's spelling, jobs ---


@pytest.mark.parametrize("rows", [0, 1, 3, 5])
def test_inference_that_calls_an_output_dynamic(oneflow_ops, rows):
    expected = torch.arange(2.0 * rows).view(rows, 2)
    assert torch.equal(oneflow_ops.dy_source(rows=rows), expected)

    @oneop.global_function()
    def job() -> tp.Numpy:
        return oneflow_ops.dy_source(rows=rows)

    for _ in range(2):
        assert np.array_equal(job(), expected.numpy())


def test_a_shape_that_is_not_the_kernels_to_change(oneflow_ops):
    for _ in range(2):
        with pytest.raises(OpValueError) as caught:
            oneflow_ops.dy_fixed(torch.ones(3))
        text = 'tensor "out" of op "dy_fixed" has a fixed shape, which a kernel must not change'
        assert text in str(caught.value) and "set_is_dynamic(true)" in str(caught.value)


def test_results_of_a_job(ops):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((4, 2)), mask: tp.Numpy.Placeholder((4,), dtype=torch.bool)) -> tp.Numpy:
        return ops.dy_keep(x * 2, mask)

    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    for bits in ([1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]):
        mask = np.array(bits, bool)
        assert np.array_equal(job(x, mask), x[mask] * 2)


def test_a_job_that_computes_with_it_is_refused(ops):
    @oneop.global_function()
    def job(x: tp.Numpy.Placeholder((4, 2)), mask: tp.Numpy.Placeholder((4,), dtype=torch.bool)) -> tp.Numpy:
        return ops.dy_keep(x, mask) * 2

    with pytest.raises(ArgumentError) as caught:
        job(np.ones((4, 2), np.float32), np.ones(4, bool))
    assert str(caught.value) == (
        'job "job": the size of what an op gives depends on data, and aten.mul.Tensor uses it: dy_keep\n'
        "  return it from the job, and compute the rest outside"
    )


# --- other hosts, the checker ---


def test_numpy(ops):
    path = ops.path
    numpy_ops = oneop.numpy.load(path)
    x, mask = np.random.randn(7, 3), np.array([1, 0, 1, 1, 0, 0, 1], bool)
    y = numpy_ops.dy_keep(x, mask)
    assert np.array_equal(y, x[mask]) and y.flags.owndata
    made, pullback = oneop.numpy.vjp(numpy_ops.dy_keep, x, mask)
    assert np.array_equal(pullback(np.ones_like(made))[0], np.repeat(mask[:, None], 3, 1).astype(float))


def test_jax_has_no_such_arrays(ops):
    pytest.importorskip("jax")
    code = f"""
import oneop.jax
try:
    oneop.jax.load({str(ops.path)!r}).dy_keep
except Exception as error:
    print(type(error).__name__, error)
"""
    ran = subprocess.run([*command(), "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert "OpNotImplementedError" in ran.stdout and "and arrays of JAX have fixed sizes" in ran.stdout


def test_the_checker_takes_it(ops):
    def reference(x, mask):
        return x[mask]

    families = ("memory", "inference", "reference", "gradient", "second gradient", "compile", "export", "job")
    only = [*families, "layouts", "special values", "vmap"]
    report = check("dy_keep", reference=reference, only=only, examples=8)
    assert not report.failures, str(report)
    statuses = {outcome.family: outcome.status for outcome in report.outcomes}
    assert all(statuses[family] == "passed" for family in families)
    assert statuses["vmap"] == "skipped"


def test_the_checker_where_values_decide_the_size():
    """Nudged inputs of the reference, zeros and special values give other sizes: no judge, and no failure."""
    with isolated():
        op = oneop.define("dy_above(Tensor x) -> Tensor y", dynamic={"y": 0}, differentiable=False)

        @op.register_infer
        def _(x):
            return (math.prod(x.shape),)

        @op.register_kernel(dtypes=(torch.float32, torch.float64))
        def _(x):
            return x[x > 0]

        skip = ["determinism", "threads", "leaks", "sizes", "opcheck", "compile", "environment"]
        report = check(op, reference=lambda x: x[x > 0], skip=skip, examples=8)
        assert report.ok, str(report)

        @op.register_kernel(dtypes=(torch.float32, torch.float64))
        def _(x):
            return x[x > 0][:-1] if x.size > 20 else x[x > 0]

        with pytest.raises(OpCheckFailed, match=r"y is float32\[\d+\], expected float32\[\d+\]"):
            check(op, reference=lambda x: x[x > 0], only="reference")
