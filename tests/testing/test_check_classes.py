"""Classes of faults that `oneop.testing.check` looks for, with the text of each failure."""

import ctypes
import mmap
import os
import time

import numpy as np
import pytest
import torch

import oneop
from oneop.testing import checker, repeat, tensor_case
from oneop.testing.checker import run_check
from oneop.testing.memory import isolation
from oneop.testing.memory.isolation import Death, first_death
from oneop.testing.subject import Hints

FLOATS = (torch.float32, torch.float64)


def failure_of(op, family, **hints):
    report = run_check(op, Hints(**hints), only=family, examples=8)
    assert [outcome.family for outcome in report.failures] == [family], str(report)
    return report.failures[0].failure.message


def unary(name, kernel, schema="(Tensor x) -> Tensor y", dtypes=FLOATS, language="numpy", **options):
    op = oneop.define(name + schema, infer="elementwise", differentiable=False, **options)
    op.register_kernel("cpu", dtypes=dtypes, language=language)(kernel)
    return op


def test_a_call_that_ends_the_process():
    schema = "(Tensor x, int by) -> Tensor y"
    op = unary("dies_at_zero", lambda x, by: ctypes.string_at(0) if by == 0 else x / by, schema)
    message = failure_of(op, "crashes")
    assert message.startswith("the call ends the process: SIGSEGV\nrefuse the value: a check or the inference")


def test_an_infinity_that_ends_the_process():
    op = unary("dies_of_infinity", lambda x: ctypes.string_at(0) if np.isinf(x).any() else x * 2)
    assert failure_of(op, "crashes") == "the call ends the process: SIGSEGV"


def test_a_call_that_exits():
    op = unary("exits", lambda x: os._exit(3))
    assert failure_of(op, "crashes") == "the call ends the process: exit status 3"


def test_a_call_that_hangs(monkeypatch):
    monkeypatch.setattr(isolation, "SECONDS", 1.0)
    monkeypatch.setattr("oneop.testing.families.crashes._returns", lambda case: False)
    op = unary("hangs", lambda x: time.sleep(100))
    assert failure_of(op, "crashes") == "the call does not return within 1 s"


def test_first_death():
    assert first_death([]) is None
    assert first_death([lambda: 1 / 0, lambda: None]) is None
    assert first_death([lambda: None, lambda: os.abort()]) == Death(1, "SIGABRT")


READS_PAST = """#include "oneop/op.h"
OP("looks_past(Tensor x) -> Tensor y").same_shape()
    .kernel<float>([](oneop::View<const float> x, oneop::View<float> y) {
      volatile float next = 0;
      for (int64_t i = 0; i < x.numel(); ++i) { y.data()[i] = x.data()[i]; next = x.data()[i + 1]; }
    }).no_grad();
"""


def test_a_read_that_shows_in_no_result():
    op = oneop.load_inline("looks_past", READS_PAST).looks_past
    message = failure_of(op, "memory")
    assert message.endswith('reads or writes past the end of input "x", where there may be no memory')


LATE = """#include <chrono>
#include <thread>
#include "oneop/op.h"
OP("writes_late(Tensor x) -> Tensor y").same_shape()
    .kernel<float>([](oneop::View<const float> x, oneop::View<float> y) {
      for (int64_t i = 0; i < x.numel(); ++i) { y.data()[i] = x.data()[i]; }
      if (x.numel() == 3) {
        std::thread([p = y.data()] {
          std::this_thread::sleep_for(std::chrono::milliseconds(5)); p[0] = 7;
        }).detach();
      }
    }).no_grad();
"""


def test_a_write_after_the_call():
    op = oneop.load_inline("writes_late", LATE).writes_late
    assert failure_of(op, "memory").endswith("writes to memory after it has returned, from another thread or stream")


def test_memory_that_is_never_freed():
    kept = []

    def kernel(x):
        kept.append(np.copy(x))
        return x * 2

    message = failure_of(unary("keeps", kernel), "leaks")
    assert "bytes of memory that are never freed" in message


