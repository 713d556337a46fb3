"""Classes of faults in calls that drawn ones leave out: values, layouts, sizes, words; and calls that are refused."""

import numpy as np
import torch

import oneop
from oneop.testing.checker import run_check
from oneop.testing.subject import Hints
from oneop.testing.values import LAYOUTS, OFFSETS, tensor

FLOATS = (torch.float32, torch.float64)


def define(name, kernel, infer="elementwise", schema="(Tensor x) -> Tensor y", dtypes=FLOATS, **options):
    op = oneop.define(name + schema, infer=infer, differentiable=False, **options)
    op.register_kernel("cpu", dtypes=dtypes)(kernel)
    return op


def failure_of(op, family, **hints):
    report = run_check(op, Hints(**hints), only=family, examples=8)
    assert [outcome.family for outcome in report.failures] == [family], str(report)
    return report.failures[0].failure


def outcome_of(op, family, **hints):
    report = run_check(op, Hints(**hints), only=family, examples=8)
    return {outcome.family: outcome for outcome in report.outcomes}[family]


# ---- values ----


def test_squares_that_overflow():
    def kernel(x):
        with np.errstate(all="ignore"):
            return (x / np.sqrt(1 + x * x)).astype(x.dtype)

    failure = failure_of(define("sign_by_squares", kernel), "values", reference=lambda x: x / torch.hypot(x, x * 0 + 1))
    assert failure.message.startswith("the result differs from the reference: y") and "extreme" in failure.case
    right = define("sign_by_hypot", lambda x: (x / np.hypot(x, 1)).astype(x.dtype))
    assert outcome_of(right, "values", reference=lambda x: x / torch.hypot(x, x * 0 + 1)).status == "passed"


def test_an_overflow_that_the_reference_has_too():
    def kernel(x):
        with np.errstate(all="ignore"):
            return x / (1 + x * x)

    op = define("falls_by_squares", kernel)
    assert outcome_of(op, "values", reference=lambda x: x / (1 + x * x)).status == "passed"


def test_digits_that_cancel_far_from_zero():
    def kernel(x):
        places = np.arange(x.shape[1], dtype=x.dtype)
        return ((x - x.mean(1, keepdims=True)) * (places - places.mean())).mean(1).astype(x.dtype)

    def reference(x):
        places = torch.arange(x.shape[1], dtype=x.dtype)
        return ((x - x.mean(1, keepdim=True)) * (places - places.mean())).mean(1)

    def squares(x):
        return ((x * x).sum(1) - x.sum(1) ** 2 / x.shape[1]).astype(x.dtype)

    op = define("sum_of_squares_at_once", squares, "r [n] -> r")
    op.register_check(lambda x: x.shape[1] > 0 or "nothing")
    failure = failure_of(op, "values", reference=lambda x: ((x - x.mean(1, keepdim=True)) ** 2).sum(1))
    assert failure.case.endswith("shifted")
    right = define("slope_of_rows", kernel, "r [n] -> r")
    right.register_check(lambda x: x.shape[1] > 0 or "nothing")
    assert outcome_of(right, "values", reference=reference).status == "passed"


def test_integers_that_float_does_not_hold():
    op = define("sum_in_float", lambda x: x.astype(np.float32).sum(1).astype(x.dtype), "r [n] -> r", dtypes=torch.int64)
    failure = failure_of(op, "values", reference=lambda x: x.sum(1))
    assert failure.case == "x int64[5, 17] wide"


def test_fills_and_layouts():
    shifted = tensor((64,), torch.float32, fill="shifted")
    assert float(shifted.min()) > 8000 and float(shifted.std()) < 4
    extreme = tensor((64,), torch.float32, fill="extreme")
    assert extreme.isfinite().all() and (extreme * extreme).isinf().any()
    assert not (tensor((64,), torch.float16, fill="extreme").isinf().any())
    wide = tensor((64,), torch.int64, fill="wide")
    assert 2**32 < int(wide.abs().max()) < 2**40
    assert tensor((2, 3, 4), torch.float32, layout="reversed").stride() == (1, 2, 6)
    assert "reversed" in LAYOUTS
    starts = {tensor((8,), torch.float32, layout="offset", seed=seed).data_ptr() % 64 for seed in range(OFFSETS)}
    assert {4, 8, 16, 32} <= starts


# ---- layouts and shapes ----


def test_an_address_that_is_taken_for_aligned():
    def kernel(x):
        is_wrong = x.ctypes.data % 64 == 4 * 4
        return x if is_wrong and x.size > 64 else 2 * x

    failure = failure_of(define("half_aligned", kernel, dtypes=torch.float32), "layouts")
    assert failure.message.startswith("with offset inputs: y[")


LOSES_A_STRIDE = """#include "oneop/op.h"
OP("loses_a_stride(Tensor x) -> Tensor y").same_shape().strided()
    .kernel<float>([](oneop::View<const float> x, oneop::View<float> y) {
      const int64_t rank = x.dim();
      for (int64_t i = 0; i < x.numel(); ++i) {
        int64_t rest = i, offset = 0;
        for (int64_t axis = rank - 1; axis >= 0; --axis) {
          offset += rest % x.size(axis) * (axis == 0 && rank == 6 ? x.stride(1) : x.stride(axis));
          rest /= x.size(axis);
        }
        y[i] = x.data()[offset];
      }
    }).no_grad();
"""


