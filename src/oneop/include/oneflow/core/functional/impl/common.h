// Checks that functors share.
#ifndef ONEFLOW_CORE_FUNCTIONAL_IMPL_COMMON_H_
#define ONEFLOW_CORE_FUNCTIONAL_IMPL_COMMON_H_

#include "oneflow/core/functional/functional.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace functional {

// Whether a tensor may be changed in place. Of leaves that want a gradient torch says so itself
// when the result is written; what a gradient is made of never exists.
inline Maybe<void> CheckInplaceValid(const std::shared_ptr<Tensor>& x) {
  CHECK_OR_RETURN(!::oneop::sdk::IsSymbol(x->oneop_handle_ptr()))
      << "a gradient cannot change a tensor in place";
  return Maybe<void>::Ok();
}
inline Maybe<void> CheckInplaceCastValid(const std::shared_ptr<Tensor>& x,
                                         const std::shared_ptr<Tensor>& x_cast) {
  CHECK_OR_RETURN(*x->dtype() == *x_cast->dtype())
      << "a tensor of type " << DataType_Name(x->dtype()->data_type())
      << " cannot hold the result, of type " << DataType_Name(x_cast->dtype()->data_type());
  return Maybe<void>::Ok();
}
inline Maybe<void> CheckInplaceShapeCanExpandTo(const Shape& shape, const Shape& expanded) {
  CHECK_OR_RETURN(shape == expanded) << "a tensor of shape " << shape.ToString()
                                     << " cannot hold the result, of shape " << expanded.ToString();
  return Maybe<void>::Ok();
}

// An axis counted from the end is a negative one.
inline Maybe<int64_t> maybe_wrap_dim(int64_t dim, int64_t ndim) {
  const int64_t range = ndim == 0 ? 1 : ndim;  // a tensor without dimensions has axes 0 and -1
  CHECK_OR_RETURN(-range <= dim && dim < range)
      << "Dimension out of range (expected to be in range of [" << -range << ", " << range - 1
      << "], but got " << dim << ")";
  return dim < 0 ? dim + range : dim;
}

}  // namespace functional
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FUNCTIONAL_IMPL_COMMON_H_
