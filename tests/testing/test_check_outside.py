"""Classes of faults, and of right ops, that an outside tester found: each here once, by the family that is for it."""

import inspect
import sys

import numpy as np
import pytest
import torch

import oneop
from oneop.registry import isolated
from oneop.testing.checker import run_check
from oneop.testing.subject import Hints

FLOATS = (torch.float32, torch.float64)


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


def define(schema, kernel, grad=None, *, infer="elementwise", dtypes=FLOATS, **options):
    op = oneop.define(f"outside_{schema}", differentiable=grad is not None, **options)
    if callable(infer):
        op.register_infer(infer)
    else:
        op = oneop.define(f"outside_{schema}", infer=infer, differentiable=grad is not None, **options)
    op.register_kernel("cpu", dtypes=dtypes)(kernel)
    if grad is not None:
        op.register_grad(grad)
    return op


def failure_of(op, family, reference=None):
    report = run_check(op, Hints(reference=reference), only=[family])
    assert [outcome.family for outcome in report.failures] == [family], str(report)
    return report.failures[0].failure.message


def running_sum():
    def kernel(x, reverse, exclusive):
        z = x[..., ::-1] if reverse else x
        y = np.cumsum(z, -1, dtype=x.dtype) - (z if exclusive else 0)
        return np.ascontiguousarray(y[..., ::-1] if reverse else y)

    def grad(ctx, dy):
        if ctx.reverse:
            return dy.cumsum(-1)  # forgets the other flag
        total = dy.flip(-1).cumsum(-1).flip(-1)
        return total - dy if ctx.exclusive else total

    schema = "sum(Tensor x, *, bool reverse=False, bool exclusive=False) -> Tensor y"
    return define(schema, kernel, grad, infer="... [n] -> ... [n]")


def test_a_gradient_that_is_wrong_for_two_flags_together():
    assert "differs from the numerical one" in failure_of(running_sum(), "gradient")


def test_a_gradient_for_axes_in_the_order_given():
    def shape(x, dim):
        if len({axis % x.ndim for axis in dim}) != len(dim) or not all(0 <= axis < x.ndim for axis in dim):
            raise ValueError("axes")
        return x.like(shape=[size for axis, size in enumerate(x.shape) if axis not in dim])

    def grad(ctx, dy):
        for axis in ctx.dim:
            dy = dy.unsqueeze(axis)
        return dy * 2 * ctx.x

    schema = "axes(Tensor x, *, int[] dim=[0]) -> Tensor y"
    op = define(schema, lambda x, dim: (x * x).sum(tuple(dim)).astype(x.dtype), grad, infer=shape)
    failure_of(op, "gradient")


def test_a_gradient_where_the_first_axis_has_one_element():
    def shape(x, w):
        if x.ndim < 1 or tuple(w.shape) != (x.shape[-1],):
            raise ValueError("shapes")
        return x

    def grad(ctx, dy):
        products = dy * ctx.x
        rows = products[0] if products.ndim == 3 and len(products) == 1 else products.reshape(-1, products.shape[-1])
        return dy * ctx.w, rows[:1].sum(0) if products.ndim == 3 and len(products) == 1 else rows.sum(0)

    failure_of(define("scaled(Tensor x, Tensor w) -> Tensor y", lambda x, w: x * w, grad, infer=shape), "gradient")


def test_a_gradient_that_changes_what_it_is_given():
    def grad(ctx, dy):
        is_plain = not torch.is_grad_enabled() and dy.is_contiguous()
        return dy.mul_(2 * ctx.x) if is_plain else dy * 2 * ctx.x

    message = failure_of(define("square(Tensor x) -> Tensor y", lambda x: x * x, grad), "gradient variants")
    assert message == "the gradient changes the gradient of result 0 in place, which others may read"


def test_a_gradient_that_is_no_number_where_that_of_the_reference_is_one():
    op = define(
        "norm(Tensor x) -> Tensor y",
        lambda x: np.sqrt((x * x).sum(-1)).astype(x.dtype),
        lambda ctx, dy: ctx.x * (dy / ctx.y)[..., None],
        infer="... n -> ...",
    )
    message = failure_of(op, "gradient variants", lambda x: torch.linalg.vector_norm(x, dim=-1))
    assert message == "the gradient of x is nan at zero, where that of the reference is 0: element 0"