def test_files_and_pages_that_are_kept(tmp_path):
    files, pages = [], []
    (tmp_path / "file").write_text("")
    op = unary("keeps_files", lambda x: files.append((tmp_path / "file").open()) or x * 2)
    assert failure_of(op, "leaks") == "each call keeps a file open"
    for file in files:
        file.close()
    op = unary("keeps_pages", lambda x: pages.append(mmap.mmap(-1, 1 << 16)) or x * 2)
    assert failure_of(op, "leaks") == "each call keeps memory that it has mapped"


def test_double_that_is_computed_in_float():
    op = unary("in_float", lambda x: np.sin(x.astype(np.float32)).astype(x.dtype), dtypes=torch.float64)
    assert failure_of(op, "values") == (
        "results of float64 have the 24 bits of float32 only: the kernel computes in float"
    )


def test_a_result_that_is_an_input():
    op = oneop.define("same_memory(Tensor x, Tensor y) -> Tensor z", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x, y: x + y if x is not y else x)
    assert run_check(op, Hints(), only="aliases").ok
    from oneop.testing.explore import Broken
    from oneop.testing.families.aliases import assert_own_memory

    x = torch.ones(3)
    with pytest.raises(Broken, match="result 0 shares its memory with an input, which the schema does not say"):
        assert_own_memory([x[1:]], [x])


def test_the_same_tensor_twice():
    op = oneop.define("not_itself(Tensor x, Tensor y) -> Tensor z", infer="elementwise", differentiable=False)

    @op.register_kernel("cpu", dtypes=torch.float32)
    def kernel(x, y):
        return x + y + np.float32(x.ctypes.data == y.ctypes.data)

    assert failure_of(op, "aliases").startswith("with the same tensor for x and y: z[0")


def test_the_sign_of_zero():
    wrong = unary("drops_sign", lambda x: np.where(x == 0, np.abs(x), 2 * x))
    message = failure_of(wrong, "special values", reference=lambda x: 2 * x)
    assert "a zero has the wrong sign: element" in message and "expected -0.0, the limit from that side" in message
    either = unary("either_zero", lambda x: np.where(x <= 0, 0, x).astype(x.dtype))
    assert run_check(either, Hints(reference=lambda x: torch.where(x < 0, 0.0, x)), only="special values").ok


def test_a_gradient_that_one_dtype_lacks():
    op = oneop.define("half_gradient(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: x * x)
    op.register_grad(lambda ctx, dy: 2 * ctx.x * dy if ctx.x.dtype == torch.float64 else None)
    message = failure_of(op, "gradient")
    assert message == "the gradient of x is there in one of float32 and float64 only"


def test_a_gradient_that_is_wrong_in_one_dtype():
    op = oneop.define("other_gradient(Tensor x) -> Tensor y", infer="elementwise")
    op.register_kernel("cpu", dtypes=FLOATS)(lambda x: x * x)
    op.register_grad(lambda ctx, dy: (2 if ctx.x.dtype == torch.float64 else 3) * ctx.x * dy)
    assert failure_of(op, "gradient").startswith("the gradient in float32 differs from that in float64: x")


@pytest.mark.parametrize("error", [3e-6, 1e-4, 1e-2])
def test_derived_bounds_refuse_small_errors(error):
    op = unary(f"off_by_{str(error).replace('-', '_').replace('.', '_')}", lambda x: (x * (1 + error)).astype(x.dtype))
    assert "within" in failure_of(op, "reference", reference=lambda x: x * 1.0)


CANCELLING = {
    "variance": (lambda x: x.var(-1), lambda x: torch.var(x, -1, correction=0), "... n -> ..."),
    "sum_of_differences": (lambda x: (x - x[..., ::-1] * 0.999).sum(-1), None, "... n -> ..."),
    "one_minus_tanh_squared": (lambda x: 1 - np.tanh(x) ** 2, lambda x: 1 - torch.tanh(x) ** 2, "elementwise"),
    "difference_of_squares": (lambda x: x * x - (x - 0.01) ** 2, lambda x: x * x - (x - 0.01) ** 2, "elementwise"),
    "log_of_sum": (lambda x: np.log(np.exp(x).sum(-1)), lambda x: x.exp().sum(-1).log(), "... n -> ..."),
    "softmax": (
        lambda x: np.exp(x - x.max(-1, keepdims=True)) / np.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True),
        lambda x: torch.softmax(x, -1),
        "... n -> ... n",
    ),
    "rounded": (lambda x: np.round(x * 7), lambda x: torch.round(x * 7), "elementwise"),
    "mean_of_cubes": (lambda x: (x**3).mean(-1), lambda x: (x**3).mean(-1), "... n -> ..."),
}


