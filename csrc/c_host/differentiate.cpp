// differentiate.cpp: see differentiate.h.
#include "c_host/differentiate.h"

#include <algorithm>

#include "engine/calls/refusal.h"
#include "engine/ops/error.h"
#include "engine/plans/gradient.h"

namespace oneop {
namespace {

bool any(const std::vector<uint8_t>& flags) {
  return std::find(flags.begin(), flags.end(), 1) != flags.end();
}

}  // namespace

bool is_differentiable(int32_t dtype) {
  switch (dtype) {
    case ONEOP_DTYPE_FLOAT16:
    case ONEOP_DTYPE_BFLOAT16:
    case ONEOP_DTYPE_FLOAT32:
    case ONEOP_DTYPE_FLOAT64:
    case ONEOP_DTYPE_COMPLEX32:
    case ONEOP_DTYPE_COMPLEX64:
    case ONEOP_DTYPE_COMPLEX128:
      return true;
    default:
      return dtype >= ONEOP_DTYPE_FLOAT8_E4M3FN && dtype <= ONEOP_DTYPE_FLOAT8_E5M2FNUZ;
  }
}

GradPlan differentiate(const OpRecord& record, const CallSpec& spec,
                       std::vector<uint8_t> needs_grad, const std::string& advice) {
  const OpDef& op = *record.op;
  Frame frame(op, spec);
  frame.infer();
  needs_grad.resize(spec.inputs.size(), needs_grad.empty() ? 1 : 0);
  for (size_t a = 0; a < op.inputs.size(); ++a) {
    const oneop_arg& arg = frame.get().inputs[a];
    for (int32_t i = arg.first; i < arg.first + arg.count; ++i) {
      needs_grad[i] &= op.input_traits[a].requires_grad && is_differentiable(spec.inputs[i].dtype);
    }
  }
  std::vector<uint8_t> has_grad;
  for (size_t a = 0; a < op.outputs.size(); ++a) {
    const oneop_arg& arg = frame.get().outputs[a];
    for (int32_t i = arg.first; i < arg.first + arg.count; ++i) {
      has_grad.push_back(op.output_traits[a].requires_grad &&
                         is_differentiable(frame.get().tensors[i].dtype));
    }
  }
  GradDef none;
  none.op_type_name = op.name;
  none.source = op.source;
  if (op.has_flag(ONEOP_OP_NO_GRAD) || !any(needs_grad)) {
    return no_grad_plan(none, frame);
  }
  if (record.grad == nullptr) {
    throw Error("GradientNotFoundError", missing_gradient_text(op, advice));
  }
  const bool is_asked = has_grad.empty() || any(has_grad);
  return is_asked ? make_grad_plan(*record.grad, &frame, needs_grad, has_grad)
                  : no_grad_plan(*record.grad, frame);
}

}  // namespace oneop
