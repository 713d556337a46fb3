// functional::X for every function of the library's functional_api.yaml, and some of torch's.
#ifndef ONEFLOW_CORE_FUNCTIONAL_FUNCTIONAL_H_
#define ONEFLOW_CORE_FUNCTIONAL_FUNCTIONAL_H_

#include "oneflow/core/functional/function_library.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace functional {

// A function by name: of another op library, or of torch (`aten::mul.Tensor`).
template <class... A>
Maybe<Tensor> Call(const char* name, const A&... args) {
  try {
    return ::oneop::sdk::CallFunction<std::shared_ptr<Tensor>>(name, args...);
  } catch (const Exception& exception) {
    return exception.error();
  }
}

}  // namespace functional
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#if __has_include("oneflow/core/functional/functional_api.yaml.h")
#include "oneflow/core/functional/functional_api.yaml.h"
#endif

#endif  // ONEFLOW_CORE_FUNCTIONAL_FUNCTIONAL_H_