@pytest.mark.parametrize("name", CANCELLING)
def test_derived_bounds_take_cancellation(name):
    """Eight situations in which a fixed tolerance is too tight for right kernels, or too loose for wrong ones."""
    kernel, reference, infer = CANCELLING[name]
    reference = reference or (lambda x: (x - x.flip(-1) * 0.999).sum(-1))
    op = oneop.define(f"right_{name}(Tensor x) -> Tensor y", infer=infer, differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: kernel(x).astype(x.dtype))
    op.register_check(lambda x: infer == "elementwise" or x.shape[-1] > 0 or "nothing to reduce")
    report = run_check(op, Hints(reference=reference), only=["reference", "kernels"])
    assert report.ok, str(report)
    wrong = oneop.define(f"wrong_{name}(Tensor x) -> Tensor y", infer=infer, differentiable=False)
    wrong.register_kernel("cpu", dtypes=torch.float32)(lambda x: (kernel(x) * np.float32(1.001)).astype(x.dtype))
    wrong.register_check(lambda x: infer == "elementwise" or x.shape[-1] > 0 or "nothing to reduce")
    assert not run_check(wrong, Hints(reference=reference), only="reference").ok


def test_sizes_are_bisected():
    def kernel(x):
        result = x * 2
        result.reshape(-1)[4096:] = 0
        return result

    report = run_check(unary("wrong_beyond_4096", kernel), Hints(reference=lambda x: x * 2), only="sizes")
    assert report.failures[0].failure.case.endswith("float32[4097]")


def test_time_that_runs_out_is_told(monkeypatch):
    monkeypatch.setattr(checker, "SECONDS", 0.5)
    op = unary("slow", lambda x: time.sleep(0.6) or x)  # it waits, which is no processor time
    report = run_check(op, Hints(), only="aliases")
    assert report.outcomes[0].status == "passed"
    monkeypatch.setattr(checker, "SECONDS", 0.3)
    op = unary("slower", lambda x: [sum(range(10**5)) for _ in range(4)] and x)
    report = run_check(op, Hints(), only="determinism", examples=100)
    assert report.outcomes[0].status == "partial"
    assert report.outcomes[0].note.startswith("out of time: ")
    assert "more calls were not tried" in report.outcomes[0].note and report.ok
    assert "1 partial" in str(report)


def test_repeat():
    op = unary("repeated_wrong", lambda x: x + x.dtype.type(x.ndim == 2))
    oneop.testing.reference(op)(lambda x: x * 1)
    assert repeat(op, "reference", [tensor_case((3,), torch.float32)]).ok
    with pytest.raises(AssertionError, match="the result differs from the reference: y\\[0, 0\\]"):
        repeat(op, "reference", [tensor_case((3, 2), torch.float32)])


def test_no_results_are_not_passed():
    op = oneop.define("no_results(Tensor x) -> ()", differentiable=False)
    op.register_infer(lambda x: [])
    op.register_kernel("cpu", dtypes=torch.float32)(lambda x: None)
    report = run_check(op, Hints(), only=["determinism", "layouts", "memory"])
    notes = {outcome.family: outcome.note for outcome in report.outcomes}
    assert notes["determinism"] == notes["layouts"] == "the op has no results to compare"
