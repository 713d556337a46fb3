// An op and a functor that calls it, for the cost of the functional API.
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/op_builder.h"
#include "oneflow/core/functional/functional.h"

namespace oneflow {
namespace {

REGISTER_USER_OP("bench_leaky")
    .Input("x")
    .Output("y")
    .Attr("alpha", UserOpAttrType::kAtFloat, 0.1f)
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    });

class LeakyKernel final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    const float* in = x->dptr<float>();
    float* out = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>();
    const float alpha = ctx->Attr<float>("alpha");
    for (int64_t i = 0; i != x->shape().elem_cnt(); ++i) {
      out[i] = in[i] > 0 ? in[i] : alpha * in[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("bench_leaky")
    .SetCreateFn<LeakyKernel>()
    .SetIsMatchedHob(user_op::HobDeviceType() == DeviceType::kCPU);

}  // namespace

namespace one::functional {
namespace impl {

class Leaky {
 public:
  Leaky() { op_ = CHECK_JUST(one::OpBuilder("bench_leaky").Input("x").Output("y").Build()); }
  Maybe<Tensor> operator()(const std::shared_ptr<one::Tensor>& x, const float& alpha) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<float>("alpha", alpha));
    return OpInterpUtil::Dispatch<one::Tensor>(*op_, {x}, attrs);
  }

 private:
  std::shared_ptr<OpExpr> op_;
};
class First {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, const std::shared_ptr<Tensor>&) const {
    return x;
  }
};
class Second {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, const std::string&) const { return x; }
};

}  // namespace impl

ONEFLOW_FUNCTION_LIBRARY(m) {
  m.add_functor<impl::Leaky>("BenchLeaky");
  m.add_functor<impl::First>("BenchFirst");
  m.add_functor<impl::Second>("BenchSecond");
}

}  // namespace one::functional
}  // namespace oneflow
