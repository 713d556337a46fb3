// op_info.cpp: the definition, kernels and rules of an op as dictionaries.
#include "python/module/op_info.h"

#include <string>
#include <vector>

#include "python/kernels/python_op.h"
#include "python/module/call_spec.h"
#include "torch_host/ops/torch_op.h"

namespace py = pybind11;

namespace oneop {
namespace {

// As Python shows file names and other texts of libraries.
py::str py_text(const std::string& text) {
  PyObject* made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (made == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::str>(made);
}

py::dict source_info(const Source& source) {
  py::dict info;
  info["file"] = py_text(source.file);
  info["line"] = source.line;
  info["library"] = py_text(source.library);
  return info;
}

py::list args_info(const std::vector<ArgDef>& args, const std::vector<ArgTraits>& traits) {
  py::list list;
  for (size_t i = 0; i < args.size(); ++i) {
    py::dict info;
    info["name"] = args[i].name;
    info["count"] = args[i].count;
    info["count_is_minimum"] = args[i].count_is_minimum;
    info["is_optional"] = args[i].is_optional;
    info["is_mutable"] = traits[i].is_mutable;
    info["has_gaps"] = args[i].has_gaps;
    info["requires_grad"] = traits[i].requires_grad;
    info["dynamic_axes"] = args[i].dynamic_axes;
    list.append(info);
  }
  return list;
}

py::dict kernel_info(const KernelDef& kernel) {
  py::dict info;
  info["op"] = kernel.op_type_name;
  info["source"] = source_info(kernel.source);
  info["priority"] = kernel.priority;
  info["predicate"] = py_text(kernel.predicate);
  info["language"] = kernel.language;
  info["cuda_graph"] = (kernel.flags & ONEOP_KERNEL_CUDA_GRAPH) != 0;
  info["deterministic"] =
      (kernel.flags & ONEOP_KERNEL_DETERMINISTIC) != 0      ? py::object(py::bool_(true))
      : (kernel.flags & ONEOP_KERNEL_NONDETERMINISTIC) != 0 ? py::object(py::bool_(false))
                                                            : py::object(py::none());
  info["batch_invariant"] = (kernel.flags & ONEOP_KERNEL_BATCH_INVARIANT) != 0;
  info["asks_placement"] = (kernel.flags & ONEOP_KERNEL_ASKS_PLACEMENT) != 0;
  py::list devices;
  py::list dtypes;
  py::list others;
  for (const Fact& fact : kernel.facts) {
    if (fact.kind == ONEOP_FACT_DEVICE) {
      devices.append(device_name(fact.value));
    } else if (fact.kind == ONEOP_FACT_DTYPE) {
      dtypes.append(py::make_tuple(fact.arg, fact.index, dtype_name(fact.value)));
    } else {
      others.append(py_text(fact.text));
    }
  }
  info["devices"] = devices;
  info["dtypes"] = dtypes;
  info["others"] = others;
  return info;
}

py::dict op_info(const std::string& name) {
  return raising([&] {
    const RecordPtr held = Registry::global().get(name);
    const OpRecord& record = *held;
    const OpDef& op = *record.op;
    py::dict info;
    info["name"] = op.name;
    info["source"] = source_info(op.source);
    info["inputs"] = args_info(op.inputs, op.input_traits);
    info["outputs"] = args_info(op.outputs, op.output_traits);
    py::list attrs;
    for (const AttrDef& attr : op.attrs) {
      py::dict attr_info;
      attr_info["name"] = attr.name;
      attr_info["type"] = attr_type_name(attr.type);
      attr_info["is_optional"] = attr.is_optional;
      attr_info["is_positional"] = attr.is_positional;
      attr_info["has_default"] = attr.has_default;
      attr_info["default"] = py_text(attr.default_text());
      attr_info["list_size"] = attr.list_size;
      attrs.append(attr_info);
    }
    info["attrs"] = attrs;
    info["no_grad"] = op.has_flag(ONEOP_OP_NO_GRAD);
    info["cpu_only"] = op.has_flag(ONEOP_OP_CPU_ONLY);
    info["non_contiguous"] = op.has_flag(ONEOP_OP_NON_CONTIGUOUS);
    info["random"] = op.has_flag(ONEOP_OP_RANDOM);
    info["side_effect"] = op.has_side_effect();
    info["doc"] = op.abi.doc == nullptr ? "" : op.abi.doc;
    info["has_inference"] = op.abi.infer_logical != nullptr;
    info["has_sbp"] = op.abi.get_sbp != nullptr;
    info["has_flops"] = op.abi.count_operations != nullptr;
    info["has_nd_sbp"] = op.abi.infer_nd_sbp != nullptr;
    info["has_physical_inference"] = op.abi.infer_physical != nullptr;
    py::list kernels;
    for (const auto& kernel : record.kernels) {
      kernels.append(kernel_info(*kernel));
    }
    info["kernels"] = kernels;
    info["grad"] = record.grad == nullptr ? py::object(py::none())
                                          : py::object(source_info(record.grad->source));
    const bool has_both = record.grad != nullptr && record.grad->eager != nullptr;
    info["eager_grad"] =
        has_both ? py::object(source_info(record.grad->eager->source)) : py::object(py::none());
    info["forward"] = record.forward == nullptr ? py::object(py::none())
                                                : py::object(source_info(record.forward->source));
    info["schema"] = py_text(c10::toString(TorchOp::find(name).handle().schema()));
    info["cached_plans"] = record.plans->size();
    return info;
  });
}

}  // namespace

void bind_op_info(py::module_& m) { m.def("op_info", &op_info, py::arg("name")); }

}  // namespace oneop
