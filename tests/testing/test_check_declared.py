"""Declared determinism, attributes that gradients alone know, indices below an attribute, and where programs lie."""

import runpy

import pytest
import torch
from torch.nn import functional

import oneop
from oneop.registry import get_op, isolated
from oneop.testing.certificate import files_of
from oneop.testing.checker import run_check
from oneop.testing.loading import loading_lines
from oneop.testing.subject import Hints, subject_of


@pytest.fixture(autouse=True)
def own_registry():
    with isolated():
        yield


ANY_ORDER = """
#include <atomic>
#include "oneop/op.h"
using namespace oneop;
OP("declared_sum(Tensor x) -> Tensor y")
    .infer([](Infer& infer) { infer.set("y", {}); })
    .kernel<float>([](auto x, auto y, Attrs, Call& call) {
      std::atomic<float> total{0};
      call.parallel_for(0, x.numel(), 2048, [&](int64_t begin, int64_t end) {
        float sum = 0, known = total.load();
        for (int64_t i = begin; i < end; ++i) sum += x[i];
        while (!total.compare_exchange_weak(known, known + sum)) {}
      });
      y[0] = total;
    })
    .deterministic()
    .no_grad();
"""


def test_a_sum_in_any_order_is_not_deterministic():
    oneop.load_inline("declared_sums", ANY_ORDER)
    (outcome,) = run_check("declared_sum", Hints(reference=torch.sum), only=["determinism"]).outcomes
    assert outcome.status == "failed" and "another result when repeated" in outcome.failure.message


def embedding(*, skips_padding):
    op = oneop.define(
        "declared_embedding(Tensor w, Tensor index, *, int padding=-1) -> Tensor y", infer="v d, n -> n d"
    )

    @op.register_kernel("cpu", dtypes={"w": (torch.float32, torch.float64), "index": torch.int64})
    def rows(w, index, padding):
        return w[index]

    @op.register_grad
    def gradient(ctx, dy):
        if skips_padding:
            dy = dy * (ctx.index != ctx.padding).unsqueeze(1)
        return torch.zeros_like(ctx.w).index_add(0, ctx.index, dy), None

    return op


def embedding_of_torch(w, index, padding):
    return functional.embedding(index, w, padding_idx=padding if padding >= 0 else None)


@pytest.mark.parametrize("skips_padding", [True, False])
def test_an_attribute_that_only_the_gradient_knows(skips_padding):
    op = embedding(skips_padding=skips_padding)
    hints = Hints(reference=embedding_of_torch, attrs={"padding": [-1, 0, 1, 2]})
    *_, outcome = run_check(op, hints, only=["gradient variants"]).outcomes
    assert outcome.status == ("passed" if skips_padding else "failed"), outcome
    if not skips_padding:
        assert "differs from that of the reference" in outcome.failure.message


SEGMENTS = """
#include <stdexcept>
#include "oneop/op.h"
using namespace oneop;
OP("declared_segments(Tensor x, Tensor index, *, int n=4) -> Tensor y")
    .infer([](Infer& infer) {
      infer.check(infer.dim("x") == 1 && infer.dim("index") == 1 && infer.size("x", 0) == infer.size("index", 0) &&
                      infer.attr<int64_t>("n") >= 0 && infer.attr<int64_t>("n") < 1000,
                  "one index for each element, and n from 0 to 999");
      infer.set("y", {infer.attr<int64_t>("n")});
    })
    .kernel<float(float, int64_t), double(double, int64_t)>([](auto x, auto index, auto y, Attrs attrs) {
      const int64_t n = attrs.get<int64_t>("n");
      for (int64_t i = 0; i < n; ++i) y[i] = 0;
      for (int64_t i = 0; i < x.size(0); ++i) {
        if (index[i] < 0 || index[i] >= n) throw std::runtime_error("index out of range");
        y[index[i]] += x[i];
      }
    })
    .gradient("dx = declared_pick(dy, index); dindex = None");
OP("declared_pick(Tensor y, Tensor index) -> Tensor x")
    .infer([](Infer& infer) {
      infer.check(infer.dim("y") == 1 && infer.dim("index") == 1, "one axis");
      infer.set("x", {infer.size("index", 0)});
    })
    .kernel<float(float, int64_t), double(double, int64_t)>([](auto y, auto index, auto x) {
      for (int64_t i = 0; i < x.size(0); ++i) {
        if (index[i] < 0 || index[i] >= y.size(0)) throw std::runtime_error("index out of range");
        x[i] = y[index[i]];
      }
    })
    .no_grad();
"""


def test_indices_below_an_attribute():
    oneop.load_inline("declared_segments", SEGMENTS)
    hints = Hints(reference=lambda x, index, n: torch.zeros(n, dtype=x.dtype).index_add(0, index, x))
    families = ["inference", "reference", "values", "sizes", "gradient", "gradient variants"]
    report = run_check("declared_segments", hints, only=families)
    assert report.ok, str(report)
    assert all(outcome.cases for outcome in report.outcomes if outcome.family in families), str(report)


def test_what_both_refuse_is_left_out_and_what_the_op_alone_refuses_is_not():
    op = oneop.define("declared_few(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)

    @op.register_kernel("cpu", language="torch")
    def kernel(x):
        if x.numel() == 3:
            raise ValueError("not three")
        return x + 1

    def refuses_too(x):
        return kernel(x)

    (outcome,) = run_check(op, Hints(reference=refuses_too), only=["reference"]).outcomes
    assert outcome.status == "passed"
    (outcome,) = run_check(op, Hints(reference=lambda x: x + 1), only=["reference"]).outcomes
    assert outcome.status == "failed" and "not three" in outcome.failure.message


PROGRAM = """
import torch, oneop
op = oneop.define("declared_here(Tensor x) -> Tensor y", infer="elementwise", differentiable=False)
op.register_kernel("cpu", language="torch")(lambda x: x * 2)
oneop.testing.reference(op)(torch.square)
"""


def test_a_program_is_known_by_its_whole_path(tmp_path, monkeypatch):
    """A script that repeats a failure runs the program, and a certificate has its hash, wherever they are used."""
    (tmp_path / "program.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    runpy.run_path("program.py", run_name="oneop_program")
    monkeypatch.chdir("/")
    assert files_of(get_op("declared_here")) == [tmp_path / "program.py"]
    subject = subject_of("declared_here", Hints())
    assert loading_lines(subject) == [f'import runpy; runpy.run_path("{tmp_path / "program.py"}")']
