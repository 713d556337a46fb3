// REGISTER_FUNCTION_CONFIG_DEF and its kin: options of OneFlow's jobs. They are accepted; there is
// no job configuration to hold them, so each keeps its default.
#ifndef ONEFLOW_CORE_FRAMEWORK_CONFIG_DEF_H_
#define ONEFLOW_CORE_FRAMEWORK_CONFIG_DEF_H_

#include <string>
#include <vector>

#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {

struct OneopConfigDef {
  const OneopConfigDef& Bool(const std::string&, bool, const std::string&) const { return *this; }
  const OneopConfigDef& Int64(const std::string&, int64_t, const std::string&) const {
    return *this;
  }
  const OneopConfigDef& Double(const std::string&, double, const std::string&) const {
    return *this;
  }
  const OneopConfigDef& String(const std::string&, const std::string&, const std::string&) const {
    return *this;
  }
  const OneopConfigDef& ListInt64(const std::string&, const std::vector<int64_t>&,
                                  const std::string&) const {
    return *this;
  }
};

}  // namespace oneflow ONEOP_HIDDEN

#define ONEOP_CONFIG_DEF()                                                     \
  static const ::oneflow::OneopConfigDef ONEOP_CAT(oneop_config_, __COUNTER__) \
      __attribute__((unused)) = ::oneflow::OneopConfigDef()
#define REGISTER_FUNCTION_CONFIG_DEF() ONEOP_CONFIG_DEF()
#define REGISTER_SCOPE_CONFIG_DEF() ONEOP_CONFIG_DEF()
#define REGISTER_SESSION_CONFIG_DEF() ONEOP_CONFIG_DEF()
#define REGISTER_ENV_CONFIG_DEF() ONEOP_CONFIG_DEF()

#endif  // ONEFLOW_CORE_FRAMEWORK_CONFIG_DEF_H_
