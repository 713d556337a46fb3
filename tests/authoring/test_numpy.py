"""numpy kernels: views in, results out, and every way to get that wrong."""

import gc
import threading
import traceback

import numpy as np
import pytest
import torch

import oneop
from oneop.errors import (
    AmbiguousKernelError,
    KernelNotFoundError,
    OneopError,
    OpRuntimeError,
    OpTypeError,
    OpValueError,
    RegistrationError,
)


def make(kernel, schema="t_np(Tensor x) -> Tensor", **options):
    op = oneop.define(schema, infer="elementwise")
    op.register_kernel("cpu", **options)(kernel)
    return op


def line_of(function):
    return f"{__file__}:{function.__code__.co_firstlineno}"


def test_inputs_are_views_and_read_only():
    seen = []

    def kernel(x):
        seen.append((x.__array_interface__["data"][0], x.flags.writeable, x.flags.c_contiguous, type(x)))
        return x

    x = torch.arange(6.0).reshape(2, 3)
    op = make(kernel)
    op(x)
    assert seen[0] == (x.data_ptr(), False, True, np.ndarray)
    torch.testing.assert_close(op(x.t()), x.t())
    assert seen[1][2]  # arrived contiguous


def test_out_is_the_output_itself():
    def kernel(x, out):
        np.multiply(x, 2, out=out)

    x = torch.ones(3)
    torch.testing.assert_close(make(kernel)(x), 2 * x)


def test_a_ufunc_is_a_kernel():
    x = torch.randn(5)
    torch.testing.assert_close(make(np.tanh)(x), torch.tanh(x))


def test_any_strides():
    op = oneop.define("t_np(Tensor x) -> Tensor", infer="elementwise", any_strides=True)
    strides = []

    @op.register_kernel("cpu")
    def kernel(x):
        strides.append(x.strides)
        return x + 1

    x = torch.arange(6.0).reshape(2, 3).t()
    torch.testing.assert_close(op(x), x + 1)
    assert strides == [(4, 12)]


@pytest.mark.parametrize(
    "dtype",
    [torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.uint16, torch.bool,
     torch.complex64, torch.complex128],
)  # fmt: skip
def test_dtypes(dtype):
    if dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        pytest.importorskip("ml_dtypes")
    x = torch.tensor([0, 1, 1]).to(dtype)
    op = make(lambda x: x.copy())
    y = op(x)
    assert y.dtype == dtype
    assert torch.equal(y.view(torch.uint8), x.view(torch.uint8))


def test_dtype_and_priority_choose():
    op = oneop.define("t_np(Tensor x) -> Tensor", infer="elementwise")

    @op.register_kernel("cpu", dtypes=(torch.float32, torch.float64))
    def floats(x):
        return x + 1

    @op.register_kernel("cpu", dtypes=torch.int64)
    def ints(x):
        return x + 2

    @op.register_kernel("cpu", dtypes=torch.float32, priority=1, when=lambda x: x.shape[0] > 3)
    def long_ones(x):
        return x + 3

    assert op(torch.zeros(1)).item() == 1
    assert op(torch.zeros(1, dtype=torch.int64)).item() == 2
    assert op(torch.zeros(4))[0].item() == 3
    with pytest.raises(KernelNotFoundError) as error:
        op(torch.zeros(1, dtype=torch.int8))
    assert line_of(ints) in str(error.value) and '"x" is int8, the kernel is for int64' in str(error.value)
    assert "add one: @oneop.ops.t_np.register_kernel(...), or convert the inputs" in str(error.value)

    @op.register_kernel("cpu", dtypes=torch.int64, when=lambda x: True)
    def more_ints(x):
        return x

    with pytest.raises(AmbiguousKernelError):
        op(torch.zeros(2, dtype=torch.int64))


@pytest.mark.parametrize(
    "kernel, error, text",
    [
        (lambda x: x[:1], OpValueError, 'output "out": expected float32[2] in a numpy array, found float32[1]'),
        (lambda x: x.astype("f8"), OpTypeError, "expected float32[2] in a numpy array, found float64[2]"),
        (lambda x: [1.0, 2.0], OpValueError, "expected 1 array (a tuple), found 2"),
        (lambda x: None, OpTypeError, "found NoneType"),
        (lambda x: torch.ones(2), OpTypeError, "found Tensor"),
        (lambda x: (x, x), OpValueError, "expected 1 array (a tuple), found 2"),
    ],
)
def test_results_that_do_not_fit(kernel, error, text):
    op = make(kernel)
    with pytest.raises(error) as raised:
        op(torch.ones(2))
    assert text in str(raised.value)
    assert f'op "t_np", kernel at {line_of(kernel)}' in str(raised.value)


def test_out_and_a_result_do_not_go_together():
    def kernel(x, out):
        return x

    with pytest.raises(OpTypeError, match="it takes `out` and so must return None or `out`, found"):
        make(kernel)(torch.ones(2))


def test_an_exception_is_chained():
    def kernel(x):
        raise KeyError("the reason")

    op = make(kernel)
    for _ in range(2):
        with pytest.raises(OpRuntimeError) as raised:
            op(torch.ones(2))
        error = raised.value
        assert str(error).startswith(f"op \"t_np\", kernel at {line_of(kernel)}: KeyError: 'the reason'")
        assert isinstance(error.__cause__, KeyError)
        assert "raise KeyError" in "".join(traceback.format_exception(error))


def test_the_class_follows_the_exception():
    def kernel(x):
        raise ValueError("no")

    with pytest.raises(ValueError) as raised:
        make(kernel)(torch.ones(2))
    assert isinstance(raised.value, OneopError)


def test_an_interrupt_stays_one():
    def kernel(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(kernel)(torch.ones(2))


def test_an_array_that_is_kept_keeps_its_memory():
    kept = []

    def kernel(x):
        kept.append(x[1:])
        return x

    make(kernel)(torch.arange(1000.0))
    gc.collect()
    junk = [torch.full((1000,), -1.0) for _ in range(10)]
    np.testing.assert_array_equal(kept[0], np.arange(1, 1000, dtype="f4"))
    del junk


def test_empty_and_no_dimension():
    op = make(lambda x: x * x.dtype.type(2))
    assert op(torch.empty(0, 3)).shape == (0, 3)
    assert op(torch.tensor(2.0)).item() == 4


def test_what_a_kernel_may_take():
    with pytest.raises(RegistrationError) as raised:
        make(lambda x, alfa: x, "t_np(Tensor x, *, float alpha=1.0) -> Tensor")
    assert 'the op has no attribute "alfa", did you mean "alpha"?' in str(raised.value)
    with pytest.raises(RegistrationError, match="expected 1 inputs, found 0 parameters"):
        make(lambda: 1)


def test_cpu_only_says_so():
    op = oneop.define("t_np(Tensor x) -> Tensor", infer="elementwise")
    with pytest.raises(RegistrationError, match="numpy kernels run on the cpu only"):
        op.register_kernel("cuda")(lambda x: x)
    with pytest.raises(RegistrationError, match='there is no kernel language "fortran"'):
        op.register_kernel("cpu", language="fortran")(lambda x: x)


def test_threads():
    op = make(lambda x: x + x.dtype.type(1))
    wrong = []

    def work(i):
        for n in range(200):
            x = torch.full((n % 5 + 1,), float(i))
            if not torch.equal(op(x), x + 1):
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
