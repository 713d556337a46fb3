// Looking at the elements of a tensor from a functor. Its result then depends on data: such a call
// is refused where torch traces.
#ifndef ONEFLOW_CORE_FRAMEWORK_TENSOR_UTIL_H_
#define ONEFLOW_CORE_FRAMEWORK_TENSOR_UTIL_H_

#include <functional>

#include "oneflow/core/register/ofblob.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {

// Hands the callback the address of an OfBlob. With the modifier "const" it may read, with "mut" or
// "mut2" write; what it wrote is in the tensor when this returns.
inline Maybe<void> SyncAccessTensorWithTimeOut(const std::shared_ptr<Tensor>& tensor,
                                               const std::function<void(uint64_t)>& callback,
                                               const std::string& modifier) {
  try {
    OfBlob blob(tensor, /*is_mutable=*/modifier != "const");
    callback(reinterpret_cast<uint64_t>(&blob));
    blob.OneopFinish();
  } catch (const Exception& exception) {
    return exception.error();
  }
  return Maybe<void>::Ok();
}

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_TENSOR_UTIL_H_
