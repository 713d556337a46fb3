// grad_blobs.h: shapes, dtypes and devices of the tensors of a gradient graph, inferred when
// somebody asks.
#pragma once

#include <map>

#include "engine/plans/grad_plan.h"

namespace oneop {

class GradBlobs {
 public:
  // Both outlive it; the plan may grow.
  GradBlobs(const Frame* frame, const GradPlan* plan) : frame_(frame), plan_(plan) {}
  GradBlobs(const GradBlobs&) = delete;
  GradBlobs& operator=(const GradBlobs&) = delete;

  // Lives as long as this object. Registered ops are inferred by their own functions, those of the
  // framework by the host; throws what these say.
  const oneop_tensor& describe(int32_t blob);
  // What a call of the framework returns.
  std::vector<TensorMeta> infer(const FrameworkCall& call, const std::vector<int32_t>& inputs);

 private:
  struct Known {
    TensorMeta meta;
    oneop_tensor view;
  };
  const TensorMeta& find(int32_t blob);
  void keep(int32_t blob, TensorMeta meta);
  std::vector<TensorMeta> infer(const GradStep& step);

  const Frame* frame_;
  const GradPlan* plan_;
  std::map<int32_t, Known> known_;
};

}  // namespace oneop
