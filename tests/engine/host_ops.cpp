// tests/engine/host_ops.cpp: ops that ask something of their host: threads, scratch memory, random
// numbers, an op of the framework.
#include <stdexcept>

#include "oneflow/core/framework/op_expr_grad_function.h"
#include "oneflow/core/functional/functional.h"
#include "oneop/op.h"

// The sum of whole numbers up to each index, each thread through scratch memory of its own.
OP("host_counts(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto x, auto y, oneop::Call& call) {
      call.parallel_for(0, y.numel(), 16, [&](int64_t begin, int64_t end) {
        float* sums = call.scratch<float>(end - begin);
        for (int64_t i = begin; i != end; ++i) {
          sums[i - begin] = x[i] + static_cast<float>(i);
        }
        for (int64_t i = begin; i != end; ++i) {
          y[i] = sums[i - begin];
        }
      });
    })
    .no_grad();

OP("host_fails(Tensor x) -> Tensor y")
    .same_shape()
    .kernel<float>([](auto, auto) { throw std::runtime_error("out of patience"); })
    .no_grad();

// Attributes whose values say of what kind or how many they are.
OP("host_forms(Tensor x, *, Scalar k=1, int[2] n=0, bool[] on=[]) -> Tensor y")
    .elementwise<float>([](auto x, oneop::Scalar k, oneop::List<int64_t> n, oneop::List<bool> on) {
      const float kind = k.IsBool() ? 0.125f : k.IsIntegral() ? 0.25f : 0.5f;
      return x * (k.As<float>() + kind) + static_cast<float>(n[0] + 10 * n[1]) +
             static_cast<float>(100 * (on.size() > 1 && on[1]));
    })
    .no_grad();

OP("host_lists(Tensor[] a, Tensor[] b, Tensor[] c) -> Tensor y")
    .infer([](oneop::Infer& ctx) {
      ctx.set("y", {ctx.count("a"), ctx.count("b"), ctx.count("c")});
    })
    .kernel<float>([](auto, auto, auto, auto) {})
    .no_grad();

OP("host_sine(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return sin(x); });
OP("host_no_gradient(Tensor x) -> Tensor y").elementwise<float>([](auto x) { return x; });

namespace oneflow::one {
namespace {

class Sine : public OpExprGradFunction<AutoGradCaptureState> {
  Maybe<void> Init(const OpExpr&) override { return Maybe<void>::Ok(); }
  Maybe<void> Capture(AutoGradCaptureState* ctx, const TensorTuple& inputs, const TensorTuple&,
                      const AttrMap&) const override {
    ctx->SaveTensorForBackward(inputs.at(0));
    return Maybe<void>::Ok();
  }
  Maybe<void> Apply(const AutoGradCaptureState* ctx, const TensorTuple& dys,
                    TensorTuple* dxs) const override {
    const auto slope = JUST(functional::Call("aten::cos", ctx->SavedTensors().at(0)));
    CHECK_EQ_OR_RETURN(slope->ndim(), dys.at(0)->ndim());
    dxs->assign({JUST(functional::Call("aten::mul.Tensor", slope, dys.at(0)))});
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("host_sine", Sine);

}  // namespace
}  // namespace oneflow::one
