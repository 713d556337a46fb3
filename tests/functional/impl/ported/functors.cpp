// What sources from inside OneFlow 0.8 use beside the rest; built with -DONEOP_PORT=2022.
#include "oneflow/core/autograd/autograd_mode.h"
#include "oneflow/core/framework/nd_sbp.h"
#include "oneflow/core/framework/op_expr_grad_function.h"
#include "oneflow/core/functional/functional.h"
#include "oneflow/core/functional/impl/common.h"
#include "oneflow/core/job/lazy_mode.h"

namespace oneflow {
namespace one {
namespace functional {

// The SDK's are templates, so that a source may define them once more.
Maybe<void> CheckInplaceCastValid(const std::shared_ptr<Tensor>&, const std::shared_ptr<Tensor>&) {
  return Error::RuntimeError() << "the check of the source itself";
}

namespace impl {

class TopFunctor {
 public:
  TopFunctor() { op_ = CHECK_JUST(one::SelectTopNOpExpr::New()); }
  Maybe<TensorTuple> operator()(const TensorTuple& inputs, int32_t n) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<int32_t>("top_n", n));
    return OpInterpUtil::Dispatch<TensorTuple>(*op_, inputs, attrs);
  }

 private:
  std::shared_ptr<OpExpr> op_;
};

struct ZerosFunctor {
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const {
    const std::shared_ptr<Tensor> zeros =
        JUST(StaticZerosTensor::MakeTensor(x->shape(), x->dtype()->data_type(), JUST(x->device())));
    CHECK_OR_RETURN(IsStaticZerosTensor(zeros) && !IsStaticZerosTensor(x));
    CHECK_OR_RETURN(JUST(x->stride())->size() == static_cast<size_t>(x->ndim()));
    return zeros;
  }
};

struct BranchFunctor {
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, bool is_placed) const {
    if (LazyMode::is_enabled() || x->is_consistent() || is_placed) {
      NdSbp sbp;
      sbp.add_sbp_parallel()->mutable_broadcast_parallel();
      return functional::PortBranch(x, Symbol<ParallelDesc>(), *JUST(GetSbpList(SymbolOf(sbp))));
    }
    return x;
  }
};
struct CheckedFunctor {
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const {
    JUST(CheckInplaceCastValid(x, x));
    return x;
  }
};

}  // namespace impl

ONEFLOW_FUNCTION_LIBRARY(m) {
  m.add_functor<impl::TopFunctor>("PortTop");
  m.add_functor<impl::ZerosFunctor>("PortZeros");
  m.add_functor<impl::BranchFunctor>("PortBranch");
  m.add_functor<impl::CheckedFunctor>("PortChecked");
}

}  // namespace functional

// A gradient that does what a recorded class cannot; `which` says what.
struct WrongState : public AutoGradCaptureState {
  int32_t which;
};
class WrongGrad : public OpExprGradFunction<WrongState> {
 public:
  Maybe<void> Init(const OpExpr&) override { return Maybe<void>::Ok(); }
  Maybe<void> Capture(WrongState* ctx, const TensorTuple&, const TensorTuple&,
                      const AttrMap& attrs) const override {
    ctx->which = static_cast<int32_t>(JUST(attrs.GetAttr<int64_t>("which")));
    return Maybe<void>::Ok();
  }
  Maybe<void> Apply(const WrongState* ctx, const TensorTuple& out_grads,
                    TensorTuple* in_grads) const override {
    const auto& dy = out_grads[0];
    if (ctx->which == 0) {
      autograd::AutoGradMode mode(false);
    } else if (ctx->which == 1) {
      JUST(dy->set_requires_grad(true));
    } else if (ctx->which == 2) {
      JUST(dy->storage_offset());
    } else if (ctx->which == 3) {
      ::oneop::sdk::ReadElements(dy->oneop_handle_ptr(), nullptr, 0);
    }
    in_grads->assign(1, JUST(StaticZerosTensor::MakeTensor(dy->shape(), dy->dtype()->data_type(),
                                                           JUST(dy->device()))));
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("port_wrong", WrongGrad);

}  // namespace one
}  // namespace oneflow
