// call_spec.cpp: shapes, dtypes and a dict of attributes as a CallSpec.
#include "python/module/call_spec.h"

#include "engine/ops/error.h"
#include "python/calls/python_attr.h"
#include "torch_host/calls/calls.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {

CallSpec make_call_spec(const OpDef& op, const TensorsByArgument& inputs,
                        const std::vector<int32_t>& output_counts, const pybind11::dict& attrs) {
  CallSpec spec;
  for (const auto& tensors : inputs) {
    spec.input_counts.push_back(static_cast<int32_t>(tensors.size()));
    for (const auto& [shape, dtype] : tensors) {
      TensorMeta meta;
      meta.dtype = to_abi(dtype);
      meta.shape = shape;
      meta.stride = TensorMeta::contiguous_stride(shape);
      spec.inputs.push_back(std::move(meta));
    }
  }
  spec.output_counts = output_counts;
  for (const AttrDef& attr : op.attrs) {
    if (attrs.contains(attr.name.c_str())) {
      const pybind11::object object = attrs[attr.name.c_str()];
      spec.attrs.push_back(to_attr(attr_from_python(op, attr, object.ptr()), attr));
    } else if (attr.has_default) {
      spec.attrs.push_back(attr.default_value);
    } else {
      throw Error("ArgumentError", "op " + in_quotes(op.name) + " needs the attribute " +
                                       in_quotes(attr.name) + "; it has no default");
    }
  }
  return spec;
}

}  // namespace oneop
