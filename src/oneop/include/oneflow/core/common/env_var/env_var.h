// DEFINE_ENV_BOOL and its kin: a setting that is read from the environment when it is first asked
// for.
#ifndef ONEFLOW_CORE_COMMON_ENV_VAR_ENV_VAR_H_
#define ONEFLOW_CORE_COMMON_ENV_VAR_ENV_VAR_H_

#include "oneflow/core/common/util.h"

namespace oneflow ONEOP_HIDDEN {

template <class Variable>
bool EnvBool() {
  static const bool value = ParseBooleanFromEnv(Variable::kName, Variable::kOtherwise);
  return value;
}
template <class Variable>
bool ThreadLocalEnvBool() {
  return EnvBool<Variable>();
}
template <class Variable>
int64_t EnvInteger() {
  static const int64_t value = ParseIntegerFromEnv(Variable::kName, Variable::kOtherwise);
  return value;
}
template <class Variable>
int64_t ThreadLocalEnvInteger() {
  return EnvInteger<Variable>();
}

}  // namespace oneflow ONEOP_HIDDEN

#define ONEOP_ENV_VAR(variable, Type, otherwise)     \
  struct variable {                                  \
    static constexpr const char kName[] = #variable; \
    static constexpr Type kOtherwise = otherwise;    \
  }
#define DEFINE_ENV_BOOL(variable, otherwise) ONEOP_ENV_VAR(variable, bool, otherwise)
#define DEFINE_ENV_INTEGER(variable, otherwise) ONEOP_ENV_VAR(variable, int64_t, otherwise)
#define DEFINE_THREAD_LOCAL_ENV_BOOL(variable, otherwise) DEFINE_ENV_BOOL(variable, otherwise)
#define DEFINE_THREAD_LOCAL_ENV_INTEGER(variable, otherwise) DEFINE_ENV_INTEGER(variable, otherwise)

#endif  // ONEFLOW_CORE_COMMON_ENV_VAR_ENV_VAR_H_
