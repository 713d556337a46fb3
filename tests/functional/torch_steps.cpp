// Eager gradients that call torch's ops, and ask for the shapes of what calls return. The ops are
// defined in test_torch_steps.py.
#include "oneflow/core/framework/op_expr_grad_function.h"
#include "oneflow/core/functional/functional.h"

namespace oneflow::one {
namespace {

using functional::Call;
using TensorPtr = std::shared_ptr<Tensor>;

struct State : public AutoGradCaptureState {
  int64_t how = 0;
};

// Saves all inputs; `how` is an attribute where the op has one.
class SavesInputs : public OpExprGradFunction<State> {
 public:
  Maybe<void> Init(const OpExpr&) override { return Maybe<void>::Ok(); }
  Maybe<void> Capture(State* ctx, const TensorTuple& inputs, const TensorTuple&,
                      const AttrMap& attrs) const override {
    for (const TensorPtr& input : inputs) {
      ctx->SaveTensorForBackward(input);
    }
    if (attrs.size() > 0) {
      ctx->how = JUST(attrs.GetAttr<int64_t>("how"));
    }
    return Maybe<void>::Ok();
  }
};

class Sine : public SavesInputs {
  Maybe<void> Apply(const State* ctx, const TensorTuple& dys, TensorTuple* dxs) const override {
    const TensorPtr slope = JUST(Call("aten::cos", ctx->SavedTensors().at(0)));
    dxs->assign({JUST(Call("aten::mul.Tensor", slope, dys.at(0)))});
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fn_sine", Sine);

// y = x * w for any shapes that broadcast: each gradient is summed to the shape of its input.
class Broadcast : public SavesInputs {
  static Maybe<Tensor> SumTo(const TensorPtr& grad, const TensorPtr& like) {
    std::vector<int64_t> axes;
    const int64_t more = grad->ndim() - like->ndim();
    for (int64_t i = 0; i != grad->ndim(); ++i) {
      if (i < more || like->dim(i - more) != grad->dim(i)) {
        axes.push_back(i);
      }
    }
    if (axes.empty()) {
      return grad;
    }
    const TensorPtr sum =
        JUST(Call("aten::sum.dim_IntList", grad, axes, /*keepdim=*/true, grad->dtype()));
    CHECK_EQ_OR_RETURN(sum->ndim(), grad->ndim());
    CHECK_EQ_OR_RETURN(JUST(sum->device())->type(), JUST(grad->device())->type());
    return Call("aten::reshape", sum, *like->shape());
  }
  Maybe<void> Apply(const State* ctx, const TensorTuple& dys, TensorTuple* dxs) const override {
    const TensorPtr& x = ctx->SavedTensors().at(0);
    const TensorPtr& w = ctx->SavedTensors().at(1);
    dxs->resize(2);
    // FnTorch is a functor of another library: it calls aten::mul.Tensor.
    (*dxs)[0] = JUST(SumTo(JUST(Call("FnTorch", dys.at(0), w)), x));
    (*dxs)[1] = JUST(SumTo(JUST(Call("aten::mul.Tensor", dys.at(0), x)), w));
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fn_broadcast", Broadcast);

// y = the halves of x in the other order. Lists of tensors, returned and given.
class SwapHalves : public SavesInputs {
  Maybe<void> Apply(const State*, const TensorTuple& dys, TensorTuple* dxs) const override {
    const auto halves = JUST(Call<TensorTuple>("aten::chunk", dys.at(0), 2));
    TensorTuple swapped(halves->rbegin(), halves->rend());
    dxs->assign({JUST(Call("aten::cat", swapped))});
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fn_swap_halves", SwapHalves);

// y = x[:, index], a permutation. Two outputs, and a list with a gap.
class Columns : public SavesInputs {
  Maybe<void> Apply(const State* ctx, const TensorTuple& dys, TensorTuple* dxs) const override {
    const auto sorted = JUST(Call<TensorTuple>("aten::sort", ctx->SavedTensors().at(1)));
    const TensorTuple indices{nullptr, sorted->at(1)};
    dxs->assign({JUST(Call("aten::index.Tensor", dys.at(0), indices)), nullptr});
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fn_columns", Columns);

// y = 2 * x, through a registered op whose result is asked for its shape, and a tensor of no other.
class Twice : public SavesInputs {
  Maybe<void> Apply(const State* ctx, const TensorTuple& dys, TensorTuple* dxs) const override {
    const TensorPtr& x = ctx->SavedTensors().at(0);
    const TensorPtr dx = JUST(Call("FnLeaky", JUST(Call("aten::ones_like", x)), 0.5f));
    CHECK_EQ_OR_RETURN(*dx->shape(), *x->shape());
    CHECK_OR_RETURN(dx->dtype() == x->dtype());
    const TensorPtr two =
        JUST(Call("aten::full", *dx->shape(), 2.0, dx->dtype(), NullOpt, JUST(dx->device())));
    CHECK_EQ_OR_RETURN(two->nelement(), x->nelement());
    dxs->assign(
        {JUST(Call("aten::mul.Tensor", JUST(Call("aten::mul.Tensor", dx, two)), dys.at(0)))});
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fn_twice", Twice);

// y = x; its gradient is wrong in a way that the attribute tells.
class Wrong : public SavesInputs {
  Maybe<void> Apply(const State* ctx, const TensorTuple& dys, TensorTuple* dxs) const override {
    const TensorPtr& dy = dys.at(0);
    dxs->resize(1);
    switch (ctx->how) {
      case 1:  // FnOnes runs aten::ones at once: another library does not know of this gradient
        (*dxs)[0] = JUST(Call("aten::mul.Tensor", dy, JUST(Call("FnOnes", Shape({2})))));
        break;
      case 2:
        (*dxs)[0] = JUST(Call("aten::add_.Tensor", dy, dy));
        break;
      case 3:
        (*dxs)[0] = JUST(Call("aten::mul.Tensor", dy, 2.0));
        break;
      case 4:
        (*dxs)[0] = JUST(Call("aten::no_such_op", dy));
        break;
      case 5:
        (*dxs)[0] =
            JUST(Call("aten::mul.Tensor", dy, JUST(Call("aten::cat", TensorTuple{dy, dy}))));
        break;
      case 6:
        (*dxs)[0] = JUST(Call("aten::item", dy));
        break;
      case 7: {
        const TensorPtr longer = JUST(Call("aten::cat", TensorTuple{dy, dy}));
        const TensorPtr product = JUST(Call("aten::mul.Tensor", dy, longer));
        CHECK_EQ_OR_RETURN(product->ndim(), 1);
        (*dxs)[0] = product;
        break;
      }
      default:
        (*dxs)[0] = JUST(Call("aten::mul.Tensor", dy));
    }
    return Maybe<void>::Ok();
  }
};
REGISTER_OP_EXPR_GRAD_FUNCTION("fn_wrong_steps", Wrong);

}  // namespace
}  // namespace oneflow::one
