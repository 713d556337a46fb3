"""-DONEOP_PORT=<generation>: what `auto*` and `auto&` see in each, and what OneFlow's headers bring in."""

import pytest
from sdk_pieces import call, unit

HEAD = '#include "oneflow/core/framework/framework.h"\nnamespace oneflow {\n'
POINTERS = {
    2020: """
using user_op::TensorDesc;
const TensorDesc* Any(user_op::InferContext* ctx) { auto* d = ctx->TensorDesc4ArgNameAndIndex("x", 0); return d; }
void Grow(user_op::KernelInferContext* ctx) { auto* v = ctx->MutShapeView4ArgNameAndIndex("x", 0); v->Set(0, 1); }""",
    2022: """
const user_op::TensorDesc* In(user_op::InferContext* ctx) { const auto& d = ctx->InputTensorDesc("x", 0); return &d; }
user_op::TensorDesc* Out(user_op::InferContext* ctx) { auto* d = ctx->OutputTensorDesc("x", 0); return d; }""",
    2024: """
const user_op::TensorDesc* In(user_op::InferContext* ctx) { const auto& d = ctx->InputTensorDesc("x", 0); return &d; }
const user_op::TensorDesc& Out(user_op::InferContext* ctx) { return *ctx->MutOutputTensorDesc("x", 0); }""",
}


@pytest.mark.parametrize("generation", POINTERS)
def test_pointers_of_a_generation(builder, generation):
    result = builder.compile(HEAD + POINTERS[generation] + "\n}\n", f"-DONEOP_PORT={generation}", "-fsyntax-only")
    assert result.returncode == 0, result.stderr


OP = """
REGISTER_USER_OP("ported").Input("in").Output("out").Attr<int64_t>("batch", 0)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      small_vector<int64_t, SHAPE_MAX_AXIS_SIZE> dims = ctx->Shape4ArgNameAndIndex("in", 0).dim_vec();
      std::transform(dims.begin(), dims.end(), dims.begin(), [](int64_t n) { return n + 1; });
      if (unlikely(dims.empty())) {
        auto error = std::make_shared<ErrorProto>();
        error->set_msg("in is a scalar");
        error->mutable_check_failed_error();
        return error;
      }
      const Shape shape(dims);
      CHECK_EQ_OR_RETURN(shape.data()[0], dims[0]);
      ctx->SetOutputShape("out", 0, shape);
      NdSbp sbp;
      sbp.add_sbp_parallel()->mutable_split_parallel()->set_axis(1);
      for (auto& one : *sbp.mutable_sbp_parallel()) { one.Clear(); }
      CHECK_OR_RETURN(!sbp.sbp_parallel(0).has_split_parallel());
      CHECK_EQ_OR_RETURN(*JUST(PlacementToString(ctx->parallel_desc())), "cpu:1");
      return Maybe<void>::Ok();
    })
    .SetBatchAxisInferFn([](user_op::BatchAxisContext* ctx) -> Maybe<void> {
      *ctx->BatchAxis4ArgNameAndIndex("out", 0) = *ctx->BatchAxis4ArgNameAndIndex("in", 0);
      return Maybe<void>::Ok();
    });"""


@pytest.mark.parametrize("generation", [0, 2024])
def test_what_framework_h_brings_in(builder, drive, generation):
    library = builder.library(unit(OP), flags=(f"-DONEOP_PORT={generation}",))
    assert drive(library, *call("ported", shape=(2, 3)), "infer") == ["infer 0", "out 2 (3,4) (4,1)"]
    assert "in is a scalar" in "\n".join(drive(library, *call("ported", shape=()), "infer"))