def test_a_batching_rule_for_the_first_axis():
    op = define("rows(Tensor x, Tensor w) -> Tensor y", lambda x, w: x @ w, infer="n d, d -> n")

    @op.register_vmap
    def rule(info, in_dims, x, w):
        if in_dims[1] is None:
            return op(x.reshape(-1, x.shape[-1]), w).reshape(x.shape[0], -1), 0
        x = x.movedim(in_dims[0], 0) if in_dims[0] is not None else x.expand(info.batch_size, *x.shape)
        parts = zip(x.unbind(0), w.movedim(in_dims[1], 0).unbind(0), strict=True)
        return torch.stack([op(a, b) for a, b in parts]), 0

    assert "in_dims=(1, None)" in failure_of(op, "vmap")


PIECES = """
#include "oneop/op.h"
using namespace oneop;
OP("outside_pieces(Tensor x) -> Tensor y")
    .infer([](Infer& ctx) { ctx.check(ctx.dim("x") == 1, "one axis"); ctx.set_like("y", "x"); })
    .kernel<float>([](auto x, auto y, Attrs, Call& call) {
      call.parallel_for(0, x.numel(), 65536, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) y[i] = x[i] - (i == begin ? 0.0f : x[i - 1]);
      });
    })
    .no_grad();
OP("outside_padded(Tensor x) -> Tensor y")
    .infer([](Infer& ctx) { ctx.set_like("y", "x"); })
    .strided()
    .kernel<float>([](auto x, auto y) {
      const bool is_dense = x.dim() != 2 || x.stride(1) == 1;  // and the rows are taken to follow each other
      for (int64_t i = 0; i < y.numel(); ++i) {
        y[i] = is_dense && x.dim() == 2 ? x.data()[i] : 0;
      }
      if (x.dim() == 2 && !is_dense) {
        for (int64_t i = 0; i < x.size(0); ++i)
          for (int64_t k = 0; k < x.size(1); ++k) y[i * x.size(1) + k] = x.data()[i * x.stride(0) + k * x.stride(1)];
      }
    })
    .no_grad();
"""


def test_pieces_of_threads_and_rows_of_longer_ones():
    oneop.load_inline("outside_pieces", PIECES)
    assert "the number of threads, here" in failure_of("outside_pieces", "environment")
    assert "padded" in failure_of("outside_padded", "layouts")


def group_norm(x, groups):
    return torch.nn.functional.group_norm(x, groups)


def test_whole_groups_are_found():
    """Channels that are dealt out to groups: the same where a group has one channel, or there is one group."""

    def shape(x, groups):
        if x.ndim < 2 or groups < 1 or 0 in x.shape or x.shape[1] % groups or x.numel() // x.shape[0] // groups < 2:
            raise ValueError("no whole groups")
        return x

    def kernel(x, groups):
        dealt = x.reshape(x.shape[0], -1, groups, *x.shape[2:]).swapaxes(1, 2).reshape(x.shape[0], groups, -1)
        wide = dealt.astype(np.float64)
        wide = wide - wide.mean(-1, keepdims=True)
        wide = wide / np.sqrt((wide * wide).mean(-1, keepdims=True) + 1e-5)
        wide = wide.reshape(x.shape[0], groups, -1, *x.shape[2:]).swapaxes(1, 2)
        return np.ascontiguousarray(wide.reshape(x.shape)).astype(x.dtype)

    op = define("groups(Tensor x, *, int groups=1) -> Tensor y", kernel, infer=shape)
    report = run_check(op, Hints(reference=group_norm), only=["reference", "values"])
    assert report.failures, str(report)


def embedding():
    def reference(table, index, padding=0):
        return torch.nn.functional.embedding(index, table, padding_idx=padding)

    def grad(ctx, dy):
        kept = dy * (ctx.index != ctx.padding).to(dy.dtype)[:, None]
        return torch.zeros_like(ctx.table).index_add(0, ctx.index, kept), None

    def shape(table, index, padding):
        if table.ndim != 2 or index.ndim != 1 or not 0 <= padding < table.shape[0]:
            raise ValueError("shapes")
        return table.like(shape=(index.shape[0], table.shape[1]))

    dtypes = {"table": FLOATS, "index": torch.int64}
    schema = "embedding(Tensor table, Tensor index, *, int padding=0) -> Tensor y"
    return define(schema, lambda table, index, padding: table[index], grad, infer=shape, dtypes=dtypes), reference


