// questions.cpp: see questions.h. The names in dictionaries are those of oneop._core's.
#include "numpy_host/questions.h"

#include <deque>

#include "c_host/differentiate.h"
#include "c_host/named_call.h"
#include "engine/plans/plan.h"
#include "interpreter/attr_values.h"
#include "numpy_host/framework.h"
#include "numpy_host/specs.h"

namespace oneop {
namespace {

Ref flag(bool value) { return Ref(PyBool_FromLong(value)); }
Ref number(int64_t value) { return Ref(PyLong_FromLongLong(value)); }

Ref source_info(const Source& source) {
  const Ref info(PyDict_New());
  set_item(info, "file", text_to_python(source.file));
  set_item(info, "line", number(source.line));
  set_item(info, "library", text_to_python(source.library));
  return info;
}

Ref arg_info(const ArgDef& arg, const ArgTraits& traits) {
  const Ref info(PyDict_New());
  set_item(info, "name", text_to_python(arg.name));
  set_item(info, "count", number(arg.count));
  set_item(info, "count_is_minimum", flag(arg.count_is_minimum));
  set_item(info, "is_optional", flag(arg.is_optional));
  set_item(info, "is_mutable", flag(traits.is_mutable));
  set_item(info, "requires_grad", flag(traits.requires_grad));
  set_item(info, "on_host", flag(arg.on_host));
  set_item(info, "dynamic_axes", number(arg.dynamic_axes));
  set_item(info, "has_gaps", flag(arg.has_gaps));
  return info;
}

Ref args_info(const std::vector<ArgDef>& args, const std::vector<ArgTraits>& traits) {
  size_t i = 0;
  return list_to_python(args, [&](const ArgDef& arg) { return arg_info(arg, traits[i++]); });
}

Ref attr_info(const AttrDef& attr) {
  const Ref info(PyDict_New());
  set_item(info, "name", text_to_python(attr.name));
  set_item(info, "type", text_to_python(attr_type_name(attr.type)));
  set_item(info, "is_optional", flag(attr.is_optional));
  set_item(info, "is_positional", flag(attr.is_positional));
  set_item(info, "has_default", flag(attr.has_default));
  set_item(info, "default", text_to_python(attr.default_text()));
  set_item(info, "list_size", Ref(PyLong_FromLong(attr.list_size)));
  return info;
}

Ref step_info(const GradStep& step) {
  const Ref info(PyDict_New());
  set_item(info, "first_output", number(step.first_output));
  set_item(info, "num_outputs", number(step.num_outputs));
  set_item(info, "inputs", list_to_python(step.inputs, &ints_to_python));
  set_item(info, "is_op", flag(step.call == nullptr));
  if (step.call == nullptr) {
    set_item(info, "name", text_to_python(step.op));
    set_item(info, "attrs", attrs_to_bytes(step.attrs));
    set_item(info, "output_counts", ints_to_python(step.output_counts));
    return info;
  }
  const auto& call = static_cast<const NamedCall&>(*step.call);
  std::deque<std::vector<int64_t>> lists;
  set_item(info, "name", text_to_python(call.name()));
  set_item(info, "arguments",
           list_to_python(call.arguments().with_blobs(step.inputs[0], &lists), &value_to_python));
  return info;
}

}  // namespace

Ref describe_op(const OpRecord& record) {
  const OpDef& op = *record.op;
  const Ref info(PyDict_New());
  set_item(info, "name", text_to_python(op.name));
  set_item(info, "source", source_info(op.source));
  set_item(info, "inputs", args_info(op.inputs, op.input_traits));
  set_item(info, "outputs", args_info(op.outputs, op.output_traits));
  set_item(info, "attrs", list_to_python(op.attrs, &attr_info));
  set_item(info, "no_grad", flag(op.has_flag(ONEOP_OP_NO_GRAD)));
  set_item(info, "random", flag(op.has_flag(ONEOP_OP_RANDOM)));
  set_item(info, "side_effect", flag(op.has_side_effect()));
  set_item(info, "doc", text_to_python(op.abi.doc == nullptr ? "" : op.abi.doc));
  set_item(info, "has_sbp", flag(op.abi.get_sbp != nullptr));
  set_item(info, "has_grad", flag(record.grad != nullptr));
  return info;
}

Ref inferred(const RecordPtr& record, const CallSpec& spec) {
  const CallPlan plan(record, spec, /*infer_only=*/true);
  const Ref outputs(PyList_New(0));
  for (int32_t i = 0; i < plan.num_outputs(); ++i) {
    const oneop_tensor& output = plan.output(i);
    const Ref one = spec_to_python(output.shape, output.ndim, output.dtype);
    if (PyList_Append(outputs.get(), one.get()) != 0) {
      throw Raised();
    }
  }
  return outputs;
}

Ref gradient_of(const OpRecord& record, const CallSpec& spec, PyObject* needs) {
  std::vector<uint8_t> flags;
  for (const int32_t need : ints_from(needs)) {
    flags.push_back(need != 0);
  }
  const GradPlan plan = differentiate(record, spec, std::move(flags), "");
  const Ref info(PyDict_New());
  set_item(info, "what", text_to_python(plan.name));
  set_item(info, "place", text_to_python(plan.place));
  set_item(info, "num_blobs", number(plan.num_blobs));
  set_item(info, "saved", ints_to_python(plan.saved));
  set_item(info, "grad_of_input", ints_to_python(plan.grad_of_input));
  set_item(info, "steps", list_to_python(plan.steps, &step_info));
  return info;
}

Ref signatures_of(const OpRecord& record, const CallSpec& spec, int32_t parallel_num) {
  return list_to_python(sbp_signatures(record, spec, parallel_num).signatures,
                        [](const SbpSignature& signature) {
                          return list_to_python(signature, [](const oneop_sbp& sbp) {
                            return Ref(Py_BuildValue("(ii)", sbp.kind, sbp.axis));
                          });
                        });
}

}  // namespace oneop
