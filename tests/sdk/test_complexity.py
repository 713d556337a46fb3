"""SetComputeComplexityFn: what its context can be asked, and what it reports."""

import pytest
from sdk_pieces import unit

SOURCE = "#include <stdexcept>\n" + unit(
    """
using Context = user_op::ComputeComplexityFnContext;
REGISTER_USER_OP("product").Input("a").Input("b").OptionalInput("bias").Output("out")
    .Attr<bool>("transpose_b", false)
    .SetComputeComplexityFn([](Context* ctx) -> Maybe<double> {
      const Shape& a = ctx->Shape4ArgNameAndIndex("a", 0);
      const int64_t n = ctx->Shape4ArgNameAndIndex("b", 0).At(ctx->Attr<bool>("transpose_b") ? 0 : 1);
      CHECK_OR_RETURN(ctx->TensorDesc4ArgNameAndIndex("bias", 0) == nullptr && !ctx->has_input("bias", 0));
      CHECK_EQ_OR_RETURN(ctx->Dtype4ArgNameAndIndex("out", 0), kFloat);
      CHECK_OR_RETURN(!ctx->IsDynamic4ArgNameAndIndex("out", 0));
      CHECK_EQ_OR_RETURN(ctx->LogicalTensorDesc4InputArgNameAndIndex("a", 0).shape(), a);
      CHECK_EQ_OR_RETURN(ctx->inputs().size() + ctx->outputs().size(), 3);
      double cost = 2.0 * a.elem_cnt() * n;
      const auto& hierarchy = ctx->parallel_desc().hierarchy();
      for (int32_t i = 0; i < ctx->NdSbp4ArgNameAndIndex("a", 0).sbp_parallel_size(); ++i) {
        if (ctx->NdSbp4ArgNameAndIndex("a", 0).sbp_parallel(i).has_split_parallel()) { cost /= hierarchy->At(i); }
      }
      return cost;
    });
REGISTER_USER_OP("fails").Input("a").Output("out").SetComputeComplexityFn([](Context*) -> Maybe<double> {
  CHECK_OR_RETURN(false) << "cannot count";
  return 1;
});
REGISTER_USER_OP("throws").Input("a").Output("out").SetComputeComplexityFn([](Context*) -> Maybe<double> {
  throw std::runtime_error("thrown");
});
REGISTER_USER_OP("number").Input("a").Output("out").SetComputeComplexityFn([](Context*) { return 7; });
double Count(Context* ctx) { return ctx->parallel_hierarchy().At(0); }
REGISTER_USER_OP("function").Input("a").Output("out").SetComputeComplexityFn(Count);
"""
)


@pytest.fixture(scope="module")
def library(builder):
    return builder.library(SOURCE)


def frame(op, *lines):
    return [f"op {op}", "in a", "t 2 3 4 :", *lines, "out out"]


def test_counts(library, drive):
    product = frame("product", "in b", "t 2 4 5 :", "in bias")
    assert drive(library, *product, "attr transpose_b 3 0", "count") == ["count 0 120"]
    assert drive(library, *product, "attr transpose_b 3 1", "count") == ["count 0 96"]
    assert drive(library, *frame("number"), "count") == ["count 0 7"]
    assert drive(library, *frame("function"), "count") == ["count 0 1"]


def test_failures_stop_at_the_edge(library, drive):
    (said, code) = drive(library, *frame("fails"), "count")
    assert "cannot count (Check failed: false)" in said and code == "count 6 -1"
    (said, code) = drive(library, *frame("throws"), "count")
    assert "thrown" in said and code == "count 1 -1"
