// small_vector: a vector for few elements. Here simply a vector, or DimVector.
#ifndef ONEFLOW_CORE_COMMON_SMALL_VECTOR_H_
#define ONEFLOW_CORE_COMMON_SMALL_VECTOR_H_

#include <vector>

#include "oneflow/core/common/shape_vec.h"

namespace oneflow ONEOP_HIDDEN {

template <class T, size_t N>
class SmallVector : public std::vector<T> {
 public:
  static constexpr size_t kInitialSize = N;
  using std::vector<T>::vector;
};
template <class T, size_t N>
struct SmallVectorOf {
  using type = SmallVector<T, N>;
};
template <>
struct SmallVectorOf<int64_t, ONEOP_MAX_DIMS> {
  using type = DimVector;  // as in OneFlow, they are one type
};
template <class T, size_t N = 4>
using small_vector = typename SmallVectorOf<T, N>::type;

template <class T, size_t N>
class fixed_vector : public std::vector<T> {
 public:
  using std::vector<T>::vector;
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_SMALL_VECTOR_H_
