// Bases of functors with one tensor: a class of its own builds op_, the base calls it.
#ifndef ONEFLOW_CORE_FUNCTIONAL_IMPL_UNARY_FUNCTOR_H_
#define ONEFLOW_CORE_FUNCTIONAL_IMPL_UNARY_FUNCTOR_H_

#include "oneflow/core/functional/impl/common.h"
#include "oneflow/core/functional/tensor_processor.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace functional {
namespace impl {

class UnaryFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const {
    return OpInterpUtil::Dispatch<Tensor>(*op_, {x});
  }

 protected:
  UnaryFunctor() = default;
  virtual ~UnaryFunctor() = default;
  std::shared_ptr<OpExpr> op_;
};

// The result replaces the contents of x, which is returned.
class InplaceUnaryFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const {
    JUST(CheckInplaceValid(x));
    return OneopCallInPlace(*op_, {x}, x);
  }

 protected:
  InplaceUnaryFunctor() = default;
  virtual ~InplaceUnaryFunctor() = default;
  std::shared_ptr<OpExpr> op_;
};

// Whole numbers are computed as float32.
class FloatUnaryFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const {
    return OpInterpUtil::Dispatch<Tensor>(*op_, *JUST(OneopInputs({x}, DType::Float(), false)));
  }

 protected:
  FloatUnaryFunctor() = default;
  virtual ~FloatUnaryFunctor() = default;
  std::shared_ptr<OpExpr> op_;
};

// As both: a tensor of whole numbers cannot hold the result, and is refused.
class InplaceFloatUnaryFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x) const {
    const TensorTuple inputs = *JUST(OneopInputs({x}, DType::Float(), false));
    JUST(CheckInplaceCastValid(x, inputs[0]));
    JUST(CheckInplaceValid(x));
    return OneopCallInPlace(*op_, inputs, x);
  }

 protected:
  InplaceFloatUnaryFunctor() = default;
  virtual ~InplaceFloatUnaryFunctor() = default;
  std::shared_ptr<OpExpr> op_;
};

}  // namespace impl
}  // namespace functional
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FUNCTIONAL_IMPL_UNARY_FUNCTOR_H_
