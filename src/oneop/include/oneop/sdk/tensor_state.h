// What autograd keeps of a tensor and of a thread, and the elements of a tensor: asked of the host.
#ifndef ONEOP_SDK_TENSOR_STATE_H_
#define ONEOP_SDK_TENSOR_STATE_H_

#include "oneop/sdk/recorder.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

[[noreturn]] ONEOP_COLD inline void ThrowOldHost(std::string_view act) {
  ThrowText(
      ONEOP_ERROR_NOT_IMPLEMENTED,
      {"a functor ", act, ", which this oneop cannot do (plugin ABI 1.7 can)\n  update oneop"});
}

ONEOP_COLD inline int64_t AskState(oneop_handle tensor, int32_t act, int64_t value = 0) {
  if (!HostHas(offsetof(oneop_host, state))) {
    ThrowOldHost("asks about autograd");
  }
  HostStatus status;
  status.Check(Host()->state(tensor, act, &value, &status.status));
  return value;
}

// The elements of a tensor, in the order of their indices.
ONEOP_COLD inline void ReadElements(oneop_handle tensor, void* to, int64_t bytes) {
  if (IsSymbol(tensor)) {
    ThrowText(ONEOP_ERROR_RUNTIME,
              {"a gradient class reads the elements of a tensor: its calls are recorded once, for "
               "all values"});
  }
  if (!HostHas(offsetof(oneop_host, read))) {
    ThrowOldHost("reads the elements of a tensor");
  }
  HostStatus status;
  status.Check(Host()->read(tensor, to, bytes, &status.status));
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace one {

// What a gradient is made of is no leaf: calls have made it, or will.
inline bool Tensor::is_leaf() const {
  return !::oneop::sdk::IsSymbol(handle_) &&
         ::oneop::sdk::AskState(handle_, ONEOP_STATE_IS_LEAF) != 0;
}
inline Maybe<void> Tensor::set_requires_grad(bool requires_grad) const {
  if (::oneop::sdk::IsSymbol(handle_)) {
    CHECK_OR_RETURN(requires_grad == this->requires_grad())
        << "a gradient class sets requires_grad of a tensor that its calls make";
    return Maybe<void>::Ok();
  }
  try {
    ::oneop::sdk::AskState(handle_, ONEOP_STATE_SET_REQUIRES_GRAD, requires_grad ? 1 : 0);
  } catch (const Exception& exception) {
    return exception.error();
  }
  return Maybe<void>::Ok();
}
inline Maybe<int64_t> Tensor::storage_offset() const {
  CHECK_OR_RETURN(!::oneop::sdk::IsSymbol(handle_))
      << "a gradient class asks where a tensor lies in memory: its calls are recorded, not run";
  try {
    return ::oneop::sdk::AskState(handle_, ONEOP_STATE_STORAGE_OFFSET);
  } catch (const Exception& exception) {
    return exception.error();
  }
}

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_TENSOR_STATE_H_
