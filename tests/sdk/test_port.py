"""-DONEOP_PORT=<generation>: what `auto*` and `auto&` see in each, and what OneFlow's headers bring in."""

import pytest
from sdk_pieces import call, kernel, unit

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


@pytest.mark.parametrize("generation", [2020, pytest.param(2022, marks=pytest.mark.slow), 2024])
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


@pytest.mark.parametrize("generation", [0, pytest.param(2024, marks=pytest.mark.slow)])
def test_what_framework_h_brings_in(builder, drive, generation):
    library = builder.library(unit(OP), flags=(f"-DONEOP_PORT={generation}",))
    assert drive(library, *call("ported", shape=(2, 3)), "infer") == ["infer 0", "out 2 (3,4) (4,1)"]
    assert "in is a scalar" in "\n".join(drive(library, *call("ported", shape=()), "infer"))


UTILITIES = """
#include "oneflow/core/common/tensor_meta.h"
#include "oneflow/core/ep/common/primitive/permute.h"
#include "oneflow/core/kernel/kernel_util.cuh"
#include "oneflow/core/ndarray/binary_func.h"
namespace oneflow {
DEFINE_ENV_BOOL(ONEOP_TEST_NEVER_SET, true);
DEFINE_ENV_INTEGER(ONEOP_TEST_NEVER_SET_EITHER, 7);
// What is left of a permutation, as text: extents, then the order.
std::string Simplified(std::vector<int64_t> dims, std::vector<int> order) {
  size_t count = 0;
  int64_t to_dims[8] = {};
  int to_order[8] = {};
  ep::primitive::permute::SimplifyPermutation<8>(dims.size(), dims.data(), order.data(), &count, to_dims, to_order);
  std::string text;
  for (size_t i = 0; i != count; ++i) { text += std::to_string(to_dims[i]) + " "; }
  for (size_t i = 0; i != count; ++i) { text += "," + std::to_string(to_order[i]); }
  return text;
}
}
"""
CHECKS = """
REGISTER_USER_OP("checks").Input("in").Output("out").SetTensorDescInferFn([](user_op::InferContext*) -> Maybe<void> {
  CHECK_OR_RETURN(one::IsContiguous(Shape({2, 1, 3}), Stride({3, 99, 1})));
  CHECK_OR_RETURN(one::IsContiguous(Shape({2, 0}), Stride({5, 5})));
  CHECK_OR_RETURN(!one::IsContiguous(Shape({2, 3}), Stride({1, 2})));
  CHECK_EQ_OR_RETURN(Simplified({2, 3, 4}, {0, 1, 2}), "24 ,0");
  CHECK_EQ_OR_RETURN(Simplified({2, 3, 4}, {2, 0, 1}), "6 4 ,1,0");
  CHECK_EQ_OR_RETURN(Simplified({2, 1, 4, 5}, {2, 3, 1, 0}), "2 20 ,1,0");
  CHECK_EQ_OR_RETURN(Simplified({2, 3, 4}, {2, 1, 0}), "2 3 4 ,2,1,0");
  CHECK_EQ_OR_RETURN(Simplified({2, 1, 3}, {0, 2, 1}), "6 ,0");
  CHECK_EQ_OR_RETURN(Simplified({1, 1}, {1, 0}), "1 ,0");
  CHECK_OR_RETURN(EnvBool<ONEOP_TEST_NEVER_SET>() && ThreadLocalEnvInteger<ONEOP_TEST_NEVER_SET_EITHER>() == 7);
  CHECK_OR_RETURN(DType::priority_order[kFloat16] > DType::priority_order[kInt64]);
  CHECK_OR_RETURN(DType::priority_order[kFloat] > DType::priority_order[kFloat16]);
  CHECK_OR_RETURN(DType::priority_order[kUInt8] > DType::priority_order[kBool]);
  Stride stride(3, 0);
  stride.resize(4, 2);
  stride.at(0) = stride[3] + 1;
  CHECK_EQ_OR_RETURN(stride, Stride({3, 0, 0, 2}));
  Shape shape({2, 3});
  shape[1] = 5;
  CHECK_EQ_OR_RETURN(shape, Shape({2, 5}));
  CHECK_EQ_OR_RETURN(SafeLog(3.0), std::log(3.0));  // not that of a float
  CHECK_EQ_OR_RETURN(SafeLog(0.f), std::log(1e-20f));
  CHECK_EQ_OR_RETURN(BinaryFuncBitwiseXor<int>::Invoke(6, 3), 5);
  CHECK_EQ_OR_RETURN(BinaryFuncBitwiseAnd<int>::Invoke(6, 3), 2);
  CHECK_EQ_OR_RETURN(BinaryFuncBitwiseOr<int>::Invoke(6, 3), 7);
  return Maybe<void>::Ok();
});"""

# A kernel of several ops asks which of their arguments it has.
ABSENT = 'CHECK(in_tensor != nullptr && ctx->Tensor4ArgNameAndIndex("like", 0) == nullptr);'


def test_utilities(builder, drive):
    library = builder.library(
        '#include "oneflow/core/framework/framework.h"' + UTILITIES + unit(CHECKS, kernel("checks", ABSENT)),
        flags=("-DONEOP_PORT=0",),
    )
    assert drive(library, *call("checks", shape=(2, 3)), "infer") == ["infer 0", "out 2 (2,3) (3,1)"]
    assert "run 0" in drive(library, *call("checks", 1, 2), "run")
