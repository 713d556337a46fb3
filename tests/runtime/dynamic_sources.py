"""Ops with outputs whose size depends on data, in C++: the spelling of oneop/op.h and OneFlow's."""

KEEP = """
#include "oneop/op.h"
OP("dy_keep(Tensor x, Tensor mask) -> Tensor y")
    .infer([](oneop::Infer& ctx) {
      ctx.check(ctx.dim("x") == 2 && ctx.dim("mask") == 1 && ctx.size("mask", 0) == ctx.size("x", 0),
                "mask has an element for each row of x");
      ctx.set_like("y", "x");
    })
    .dynamic("y", 0)
    .kernel<float(float, bool), double(double, bool)>(
        [](auto x, auto mask, auto y, oneop::Attrs, oneop::Call& call) {
          const int64_t columns = x.size(1);
          int64_t rows = 0;
          for (int64_t i = 0; i < x.size(0); ++i) {
            for (int64_t k = 0; mask[i] && k < columns; ++k) y[rows * columns + k] = x[i * columns + k];
            rows += mask[i];
          }
          call.set_size("y", 0, rows);
        })
    .gradient("dx = dy_put(dy, mask); dmask = None");
OP("dy_put(Tensor dy, Tensor mask) -> Tensor dx")
    .infer([](oneop::Infer& ctx) {
      ctx.check(ctx.dim("dy") == 2 && ctx.dim("mask") == 1, "dy has rows and mask elements");
      ctx.set("dx", {ctx.size("mask", 0), ctx.size("dy", 1)}, ctx.dtype("dy"));
    })
    .kernel<float(float, bool), double(double, bool)>([](auto dy, auto mask, auto dx) {
      const int64_t columns = dx.size(1);
      int64_t from = 0;
      for (int64_t i = 0; i < dx.size(0); ++i) {
        const bool is_there = mask[i] && from < dy.size(0);
        for (int64_t k = 0; k < columns; ++k) dx[i * columns + k] = is_there ? dy[from * columns + k] : 0;
        from += is_there;
      }
    })
    .gradient("ddy = dy_keep(ddx, mask); dmask = None");

// The columns of one mask, the count of the others: the second axis shrinks, and elements stay dense.
OP("dy_columns(Tensor x, Tensor mask) -> (Tensor kept, Tensor count)")
    .infer([](oneop::Infer& ctx) {
      ctx.check(ctx.dim("x") == 2 && ctx.dim("mask") == 1 && ctx.size("mask", 0) == ctx.size("x", 1),
                "mask has an element for each column of x");
      ctx.set_like("kept", "x");
      ctx.set("count", {}, ::oneflow::kInt64);
    })
    .dynamic("kept", 1)
    .kernel<oneop::Outputs<float, int64_t>(float, bool)>(
        [](auto x, auto mask, auto kept, auto count, oneop::Attrs, oneop::Call& call) {
          int64_t columns = 0, at = 0;
          for (int64_t k = 0; k < mask.numel(); ++k) columns += mask[k];
          for (int64_t i = 0; i < x.size(0); ++i)
            for (int64_t k = 0; k < mask.numel(); ++k)
              if (mask[k]) kept.data()[at++] = x[i * mask.numel() + k];
          count[0] = columns;
          call.set_size("kept", 1, columns);
        })
    .no_grad();

// A kernel that breaks the rules, in the way that `how` says.
OP("dy_wrong(Tensor x, *, int how) -> (Tensor y, Tensor z)")
    .infer([](oneop::Infer& ctx) { ctx.set_like("y", "x"); ctx.set_like("z", "x"); })
    .dynamic("y", 0)
    .kernel<float>([](auto, auto, auto, oneop::Attrs attrs, oneop::Call& call) {
      switch (attrs.get<int>("how")) {
        case 0: return call.set_size("z", 0, 1);
        case 1: return call.set_size("y", 1, 1);
        case 2: return call.set_size("y", 0, 1000);
        case 3: return call.set_size("y", 0, -1);
        case 4: call.oneop_frame_ptr()->tensors[1].shape[0] = 1000; return;
        default: call.oneop_frame_ptr()->tensors[1].shape[1] = 1;
      }
    })
    .no_grad();
"""

ONEFLOW = """
#include "oneflow/core/framework/framework.h"
namespace oneflow {
REGISTER_USER_OP("dy_source")
    .Output("out")
    .Attr<int32_t>("rows", 3)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      user_op::TensorDesc* out = ctx->OutputTensorDesc("out", 0);
      *out->mut_shape() = Shape({5, 2});
      out->set_is_dynamic(true);
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->OutputDType("out", 0) = DataType::kFloat;
      return Maybe<void>::Ok();
    });
class SourceKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    const int32_t rows = ctx->Attr<int32_t>("rows");
    out->mut_shape()->Set(0, rows);
    for (int32_t i = 0; i < 2 * rows; ++i) out->mut_dptr<float>()[i] = static_cast<float>(i);
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("dy_source").SetCreateFn<SourceKernel>().SetIsMatchedHob(user_op::HobTrue());

REGISTER_USER_OP("dy_fixed")
    .Input("in")
    .Output("out")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->OutputShape("out", 0) = ctx->InputShape("in", 0);
      return Maybe<void>::Ok();
    })
    .SetDataTypeInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->OutputDType("out", 0) = ctx->InputDType("in", 0);
      return Maybe<void>::Ok();
    });
class FixedKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    ctx->Tensor4ArgNameAndIndex("out", 0)->mut_shape()->Set(0, 1);
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("dy_fixed").SetCreateFn<FixedKernel>().SetIsMatchedHob(user_op::HobTrue());
}  // namespace oneflow
"""
