// Small things that op files expect to find.
#ifndef ONEFLOW_CORE_COMMON_UTIL_H_
#define ONEFLOW_CORE_COMMON_UTIL_H_

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "oneflow/core/common/check.h"

ONEOP_INTERFACE

// `end` is evaluated once.
#define FOR_RANGE(type, i, begin, end) \
  for (type i = (begin), ONEOP_CAT(oneop_end_of_, i) = (end); i < ONEOP_CAT(oneop_end_of_, i); ++i)

#define OF_DISALLOW_COPY(Class) \
  Class(const Class&) = delete; \
  Class& operator=(const Class&) = delete
#define OF_DISALLOW_MOVE(Class) \
  Class(Class&&) = delete;      \
  Class& operator=(Class&&) = delete
#define OF_DISALLOW_COPY_AND_MOVE(Class) \
  OF_DISALLOW_COPY(Class);               \
  OF_DISALLOW_MOVE(Class)
#define OF_SINGLETON(Class)             \
 public:                                \
  static Class* Singleton() {           \
    static Class* object = new Class(); \
    return object;                      \
  }                                     \
                                        \
 private:
#define OF_LIKELY(x) __builtin_expect(!!(x), 1)
#define OF_UNLIKELY(x) __builtin_expect(!!(x), 0)
#ifndef FORCE_INLINE
#define FORCE_INLINE __attribute__((always_inline)) inline
#endif

namespace oneflow ONEOP_HIDDEN {

inline bool ParseBooleanFromEnv(const char* name, bool otherwise) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    return otherwise;
  }
  return value[0] == '1' || value[0] == 't' || value[0] == 'T' || value[0] == 'y' ||
         value[0] == 'Y' || std::strcmp(value, "on") == 0 || std::strcmp(value, "ON") == 0;
}
inline bool ParseBooleanFromEnv(const std::string& name, bool otherwise) {
  return ParseBooleanFromEnv(name.c_str(), otherwise);
}
inline int64_t ParseIntegerFromEnv(const char* name, int64_t otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoll(value);
}

inline size_t RoundUp(size_t n, size_t step) { return (n + step - 1) / step * step; }
// Scratch memory is cut into pieces that start at multiples of this.
inline size_t GetCudaAlignedSize(size_t size) { return RoundUp(size, 512); }

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_UTIL_H_
