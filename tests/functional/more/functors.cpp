// Functors in the ways of the framework that are seldom needed: in place, promotion, sequences,
// random numbers.
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/op_builder.h"
#include "oneflow/core/functional/functional.h"
#include "oneflow/core/functional/impl/common.h"
#include "oneflow/core/functional/sequence_function.h"
#include "oneflow/core/functional/tensor_processor.h"

namespace oneflow {
namespace {

REGISTER_USER_OP("more_twice")
    .Input("x")
    .Output("y")
    .SetTensorDescInferFn([](user_op::InferContext* ctx) -> Maybe<void> {
      *ctx->Shape4ArgNameAndIndex("y", 0) = *ctx->Shape4ArgNameAndIndex("x", 0);
      *ctx->Dtype4ArgNameAndIndex("y", 0) = *ctx->Dtype4ArgNameAndIndex("x", 0);
      return Maybe<void>::Ok();
    });

class Twice final : public user_op::OpKernel {
  void Compute(user_op::KernelComputeContext* ctx) const override {
    const user_op::Tensor* x = ctx->Tensor4ArgNameAndIndex("x", 0);
    float* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<float>();
    for (int64_t i = 0; i != x->shape().elem_cnt(); ++i) {
      y[i] = 2 * x->dptr<float>()[i];
    }
  }
  bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }
};
REGISTER_USER_KERNEL("more_twice")
    .SetCreateFn<Twice>()
    .SetIsMatchedHob(user_op::HobDataType("x", 0) == DataType::kFloat);

REGISTER_USER_OP_GRAD("more_twice")
    .SetBackwardOpConfGenFn([](user_op::BackwardOpConfContext* ctx) -> Maybe<void> {
      ctx->DefineOp("twice", [&](user_op::BackwardOpBuilder& builder) {
        return builder.OpTypeName("more_twice")
            .InputBind("x", ctx->FwOp().output_grad("y", 0))
            .Output("y")
            .Build();
      });
      ctx->FwOp().InputGradBind(user_op::OpArg("x", 0), [&]() -> const std::string& {
        return ctx->GetOp("twice").output("y", 0);
      });
      return Maybe<void>::Ok();
    });

}  // namespace

namespace one::functional {
namespace impl {

class InplaceTwice {
 public:
  InplaceTwice() { op_ = CHECK_JUST(one::OpBuilder("more_twice").Input("x").Output("y").Build()); }
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const { return Into(x, x); }
  Maybe<Tensor> Into(const std::shared_ptr<Tensor>& x, const std::shared_ptr<Tensor>& out) const {
    JUST(CheckInplaceValid(out));
    std::shared_ptr<TensorTuple> outputs = std::make_shared<TensorTuple>(1);
    outputs->at(0) = out;
    JUST(OpInterpUtil::Dispatch(*op_, {x}, outputs.get()));
    return outputs->at(0);
  }

 private:
  std::shared_ptr<OpExpr> op_;
};
class TwiceInto {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x,
                           const std::shared_ptr<Tensor>& out) const {
    return inplace_.Into(x, out);
  }

 private:
  InplaceTwice inplace_;
};
class Promoted {
 public:
  Maybe<TensorTuple> operator()(const std::shared_ptr<Tensor>& x, const std::shared_ptr<Tensor>& y,
                                bool common, const Optional<Symbol<DType>>& lowest) const {
    TensorProcessor processor;
    if (lowest) {
      processor.AddInputs({x, y}, JUST(lowest));
    } else {
      processor.AddInputs({x, y});
    }
    JUST(processor.PromoteInputsToCommonDtype(common).Apply());
    return JUST(processor.GetInputs());
  }
};
class Sequence {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, const std::shared_ptr<Tensor>& y,
                           bool again) const {
    const auto sum = [](const std::shared_ptr<Tensor>& a, const std::shared_ptr<Tensor>& b) {
      return Call("aten::add.Tensor", a, b);
    };
    return sequence_function(sum).then(MoreTwice).then_if(again, MoreTwice).call(x, y);
  }
};
class Noise {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x,
                           const Optional<one::Generator>& generator) const {
    const auto used = generator.value_or(JUST(one::DefaultAutoGenerator()));
    return Call("aten::bernoulli", x, used);
  }
};
class Draw {
 public:
  Maybe<int64_t> operator()(const std::shared_ptr<one::Generator>& generator,
                            const Optional<int64_t>& seed) const {
    if (seed) {
      generator->set_current_seed(JUST(seed));
      CHECK_EQ_OR_RETURN(generator->current_seed(), static_cast<uint64_t>(JUST(seed)));
    }
    return static_cast<int64_t>(generator->random64());
  }
};
class Kinds {
 public:
  Maybe<std::string> operator()(int32_t layout, int32_t format) const {
    return std::to_string(layout) + " " + std::to_string(format);
  }
};
class Axis {
 public:
  Maybe<int64_t> operator()(const std::shared_ptr<Tensor>& x, int64_t dim) const {
    return JUST(maybe_wrap_dim(dim, x->ndim()));
  }
};

}  // namespace impl

ONEFLOW_FUNCTION_LIBRARY(m) {
  m.add_functor<impl::InplaceTwice>("MoreInplaceTwice");
  m.add_functor<impl::TwiceInto>("MoreTwiceInto");
  m.add_functor<impl::Promoted>("MorePromoted");
  m.add_functor<impl::Sequence>("MoreSequence");
  m.add_functor<impl::Noise>("MoreNoise");
  m.add_functor<impl::Draw>("MoreDraw");
  m.add_functor<impl::Kinds>("MoreKinds");
  m.add_functor<impl::Axis>("MoreAxis");
}

}  // namespace one::functional
}  // namespace oneflow
