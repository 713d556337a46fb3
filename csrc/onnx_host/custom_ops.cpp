// custom_ops.cpp: one form for all ops, a list of any tensors in and out, since ONNX has optional
// arguments and lists at the end only. What a node's tensors are is found by NodeCall.
#include "onnx_host/custom_ops.h"

#include <mutex>
#include <unordered_map>

#include "engine/ops/error.h"
#include "engine/registry/registry.h"
#include "onnx_host/node_kernel.h"

namespace oneop {
namespace {

using ort::CustomOp;

// ONNX Runtime hands back the address of `form`, the first field.
struct OpOfOrt {
  CustomOp form;
  const oneop_op* op;
  std::string name;
  int least_outputs;  // outputs that every node has: ONNX Runtime refuses one with fewer
};

const OpOfOrt& self(const CustomOp* op) { return *reinterpret_cast<const OpOfOrt*>(op); }

void refuse_in_place(const std::string& name) {
  const RecordPtr record = Registry::global().get(name);
  const OpDef& op = *record->op;
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    if (op.input_traits[i].is_mutable) {
      throw Error("OpNotImplementedError",
                  "op " + in_quotes(name) + " changes its input " + in_quotes(op.inputs[i].name) +
                      ", and tensors of ONNX do not change\n"
                      "  define an op that returns the new value as an output");
    }
  }
}

ort::Status* create_kernel(const CustomOp* op, const void*, const ort::KernelInfo* info,
                           void** kernel) {
  return ort::guarded([&] {
    refuse_in_place(self(op).name);
    *kernel = new NodeKernel(self(op).op, info);
  });
}

ort::Status* compute(void* kernel, ort::KernelContext* context) {
  return ort::guarded([&] { static_cast<NodeKernel*>(kernel)->compute(context); });
}

// ONNX Runtime takes no reason from here: it is told when the node is made or runs.
ort::Status* infer_shapes(const CustomOp* op, ort::InferContext* context) {
  try {
    infer_node(self(op).op, self(op).least_outputs, context);
  } catch (const std::exception&) {
  }
  return nullptr;
}

// long: a line for each function of the form.
CustomOp form_of_ops() {
  const auto one = [](const CustomOp*) -> size_t { return 1; };
  const auto any_dtype = [](const CustomOp*, size_t) -> int { return ort::kUndefined; };
  const auto variadic = [](const CustomOp*, size_t) -> int { return ort::kVariadic; };
  const auto none = [](const CustomOp*) { return 0; };
  CustomOp form{};
  form.version = ort::kVersion;
  form.name = [](const CustomOp* op) { return self(op).name.c_str(); };
  form.provider = [](const CustomOp*) -> const char* { return nullptr; };
  form.input_dtype = any_dtype;
  form.input_count = one;
  form.output_dtype = any_dtype;
  form.output_count = one;
  form.destroy = [](void* kernel) { delete static_cast<NodeKernel*>(kernel); };
  form.input_arity = variadic;
  form.output_arity = variadic;
  form.input_memory = [](const CustomOp*, size_t) { return 0; };
  form.least_inputs = none;
  form.inputs_are_alike = none;
  form.least_outputs = [](const CustomOp* op) { return self(op).least_outputs; };
  form.outputs_are_alike = none;
  form.create_kernel_v2 = &create_kernel;
  form.compute_v2 = &compute;
  form.infer_shapes = &infer_shapes;
  return form;
}

}  // namespace

const CustomOp* custom_op(const oneop_op* op, const char* name) {
  static auto* mutex = new std::mutex;
  static auto* made = new std::unordered_map<const oneop_op*, OpOfOrt*>;
  const std::lock_guard<std::mutex> lock(*mutex);
  const oneop_op_def* def = ort::runtime().definition(op);
  if (def == nullptr) {
    ort::throw_last_error();
  }
  OpOfOrt*& known = (*made)[op];
  if (known == nullptr ||
      known->least_outputs != num_required(*def)) {  // older sessions keep theirs
    known = new OpOfOrt{form_of_ops(), op, name, num_required(*def)};
  }
  return &known->form;
}

}  // namespace oneop