def test_strides_of_leading_axes():
    op = oneop.load_inline("loses_a_stride", LOSES_A_STRIDE).loses_a_stride
    report = run_check(op, Hints(), only="layouts", examples=8)
    assert report.failures[0].failure.message.startswith("with ")
    assert "float32[2, 3, 1, 2, 2, 2]" in report.failures[0].failure.case


def test_a_template_of_many():
    def kernel(a, b, out):
        both = a.shape != out.shape and b.shape != out.shape
        out[...] = a * b + both

    op = oneop.define("both_are_stretched(Tensor a, Tensor b) -> Tensor y", infer="broadcast", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32)(kernel)
    assert failure_of(op, "reference", reference=torch.mul).case == "a float32[3, 1, 4], b float32[1, 2, 4]"


def test_sums_of_half_precision():
    def kernel(x):
        total = np.zeros(x.shape[0], x.dtype)
        for column in x.T:
            total = total + column
        return total

    op = define("sums_in_half", kernel, "r [n] -> r", dtypes=(torch.float16, torch.float32))
    assert failure_of(op, "sizes", reference=lambda x: x.sum(1)).message
    right = define(
        "sums_in_float",
        lambda x: x.astype(np.float32).sum(1).astype(x.dtype),
        "r [n] -> r",
        dtypes=(torch.float16, torch.float32),
    )
    report = run_check(right, Hints(reference=lambda x: x.sum(1)), only=["sizes", "kernels", "reference"], examples=8)
    assert report.ok and [outcome.status for outcome in report.outcomes] == ["passed"] * 3, str(report)


# ---- words, refusals ----


def shape_of_window(x, *, window="flat"):
    """Windows are "flat", "falling" or "rising"."""
    ramp = torch.linspace(0, 1, x.shape[-1], dtype=x.dtype) if x.shape[-1] else x.new_zeros(0)
    return x * {"flat": ramp * 0 + 1, "falling": 1 - ramp, "rising": ramp}[window]


def test_a_word_that_only_the_reference_knows():
    def kernel(x, window):
        ramp = np.linspace(0, 1, x.shape[-1])
        return (x * (1 - ramp if window.endswith("ing") else 1)).astype(x.dtype)

    schema = "(Tensor x, *, str window='flat') -> Tensor y"
    op = define("window_by_its_end", kernel, "... [n] -> ... [n]", schema)
    message = failure_of(op, "values", reference=lambda x, window="flat": shape_of_window(x, window=window))
    assert "window='rising'" in message.case or "window='falling'" in message.case


def test_a_reference_that_refuses_some_calls():
    def reference(x):
        if x.numel() == 0:
            raise ValueError("nothing to do")
        return 2 * x

    op = define("takes_nothing_too", lambda x: 2 * x)
    assert outcome_of(op, "sizes", reference=reference).status == "passed"

    def refuses(x):
        raise ValueError("never")

    failure = failure_of(op, "reference", reference=refuses)
    assert failure.message == "the reference refuses all calls that the op takes: ValueError: never"

    def refuses_matrices(x):
        if x.ndim == 2:
            raise ValueError("no matrices")
        return 2 * x

    outcome = outcome_of(op, "reference", reference=refuses_matrices)
    assert outcome.status == "passed"
    assert outcome.note == "the reference refuses calls that the op takes: ValueError: no matrices"


def test_a_range_of_values_is_found():
    def kernel(x, w):
        if (w < 0).any():
            raise ValueError("a negative weight")
        return x * np.sqrt(w)

    op = define("by_root_of_weight", kernel, schema="(Tensor x, Tensor w) -> Tensor y")
    report = run_check(op, Hints(), only=["inference", "layouts"], examples=8)
    assert report.ok, str(report)
    note = "values drawn: w from 0.0625 to 4; of others the op says: a negative weight"
    assert (report.outcomes[0].family, report.outcomes[0].status) == ("inputs", "passed")
    assert report.outcomes[0].note == note

    def never(x):
        raise ValueError("not today")

    report = run_check(define("takes_no_values", never), Hints(), only="inference", examples=4)
    assert report.outcomes[0].status == "skipped" and not report.ok
    assert report.outcomes[0].note == (
        "the op refuses the values of every range that was tried: not today; say some: values={...}"
    )


def test_a_list_of_dtypes_reaches_kernels():
    op = oneop.define("last_of_dtypes(Tensor x, *, dtype[] through) -> Tensor y", differentiable=False)
    op.register_infer(lambda x, through: x.like(dtype=through[-1]))

    @op.register_kernel("cpu", dtypes=FLOATS)
    def kernel(x, out):
        out[...] = x

    report = run_check(op, Hints(reference=lambda x, through: x.to(through[-1])), only="reference", examples=4)
    assert [outcome.status for outcome in report.outcomes] == ["passed"], str(report)


def test_a_kernel_that_takes_no_call_says_why():
    op = oneop.define("t_for_no_call(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
    op.register_kernel("cpu", dtypes=torch.float32, when=lambda x: False)(lambda x: x)
    report = run_check(op, Hints(), only="inference")
    text = report.failures[0].failure.message
    assert "found no call that it takes on cpu" in text
    assert "the last one was refused: KernelNotFoundError: " in text
