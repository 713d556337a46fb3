// small_vector: a vector for few elements. Here simply a vector.
#ifndef ONEFLOW_CORE_COMMON_SMALL_VECTOR_H_
#define ONEFLOW_CORE_COMMON_SMALL_VECTOR_H_

#include <vector>

#include "oneop/sdk/config.h"

namespace oneflow ONEOP_HIDDEN {

template <class T, size_t N = 4>
class small_vector : public std::vector<T> {
 public:
  static constexpr size_t kInitialSize = N;
  using std::vector<T>::vector;
};

template <class T, size_t N>
class fixed_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_SMALL_VECTOR_H_
