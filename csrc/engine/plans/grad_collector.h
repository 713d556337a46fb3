// grad_collector.h: what a gradient generator says, as steps of a plan: the host's oneop_grad_sink.
#pragma once

#include "engine/plans/grad_blobs.h"
#include "engine/plans/grad_plan.h"

namespace oneop {

class GradCollector {
 public:
  static constexpr int32_t kNoGradient = -2;  // in grad_of_input: none, and that is meant so

  // Backward ops are looked up among those of `package` first.
  GradCollector(const std::string& package, Frame* frame, GradPlan* plan);
  oneop_grad_sink* abi() { return &sink_.abi; }

  // From the library's blob numbers to ours, which differ where a backward op's outputs are named
  // out of order.
  int32_t ours(int32_t blob) const;

 private:
  struct Sink {
    oneop_grad_sink abi;
    GradCollector* self;
  };
  template <typename Act>
  static int32_t guard(oneop_grad_sink* sink, oneop_status* status, const Act& act);

  void add_op(const oneop_grad_op& abi);
  void add_attrs(const OpDef& op, const oneop_grad_op& abi, GradStep* step) const;
  void order_outputs(const OpDef& op, const oneop_grad_op& abi, GradStep* step);
  int32_t add_call(const char* name, const oneop_value* args, int32_t num_args);
  void bind(int32_t input, int32_t blob);
  bool is_made(int32_t blob) const;

  const std::string& package_;
  Frame* frame_;
  GradPlan* plan_;
  GradBlobs blobs_;
  Sink sink_;
  std::vector<int32_t> renamed_;
};

}  // namespace oneop
