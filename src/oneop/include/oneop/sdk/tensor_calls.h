// Methods of one::Tensor that are calls of torch's ops.
#ifndef ONEOP_SDK_TENSOR_CALLS_H_
#define ONEOP_SDK_TENSOR_CALLS_H_

#include "oneop/sdk/functor.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// A function of one tensor, called by its handle.
inline std::shared_ptr<oneflow::one::Tensor> CallOn(const char* name, oneop_handle handle) {
  return CallFunction<std::shared_ptr<oneflow::one::Tensor>>(
      name, oneflow::one::Tensor::OneopBorrow(handle));
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace one {

inline std::shared_ptr<Tensor> Tensor::contiguous() const {
  return ::oneop::sdk::CallOn("aten::contiguous", handle_);
}
inline Maybe<Tensor> Tensor::detach() const {
  return ::oneop::sdk::CallOn("aten::detach", handle_);
}
inline Maybe<Tensor> Tensor::clone() const { return ::oneop::sdk::CallOn("aten::clone", handle_); }

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_TENSOR_CALLS_H_
