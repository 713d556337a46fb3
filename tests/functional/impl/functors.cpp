// Functors as the files of functional/impl are written: classes on the bases of unary_functor.h and
// binary_functor.h, calls in place, on a device, and with autograd off.
#include "oneflow/core/autograd/autograd_mode.h"
#include "oneflow/core/functional/functional.h"
#include "oneflow/core/functional/impl/binary_functor.h"
#include "oneflow/core/functional/impl/unary_functor.h"

namespace oneflow {
namespace one {
namespace functional {
namespace impl {

template <class Base>
class SineOn : public Base {
 public:
  SineOn() { this->op_ = CHECK_JUST(one::OpBuilder("im_sine").Input("x").Output("y").Build()); }
};
class SineFunctor : public SineOn<UnaryFunctor> {};
class FloatSineFunctor : public SineOn<FloatUnaryFunctor> {};
class InplaceSineFunctor : public SineOn<InplaceUnaryFunctor> {};
class InplaceFloatSineFunctor : public SineOn<InplaceFloatUnaryFunctor> {};

template <class Base>
class MulOn : public Base {
 public:
  MulOn() {
    this->op_ = CHECK_JUST(one::OpBuilder("im_mul").Input("x").Input("y").Output("z").Build());
  }
};
class MulFunctor : public MulOn<BinaryFunctor> {};
class FloatMulFunctor : public MulOn<BinaryFloatFunctor> {};
class InplaceableMulFunctor : public MulOn<InplaceableBinaryFunctor> {};
class MulGradFunctor : public BinaryGradFunctor {
 public:
  MulGradFunctor() {
    op_ = CHECK_JUST(
        one::OpBuilder("im_mul3").Input("x").Input("y").Input("dz").Output("dx").Build());
  }
};

class ScaleFunctor {
 public:
  ScaleFunctor() { op_ = CHECK_JUST(one::OpBuilder("im_scale").Input("x").Output("y").Build()); }
  Maybe<Tensor> operator()(const std::shared_ptr<one::Tensor>& x, const float& by,
                           const bool& inplace) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<double>("by", by));
    if (inplace) {
      JUST(CheckInplaceValid(x));
      std::shared_ptr<TensorTuple> outputs = std::make_shared<TensorTuple>(1);
      outputs->at(0) = x;
      JUST(OpInterpUtil::Dispatch(*op_, {x}, outputs.get(), attrs));
      return outputs->at(0);
    }
    return OpInterpUtil::Dispatch<Tensor>(*op_, {x}, OpExprInterpContext(attrs, false));
  }

 private:
  std::shared_ptr<OpExpr> op_;
};

class FullFunctor {
 public:
  FullFunctor() { op_ = CHECK_JUST(one::OpBuilder("im_full").Output("y").Build()); }
  Maybe<Tensor> operator()(const std::vector<int64_t>& size, const Optional<Symbol<Device>>& device,
                           const bool& requires_grad) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<std::vector<int64_t>>("size", size));
    OpExprInterpContext ctx(attrs);
    ctx.device = device;
    const auto made = JUST(OpInterpUtil::Dispatch<Tensor>(*op_, {}, ctx));
    JUST(made->set_requires_grad(requires_grad));
    return made;
  }

 private:
  std::shared_ptr<OpExpr> op_;
};
class FullOnFunctor {
 public:
  Maybe<Tensor> operator()(const std::vector<int64_t>& size, const std::string& device) const {
    const Symbol<Device> on = JUST(Device::ParseAndNew(device));
    return functional::Full(size, on, false);
  }
};
class PlacedFunctor {  // no signature reaches it
 public:
  PlacedFunctor() { op_ = CHECK_JUST(one::OpBuilder("im_full").Output("y").Build()); }
  Maybe<Tensor> operator()(const std::vector<int64_t>& size, const Symbol<ParallelDesc>& placement,
                           const std::vector<Symbol<SbpParallel>>&) const {
    MutableAttrMap attrs;
    JUST(attrs.SetAttr<std::vector<int64_t>>("size", size));
    return OpInterpUtil::Dispatch<Tensor>(*op_, {}, OpExprInterpContext(attrs, placement));
  }

 private:
  std::shared_ptr<OpExpr> op_;
};
class FullPlacedFunctor {
 public:
  Maybe<Tensor> operator()(const std::vector<int64_t>& size) const {
    return PlacedFunctor()(size, Symbol<ParallelDesc>(), {});
  }
};

// sin(x) + sin(y), of which the first is no part of the graph.
class FrozenSumFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<one::Tensor>& x,
                           const std::shared_ptr<one::Tensor>& y) const {
    std::shared_ptr<Tensor> frozen;
    {
      autograd::AutoGradMode mode(false);
      CHECK_OR_RETURN(!autograd::GradMode::is_enabled());
      frozen = JUST(functional::Sine(x));
    }
    return functional::Call("aten::add.Tensor", frozen, JUST(functional::Sine(y)));
  }
};
class FailsWithoutGradFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<one::Tensor>& x) const {
    autograd::NoGradGuard guard;
    CHECK_OR_RETURN(false) << "autograd is off when this fails";
    return x;
  }
};

}  // namespace impl

ONEFLOW_FUNCTION_LIBRARY(m) {
  m.add_functor<impl::SineFunctor>("Sine");
  m.add_functor<impl::FloatSineFunctor>("FloatSine");
  m.add_functor<impl::InplaceSineFunctor>("InplaceSine");
  m.add_functor<impl::InplaceFloatSineFunctor>("InplaceFloatSine");
  m.add_functor<impl::MulFunctor>("Mul");
  m.add_functor<impl::FloatMulFunctor>("FloatMul");
  m.add_functor<impl::InplaceableMulFunctor>("InplaceableMul");
  m.add_functor<impl::MulGradFunctor>("MulGrad");
  m.add_functor<impl::ScaleFunctor>("Scale");
  m.add_functor<impl::FullFunctor, impl::FullOnFunctor, impl::PlacedFunctor>("Full");
  m.add_functor<impl::FullPlacedFunctor>("FullPlaced");
  m.add_functor<impl::FrozenSumFunctor>("FrozenSum");
  m.add_functor<impl::FailsWithoutGradFunctor>("FailsWithoutGrad");
}

}  // namespace functional
}  // namespace one
}  // namespace oneflow
