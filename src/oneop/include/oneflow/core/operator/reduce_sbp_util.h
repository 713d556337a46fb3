// Which axes a reduction reduces.
#ifndef ONEFLOW_CORE_OPERATOR_REDUCE_SBP_UTIL_H_
#define ONEFLOW_CORE_OPERATOR_REDUCE_SBP_UTIL_H_

#include <functional>

#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {

struct ReduceSbpUtil {
  // Axes may count from the end; none means all.
  static std::function<bool(int32_t)> MakePredicatorIsReducedAxis(const HashSet<int32_t>& axes,
                                                                  int32_t num_axes) {
    HashSet<int32_t> reduced;
    GetRegularAxes(num_axes, std::vector<int32_t>(axes.begin(), axes.end()), &reduced);
    return [reduced](int32_t axis) { return reduced.find(axis) != reduced.end(); };
  }
  static void GetRegularAxes(int64_t num_axes, const std::vector<int32_t>& reduce_axes,
                             HashSet<int32_t>* axes) {
    for (int32_t axis : reduce_axes) {
      axes->insert(static_cast<int32_t>(ShiftNegativeAxis(axis, num_axes)));
    }
    for (int32_t axis = 0; reduce_axes.empty() && axis < num_axes; ++axis) {
      axes->insert(axis);
    }
  }
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_OPERATOR_REDUCE_SBP_UTIL_H_
