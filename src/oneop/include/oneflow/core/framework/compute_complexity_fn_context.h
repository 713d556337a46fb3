// ComputeComplexityFnContext, in which an op counts the arithmetic operations of a call.
#ifndef ONEFLOW_CORE_FRAMEWORK_COMPUTE_COMPLEXITY_FN_CONTEXT_H_
#define ONEFLOW_CORE_FRAMEWORK_COMPUTE_COMPLEXITY_FN_CONTEXT_H_

#include "oneflow/core/framework/sbp_context.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {
namespace user_op {

// Inputs and outputs are those of all devices together, as inference left them.
class ComputeComplexityFnContext : public ::oneop::sdk::Context {
 public:
  using Context::Context;
  const TensorDesc* TensorDesc4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return FindLogicalDesc(n, i);
  }
  const TensorDesc& LogicalTensorDesc4InputArgNameAndIndex(std::string_view n, int32_t i) const {
    return KeptDesc(LogicalTensor(::oneop::sdk::NeedTensor(frame_, n, i, ::oneop::sdk::kInput)));
  }
  const Shape& Shape4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return Desc(n, i).shape();
  }
  DataType Dtype4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return Desc(n, i).data_type();
  }
  bool IsDynamic4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return Desc(n, i).is_dynamic();
  }
  template <class Signature = NdSbpSignature>
  const Signature* GetNdSbpSignature() const {
    return &Keep<Signature>(&frame_->num_outputs);
  }
  const Shape& parallel_hierarchy() const {
    return Keep<Shape>(&frame_->parallel_num, Shape({frame_->parallel_num}));
  }

 private:
  const TensorDesc& Desc(std::string_view name, int32_t index) const {
    return KeptDesc(LogicalTensor(::oneop::sdk::NeedTensor(frame_, name, index)));
  }
};

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_COMPUTE_COMPLEXITY_FN_CONTEXT_H_
