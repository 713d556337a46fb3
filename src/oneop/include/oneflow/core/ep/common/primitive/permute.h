// The permute primitive, and the shortest permutation that does the same.
#ifndef ONEFLOW_CORE_EP_COMMON_PRIMITIVE_PERMUTE_H_
#define ONEFLOW_CORE_EP_COMMON_PRIMITIVE_PERMUTE_H_

#include "oneflow/core/ep/include/primitive/copy_nd.h"

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {
namespace permute {

// Leaves out dimensions of one element, and joins those that stay side by side. At least one
// dimension is left.
template <size_t kMost, class Count>
void SimplifyPermutation(size_t num_dims, const int64_t* dims, const int* permutation,
                         Count* to_num_dims, int64_t* to_dims, int* to_permutation) {
  int group_of[kMost] = {};  // of a dimension of the source, or -1
  int order[kMost] = {};     // groups, as the result has them
  int groups = 0, last = -2;
  for (size_t i = 0; i != num_dims; ++i) {
    const int from = permutation[i];
    if (dims[from] == 1) {
      continue;
    }
    bool joins = groups != 0 && from > last;
    for (int between = last + 1; joins && between < from; ++between) {
      joins = dims[between] == 1;
    }
    if (!joins) {
      order[groups++] = from;
    }
    group_of[from] = groups - 1;
    last = from;
  }
  // Number the groups as the source has them.
  int number_of[kMost] = {};
  int number = 0;
  for (size_t from = 0; from != num_dims; ++from) {
    if (dims[from] == 1) {
      continue;
    }
    const int group = group_of[from];
    if (order[group] == static_cast<int>(from)) {
      number_of[group] = number;
      to_dims[number++] = 1;
    }
    to_dims[number_of[group]] *= dims[from];
  }
  for (int i = 0; i != groups; ++i) {
    to_permutation[i] = number_of[i];
  }
  if (groups == 0) {
    to_dims[0] = 1;
    to_permutation[0] = 0;
    groups = 1;
  }
  *to_num_dims = static_cast<Count>(groups);
}

}  // namespace permute
}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_COMMON_PRIMITIVE_PERMUTE_H_
