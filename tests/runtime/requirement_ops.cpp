// Kernels that declare what they are, in both interfaces; results tell which one ran.
#include <stdexcept>

#include "oneflow/core/framework/framework.h"
#include "oneop/op.h"

namespace oneflow {
namespace {

template <int kResult>
class Says final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    user_op::Tensor* y = ctx->Tensor4ArgNameAndIndex("y", 0);
    for (int64_t i = 0; i < y->shape().elem_cnt(); ++i) {
      y->mut_dptr<float>()[i] = kResult;
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};

Maybe<void> InferLikeInput(user_op::InferContext* ctx) {
  *ctx->OutputShape("y", 0) = ctx->InputShape("x", 0);
  *ctx->OutputDType("y", 0) = ctx->InputDType("x", 0);
  return Maybe<void>::Ok();
}

REGISTER_USER_OP("rq_ranked").Input("x").Output("y").SetTensorDescInferFn(InferLikeInput).NoGrad();
REGISTER_USER_KERNEL("rq_ranked").SetCreateFn<Says<3>>().SetPriority(3).SetDeterministic(false);
REGISTER_USER_KERNEL("rq_ranked").SetCreateFn<Says<2>>().SetPriority(2);
REGISTER_USER_KERNEL("rq_ranked").SetCreateFn<Says<1>>().SetPriority(1).SetDeterministic();
REGISTER_USER_KERNEL("rq_ranked").SetCreateFn<Says<0>>().SetDeterministic().SetBatchInvariant();

REGISTER_USER_OP("rq_fast_only")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn(InferLikeInput)
    .NoGrad();
REGISTER_USER_KERNEL("rq_fast_only").SetCreateFn<Says<9>>().SetDeterministic(false);

REGISTER_USER_OP("rq_silent").Input("x").Output("y").SetTensorDescInferFn(InferLikeInput).NoGrad();
REGISTER_USER_KERNEL("rq_silent").SetCreateFn<Says<8>>();

// Counts its calls. State lives on when the requirement changes.
class Count final : public user_op::OpKernelState {
 public:
  int calls = 0;
};
class Counts final : public user_op::OpKernel {
  std::shared_ptr<user_op::OpKernelState> CreateOpKernelState(
      user_op::KernelInitContext* ctx) const override {
    if (ctx->oneop_frame_ptr()->required != 0) {
      throw std::runtime_error("state must not see a requirement");
    }
    return std::make_shared<Count>();
  }
  void Compute(user_op::KernelComputeContext* ctx, user_op::OpKernelState* state) const override {
    ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>()[0] = ++static_cast<Count*>(state)->calls;
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_OP("rq_counts").Input("x").Output("y").SetTensorDescInferFn(InferLikeInput).NoGrad();
REGISTER_USER_KERNEL("rq_counts").SetCreateFn<Counts>().SetDeterministic();

}  // namespace
}  // namespace oneflow

OP("rq_asks(Tensor x) -> Tensor y")
    .same_shape()
    .no_grad()
    .kernel<float>([](oneop::View<const float> x, oneop::View<float> y, oneop::Call& call) {
      for (int64_t i = 0; i < x.size(); ++i) {
        y.data()[i] = (call.requires_deterministic() ? 1.f : 0.f) +
                      (call.requires_batch_invariant() ? 2.f : 0.f);
      }
    })
    .deterministic()
    .batch_invariant();

OP("rq_twice(Tensor x) -> Tensor y")
    .elementwise<float>([](auto x) { return 2 * x; })
    .gradient("dx = rq_twice_grad(dy)");
OP("rq_twice_grad(Tensor dy) -> Tensor dx")
    .same_shape()
    .kernel<float>([](oneop::View<const float> dy, oneop::View<float> dx) {
      for (int64_t i = 0; i < dy.size(); ++i) {
        dx.data()[i] = 2 * dy.data()[i];
      }
    })
    .nondeterministic();

OP("rq_sum(Tensor x) -> Tensor y")
    .infer("... [n] -> ...")
    .no_grad()
    .rows<float>([](auto x, auto y) { y[0] = oneop::sum(x); });

// Each declaration is for the kernels before it that have none.
OP("rq_several(Tensor x) -> Tensor y")
    .same_shape()
    .no_grad()
    .kernel<double>([](oneop::View<const double>, oneop::View<double>) {})
    .nondeterministic()
    .kernel<float>([](oneop::View<const float>, oneop::View<float>) {})
    .deterministic();
