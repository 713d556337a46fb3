// ONEFLOW_FUNCTION_LIBRARY(m) { m.add_functor<impl::MyFunctor>("My"); }
#ifndef ONEFLOW_CORE_FUNCTIONAL_FUNCTION_LIBRARY_H_
#define ONEFLOW_CORE_FUNCTIONAL_FUNCTION_LIBRARY_H_

#include "oneflow/core/framework/op_interpreter/op_interpreter_util.h"
#include "oneop/sdk/functor.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace functional {

class FunctionLibrary {
 public:
  FunctionLibrary(const char* file, int32_t line) : file_(file), line_(line) {}
  // Several functors of one name differ in their parameters.
  template <class... F>
  void add_functor(std::string_view name) {
    (::oneop::sdk::AddFunctor<F>(name, file_, line_), ...);
  }

 private:
  const char* file_;
  int32_t line_;
};

}  // namespace functional
}  // namespace one

using one::functional::FunctionLibrary;

}  // namespace oneflow ONEOP_HIDDEN

#define ONEFLOW_FUNCTION_LIBRARY(m) ONEOP_FUNCTION_LIBRARY_(m, __COUNTER__)
#define ONEOP_FUNCTION_LIBRARY_(m, n)                                                          \
  static void ONEOP_CAT(oneop_functions_, n)(::oneflow::one::functional::FunctionLibrary & m); \
  static const int ONEOP_CAT(oneop_functions_added_, n) __attribute__((unused)) = ([] {        \
    ::oneflow::one::functional::FunctionLibrary library(__FILE__, __LINE__);                   \
    ONEOP_CAT(oneop_functions_, n)(library);                                                   \
    return 0;                                                                                  \
  })();                                                                                        \
  static void ONEOP_CAT(oneop_functions_, n)(::oneflow::one::functional::FunctionLibrary & m)

#endif  // ONEFLOW_CORE_FUNCTIONAL_FUNCTION_LIBRARY_H_
