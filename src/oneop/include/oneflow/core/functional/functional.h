// functional::X for every function of the library's functional_api.yaml, and some of torch's.
#ifndef ONEFLOW_CORE_FUNCTIONAL_FUNCTIONAL_H_
#define ONEFLOW_CORE_FUNCTIONAL_FUNCTIONAL_H_

#include "oneflow/core/functional/function_library.h"
#include "oneop/sdk/tensor_calls.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace functional {

// A function by name: of another op library, or of torch (`aten::mul.Tensor`). One that returns
// several tensors is Call<TensorTuple>(...).
template <class T = Tensor, class... A>
Maybe<T> Call(const char* name, const A&... args) {
  using Held = std::conditional_t<std::is_same_v<T, Tensor>, std::shared_ptr<Tensor>, T>;
  try {
    return ::oneop::sdk::CallFunction<Held>(name, args...);
  } catch (const Exception& exception) {
    return exception.error();
  }
}

}  // namespace functional
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#if defined(ONEOP_PORT)
#include "oneflow/core/framework/tensor_methods.h"
#include "oneop/sdk/port/select_top_n.h"
#endif

#if __has_include("oneflow/core/functional/functional_api.yaml.h")
#include "oneflow/core/functional/functional_api.yaml.h"
#endif

#endif  // ONEFLOW_CORE_FUNCTIONAL_FUNCTIONAL_H_