def rounding():
    def reference(x, scale=0.25):
        inside = torch.clamp(x / scale, -128, 127) * scale
        return inside + (torch.clamp(torch.round(x / scale), -128, 127) * scale - inside).detach()

    def kernel(x, scale):
        return np.clip(np.rint(x / x.dtype.type(scale)), -128, 127) * x.dtype.type(scale)

    def grad(ctx, dy):
        steps = ctx.x / ctx.scale
        return torch.where((steps >= -128) & (steps <= 127), dy, 0)

    op = define("rounding(Tensor x, *, float scale=0.25) -> Tensor y", kernel, grad)
    op.register_check(lambda x, scale: scale > 0 or "a positive scale")
    return op, reference


@pytest.mark.parametrize("make", [embedding, rounding])
def test_a_gradient_that_is_that_of_the_reference(make):
    """And not the numerical one, which both leave on purpose."""
    op, reference = make()
    report = run_check(op, Hints(reference=reference), only=["gradient", "gradient variants", "jvp"])
    assert report.ok, str(report)
    assert report.outcomes[-1].note == "the gradient is that of the reference, and not the numerical one"
    assert not run_check(op, Hints(), only=["gradient"]).ok  # nobody says that it is meant so


def test_equal_inputs_that_an_op_refuses():
    def divided(a, b):
        if (b == 0).any():
            raise ZeroDivisionError("division by zero")
        return a // b

    op = define("divided(Tensor a, Tensor b) -> Tensor y", divided, dtypes=(torch.int32, torch.int64))
    report = run_check(op, Hints(reference=lambda a, b: torch.div(a, b, rounding_mode="floor")), only=["aliases"])
    assert report.ok and report.outcomes[-1].cases, str(report)


def test_a_gradient_that_no_job_can_plan():
    def grad(ctx, dy):
        counts = torch.bincount(ctx.index, minlength=ctx.table.shape[0])
        return torch.zeros_like(ctx.table).index_add(0, ctx.index, dy) + 0 * counts[:, None], None

    op, _ = embedding()
    op.register_grad(grad)
    (outcome,) = run_check(op, Hints(), only=["graph gradient"]).outcomes
    assert outcome.status == "missing" and "depends on the data" in outcome.note


def right_only_if(is_watched):
    """An op that is right where a checker calls it, and loses half of its digits elsewhere."""

    def kernel(x):
        y = np.sqrt(np.abs(x))
        return y if is_watched() else y.astype(np.float16).astype(x.dtype)

    return define("watched(Tensor x) -> Tensor y", kernel)


WATCHES = {
    "modules": lambda: any(name.startswith("oneop.testing.") or name == "hypothesis" for name in sys.modules),
    "command line": lambda: any("pytest" in word or word == "-c" for word in sys.argv),
    "callers": lambda: any("oneop/testing" in frame.filename for frame in inspect.stack(0)),
}


@pytest.mark.parametrize("name", WATCHES)
def test_a_kernel_that_is_right_where_it_is_watched(name):
    assert WATCHES[name]() == (name != "callers")  # such a test of the kernel would say that it is right
    message = failure_of(right_only_if(WATCHES[name]), "environment", lambda x: x.abs().sqrt())
    assert "the result depends on who calls the op" in message


def test_large_calls_of_rows():
    """Inference takes a single row too, which would be the largest call that is tried."""

    def kernel(x):
        if x.size > 200_000 and x.ndim > 1 and x.shape[-1] > 16:
            return x[..., ::2].sum(-1) * 2
        return x.sum(-1)

    op = define("large_rows(Tensor x) -> Tensor y", kernel, infer="... [n] -> ...", dtypes=torch.float64)
    assert "differs from the reference" in failure_of(op, "sizes", lambda x: x.sum(-1))
