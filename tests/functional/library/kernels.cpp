#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

class Leaky final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    const float alpha = ctx->Attr<float>("alpha");
    for (int64_t i = 0; i != x->shape_view().elem_cnt(); ++i) {
      const float v = x->dptr<float>()[i];
      y->mut_dptr<float>()[i] = v > 0 ? v : alpha * v;
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fn_leaky")
    .SetCreateFn<Leaky>()
    .SetIsMatchedHob(user_op::HobDataType("x", 0) == kFloat);

class LeakyGrad final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const user_op::Tensor* dy = ctx->Tensor4ArgNameAndIndex("dy", 0);
    user_op::Tensor* dx = ctx->Tensor4ArgNameAndIndex("dx", 0);
    const float alpha = ctx->Attr<float>("alpha");
    for (int64_t i = 0; i != x->shape_view().elem_cnt(); ++i) {
      dx->mut_dptr<float>()[i] = (x->dptr<float>()[i] > 0 ? 1 : alpha) * dy->dptr<float>()[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fn_leaky_grad").SetCreateFn<LeakyGrad>();

class Copy final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    for (int64_t i = 0; i != x->shape_view().elem_cnt(); ++i) {
      y->mut_dptr<float>()[i] = x->dptr<float>()[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fn_both").SetCreateFn<Copy>();

class Sum final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    user_op::Tensor* out = ctx->Tensor4ArgNameAndIndex("out", 0);
    const auto weights = ctx->Attr<std::vector<int64_t>>("weights");
    for (int64_t i = 0; i != out->shape_view().elem_cnt(); ++i) {
      const user_op::Tensor* bias = ctx->Tensor4ArgNameAndIndex("bias", 0);
      float total = bias == nullptr ? 0 : bias->dptr<float>()[i];
      for (int32_t k = 0; k != ctx->input_size("in"); ++k) {
        const int64_t weight = weights.empty() ? 1 : weights[k];
        total += weight * ctx->Tensor4ArgNameAndIndex("in", k)->dptr<float>()[i];
      }
      out->mut_dptr<float>()[i] = total;
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("fn_sum").SetCreateFn<Sum>();

}  // namespace
}  // namespace oneflow
