// Bases of functors with two tensors, and of their gradients: a class of its own builds op_, the
// base brings the tensors to one type and calls it.
#ifndef ONEFLOW_CORE_FUNCTIONAL_IMPL_BINARY_FUNCTOR_H_
#define ONEFLOW_CORE_FUNCTIONAL_IMPL_BINARY_FUNCTOR_H_

#include "oneflow/core/functional/impl/common.h"
#include "oneflow/core/functional/tensor_processor.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace functional {
namespace impl {

class BinaryFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x,
                           const std::shared_ptr<Tensor>& y) const {
    return OpInterpUtil::Dispatch<Tensor>(*op_, *JUST(OneopInputs({x, y}, {}, true)));
  }

 protected:
  BinaryFunctor() = default;
  virtual ~BinaryFunctor() = default;
  std::shared_ptr<OpExpr> op_;
};

// Whole numbers are computed as float32; the types of x and y may differ.
class BinaryFloatFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x,
                           const std::shared_ptr<Tensor>& y) const {
    return OpInterpUtil::Dispatch<Tensor>(*op_, *JUST(OneopInputs({x, y}, DType::Float(), false)));
  }

 protected:
  BinaryFloatFunctor() = default;
  virtual ~BinaryFloatFunctor() = default;
  std::shared_ptr<OpExpr> op_;
};

class BinaryGradFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, const std::shared_ptr<Tensor>& y,
                           const std::shared_ptr<Tensor>& dz) const {
    return OpInterpUtil::Dispatch<Tensor>(*op_, *JUST(OneopInputs({x, y, dz}, {}, true)));
  }

 protected:
  BinaryGradFunctor() = default;
  virtual ~BinaryGradFunctor() = default;
  std::shared_ptr<OpExpr> op_;
};

// In place, x must have the type and the shape of the result.
class InplaceableBinaryFunctor {
 public:
  Maybe<Tensor> operator()(const std::shared_ptr<Tensor>& x, const std::shared_ptr<Tensor>& y,
                           bool inplace) const {
    const TensorTuple inputs = *JUST(OneopInputs({x, y}, {}, true));
    if (!inplace) {
      return OpInterpUtil::Dispatch<Tensor>(*op_, inputs);
    }
    JUST(CheckInplaceCastValid(x, inputs[0]));
    JUST(CheckInplaceValid(x));
    JUST(CheckShapeCanExpandTo(*y->shape(), *x->shape()));
    return OneopCallInPlace(*op_, inputs, x);
  }

 protected:
  InplaceableBinaryFunctor() = default;
  virtual ~InplaceableBinaryFunctor() = default;
  std::shared_ptr<OpExpr> op_;
};

}  // namespace impl
}  // namespace functional
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FUNCTIONAL_IMPL_BINARY_FUNCTOR_H_
