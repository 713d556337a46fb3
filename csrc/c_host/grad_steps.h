// grad_steps.h: the steps of a gradient as a C program reads them.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "engine/plans/grad_plan.h"
#include "oneop/runtime.h"

namespace oneop {

class GradSteps {
 public:
  explicit GradSteps(GradPlan plan);
  GradSteps(const GradSteps&) = delete;
  GradSteps& operator=(const GradSteps&) = delete;

  const GradPlan& plan() const { return plan_; }
  const std::vector<oneop_step>& steps() const { return steps_; }

 private:
  // What one step points into.
  struct Storage {
    std::vector<int32_t> inputs;
    std::vector<int32_t> input_counts;
    std::vector<std::vector<oneop_span>> spans;
    std::vector<oneop_attr> attrs;
    std::vector<oneop_value> args;
    std::deque<std::vector<int64_t>> lists;
    std::shared_ptr<const void> keeps;  // the op's record, for the names of attributes
  };
  void add(const GradStep& step);
  void fill_op(const GradStep& step, Storage* kept, oneop_step* view);

  GradPlan plan_;
  std::deque<Storage> storage_;
  std::vector<oneop_step> steps_;
};

}  // namespace oneop
