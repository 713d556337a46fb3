// module.cpp: oneop._core, the core as Python sees it.
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/ops/functions.h"
#include "engine/ops/host.h"
#include "engine/ops/plugin.h"
#include "engine/plans/cost.h"
#include "engine/plans/sbp.h"
#include "python/calls/call_entry.h"
#include "python/functions/function_object.h"
#include "python/functions/functional.h"
#include "python/kernels/python_op.h"
#include "python/kernels/python_spec.h"
#include "python/module/bounds_module.h"
#include "python/module/call_spec.h"
#include "python/module/grad_run.h"
#include "python/module/job_module.h"
#include "python/module/kernel_run.h"
#include "torch_host/calls/fallback.h"
#include "torch_host/calls/sharded_calls.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/compute/kernel_sync.h"
#include "torch_host/compute/part_call.h"
#include "torch_host/interpreter/schema_hook.h"
#include "torch_host/interpreter/trace_hook.h"
#include "torch_host/memory/host_cache.h"
#include "torch_host/ops/torch_op.h"
#include "torch_host/ops/torch_types.h"
#include "torch_host/registration/registration.h"
#include "torch_host/services/torch_host.h"

namespace py = pybind11;

namespace oneop {
namespace {

// Any bytes may be in a file name.
std::string path_of(const py::object& path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &bytes) == 0) {
    throw py::error_already_set();
  }
  const auto owner = py::reinterpret_steal<py::bytes>(bytes);
  return owner;
}

// As Python shows file names and other texts of libraries.
py::str py_text(const std::string& text) {
  PyObject* made =
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (made == nullptr) {
    throw py::error_already_set();
  }
  return py::reinterpret_steal<py::str>(made);
}

// (place, function, functor) of each function that has no code.
py::list missing_functors(const LibraryDefs& defs) {
  py::list missing;
  for (const FunctionPtr& def : defs.functions) {
    if (!def->missing.empty()) {
      missing.append(py::make_tuple(def->source.text(), def->name, def->cpp_name));
    }
  }
  return missing;
}

py::dict load_library(const py::object& path, const py::object& library,
                      const std::string& package) {
  return raising([&] {
    const LibraryDefs defs = read_library(path_of(path), path_of(library), package);
    Registered done;
    {
      py::gil_scoped_release released;
      done = register_library(defs);
    }
    drop_released();
    py::dict result;
    result["ops"] = done.ops;
    result["changed"] = done.changed;
    result["missing"] = missing_functors(defs);
    return result;
  });
}

// What oneop.authoring describes; see python_op.h.
std::vector<std::string> register_python(const py::dict& description) {
  return raising([&] {
    const LibraryDefs defs = read_python(description);
    Registered done;
    {
      py::gil_scoped_release released;
      done = register_library(defs);
    }
    drop_released();
    return done.changed;
  });
}

// The Python function that torch may trace through for these tensors, or None.
py::object composition_of(const std::string& name,
                          const std::vector<std::vector<at::Tensor>>& inputs) {
  return raising([&] {
    CallTensors call;
    for (const auto& tensors : inputs) {
      for (const at::Tensor& tensor : tensors) {
        call.tensors.push_back(&tensor);
      }
      call.counts.push_back(static_cast<int32_t>(tensors.size()));
    }
    TorchOp::find(name).note_traced();
    const RecordPtr record = Registry::global().get(name);
    const auto* kernel = dynamic_cast<const PythonKernel*>(find_composition(*record, call, false));
    return kernel == nullptr ? py::object(py::none())
                             : py::reinterpret_borrow<py::object>(kernel->function.get());
  });
}

// Attributes as authors' functions get them, from values as torch hands them on; all must be there.
py::dict kernel_attrs(const std::string& name, const py::dict& values) {
  return raising([&] {
    const RecordPtr record = Registry::global().get(name);
    const Layout& layout = *record->layout;
    const c10::FunctionSchema& schema = TorchOp::find(name).handle().schema();
    torch::jit::Stack args(layout.num_args);
    for (size_t i = 0; i < layout.op->attrs.size(); ++i) {
      const c10::Argument& argument = schema.arguments()[layout.first_attr + i];
      args[layout.first_attr + i] =
          torch::jit::toIValue(values[argument.name().c_str()], argument.type());
    }
    return attrs_to_python(layout, args.data());
  });
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

py::list sbp_to_python(const SbpSignature& signature) {
  py::list entries;
  for (const oneop_sbp& sbp : signature) {
    entries.append(py::make_tuple(sbp.kind, sbp.axis));
  }
  return entries;
}

// (signatures, the attributes that inference and the SBP function read)
py::tuple list_sbp(const std::string& name, const TensorsByArgument& inputs,
                   const std::vector<int32_t>& output_counts, const py::dict& attrs,
                   int32_t parallel_num) {
  return raising([&] {
    const RecordPtr held = Registry::global().get(name);
    const OpRecord& record = *held;
    const SbpAnswer answer = sbp_signatures(
        record, make_call_spec(*record.op, inputs, output_counts, attrs), parallel_num);
    py::list signatures;
    for (const SbpSignature& signature : answer.signatures) {
      signatures.append(sbp_to_python(signature));
    }
    py::list read;
    for (size_t i = 0; i < record.op->attrs.size(); ++i) {
      if ((answer.reads.attrs >> std::min<size_t>(i, 63) & 1) != 0) {
        read.append(record.op->attrs[i].name);
      }
    }
    return py::make_tuple(signatures, read);
  });
}

using SbpEntries = std::vector<std::pair<int32_t, int32_t>>;

Spread make_spread(const SbpEntries& sbp, int32_t dims, int32_t parallel_num, int32_t parallel_id) {
  Spread spread;
  for (const auto& [kind, axis] : sbp) {
    spread.sbp.push_back({kind, axis});
  }
  spread.dims = dims;
  spread.parallel_num = parallel_num;
  spread.parallel_id = parallel_id;
  return spread;
}

py::list nd_sbp(const std::string& name, const TensorsByArgument& inputs,
                const std::vector<int32_t>& output_counts, const py::dict& attrs,
                const SbpEntries& hints, int32_t dims, int32_t parallel_num) {
  return raising([&] {
    const RecordPtr held = Registry::global().get(name);
    const OpRecord& record = *held;
    return sbp_to_python(infer_nd_sbp(record,
                                      make_call_spec(*record.op, inputs, output_counts, attrs),
                                      make_spread(hints, dims, parallel_num, 0)));
  });
}

using TensorSpecs = std::vector<std::pair<std::vector<int64_t>, at::ScalarType>>;

TensorSpecs infer_outputs(const std::string& name, const TensorsByArgument& inputs,
                          const std::vector<int32_t>& output_counts, const py::dict& attrs,
                          const SbpEntries& sbp, int32_t dims, int32_t parallel_num,
                          int32_t parallel_id, const TensorSpecs& logical) {
  return raising([&] {
    const RecordPtr held = Registry::global().get(name);
    const OpRecord& record = *held;
    Spread spread = make_spread(sbp, dims, parallel_num, parallel_id);
    for (const auto& [shape, dtype] : logical) {
      spread.logical.emplace_back(shape, to_abi(dtype));
    }
    TensorSpecs outputs;
    for (auto& [shape, dtype] : infer_physical(
             record, make_call_spec(*record.op, inputs, output_counts, attrs), std::move(spread))) {
      outputs.emplace_back(std::move(shape), to_torch(dtype));
    }
    return outputs;
  });
}

double count_call(const std::string& name, const TensorsByArgument& inputs,
                  const std::vector<int32_t>& output_counts, const py::dict& attrs) {
  return raising([&] {
    const RecordPtr record = Registry::global().get(name);
    return count_operations(*record, make_call_spec(*record->op, inputs, output_counts, attrs));
  });
}

std::vector<int64_t> batch_axes(const std::string& name, const TensorsByArgument& inputs,
                                const std::vector<int32_t>& output_counts, const py::dict& attrs,
                                std::vector<int64_t> axes) {
  return raising([&] {
    const RecordPtr record = Registry::global().get(name);
    return infer_batch_axes(*record, make_call_spec(*record->op, inputs, output_counts, attrs),
                            std::move(axes));
  });
}

py::object make_op(const std::string& name, const py::object& overload) {
  return raising([&] {
    PyObject* object = make_op_object(&TorchOp::find(name), overload.ptr());
    if (object == nullptr) {
      throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(object);
  });
}

using SnapshotPtr = std::shared_ptr<const Registry::Snapshot>;

py::capsule snapshot() {
  return py::capsule(new SnapshotPtr(Registry::global().snapshot()),
                     [](void* pointer) { delete static_cast<SnapshotPtr*>(pointer); });
}

// Returns the ops that were defined again, and those of them whose arguments changed.
std::pair<std::vector<std::string>, std::vector<std::string>> restore(const py::capsule& capsule) {
  const auto& content = *capsule.get_pointer<SnapshotPtr>();
  return raising([&] {
    py::gil_scoped_release released;
    Registered done = restore_registry(*content);
    return std::make_pair(std::move(done.ops), std::move(done.changed));
  });
}

}  // namespace
}  // namespace oneop

// long: the list of what Python sees.
PYBIND11_MODULE(_core, m) {
  m.doc() = "The C++ core of oneop: registries, dispatch, autograd and the call entry.";
  oneop::install_torch_host();
  m.attr("abi_version") = py::make_tuple(ONEOP_ABI_MAJOR, ONEOP_ABI_MINOR);
  if (!oneop::add_op_type(m.ptr())) {
    throw py::error_already_set();
  }
  oneop::bind_jobs(m);
  oneop::bind_kernel_run(m);
  oneop::bind_bounds(m);
  oneop::bind_grad_run(m);
  if (!oneop::add_function_type(m.ptr())) {
    throw py::error_already_set();
  }
  m.def("function_names", [] { return oneop::Functions::global().names(); });
  m.def("make_function", [](const std::string& name) {
    return oneop::raising(
        [&] { return py::reinterpret_steal<py::object>(oneop::make_function(name)); });
  });
  m.def("load_library", &oneop::load_library, py::arg("path"), py::arg("library"),
        py::arg("package") = "");
  m.def("resolve", [](const std::string& name) {
    return oneop::raising([&] { return oneop::Registry::global().resolve(name); });
  });
  m.def("register_python", &oneop::register_python, py::arg("description"));
  m.def("composition_of", &oneop::composition_of, py::arg("name"), py::arg("inputs"));
  m.def("kernel_attrs", &oneop::kernel_attrs, py::arg("name"), py::arg("values"));
  m.def("set_schema_hook", [](const py::function& hook) { oneop::set_schema_hook(hook.ptr()); });
  m.def("set_trace_hook", [](const py::function& hook) { oneop::set_trace_hook(hook.ptr()); });
  m.def("set_unstored_hook",
        [](const py::function& hook) { oneop::set_unstored_hook(hook.ptr()); });
  m.def("set_required", &oneop::set_required, py::arg("bits"));
  m.def("op_names", [] { return oneop::Registry::global().op_names(); });
  m.def("op_info", &oneop::op_info, py::arg("name"));
  m.def("pending", [] { return oneop::Registry::global().pending(); });
  m.def("make_op", &oneop::make_op, py::arg("name"), py::arg("overload"));
  m.def("list_sbp", &oneop::list_sbp, py::arg("name"), py::arg("inputs"), py::arg("output_counts"),
        py::arg("attrs"), py::arg("parallel_num"));
  m.def("nd_sbp", &oneop::nd_sbp, py::arg("name"), py::arg("inputs"), py::arg("output_counts"),
        py::arg("attrs"), py::arg("hints"), py::arg("dims"), py::arg("parallel_num"));
  m.def("infer_outputs", &oneop::infer_outputs, py::arg("name"), py::arg("inputs"),
        py::arg("output_counts"), py::arg("attrs"), py::arg("sbp"), py::arg("dims"),
        py::arg("parallel_num"), py::arg("parallel_id"), py::arg("logical"));
  m.def("count_operations", &oneop::count_call, py::arg("name"), py::arg("inputs"),
        py::arg("output_counts"), py::arg("attrs"));
  m.def("infer_batch_axes", &oneop::batch_axes, py::arg("name"), py::arg("inputs"),
        py::arg("output_counts"), py::arg("attrs"), py::arg("axes"));
  m.def("watch_sharded_calls", &oneop::watch_sharded_calls, py::arg("function"));
  m.def("set_random_call",
        [](const py::function& function) { oneop::set_random_call(function.ptr()); });
  m.def("replay_function", [](const py::object& function, std::vector<uint64_t> draws,
                              const py::tuple& args, const py::dict& kwargs) {
    PyObject* result =
        oneop::replay_function(function.ptr(), std::move(draws), args.ptr(), kwargs.ptr());
    if (result == nullptr) {
      throw py::error_already_set();
    }
    return py::reinterpret_steal<py::object>(result);
  });
  m.def("set_sharded_composition", &oneop::set_sharded_composition, py::arg("function"));
  m.def("define_part", [](const std::string& name, bool draws) {
    return oneop::raising([&] { return oneop::define_part(name, draws); });
  });
  m.def("current_part", &oneop::current_part);
  m.def("set_traced_call", [](const py::function& function) {
    if (!oneop::set_traced_call(function.ptr())) {
      throw py::error_already_set();
    }
  });
  m.def("set_cpu_fallback", &oneop::set_cpu_fallback, py::arg("is_on"));
  m.def("set_kernel_sync", &oneop::set_kernel_sync, py::arg("is_on"));
  m.def("kernel_sync", &oneop::kernel_sync);
  m.def("set_host_cache_limit", &oneop::set_host_cache_limit, py::arg("bytes"));
  m.def("host_cache_held", &oneop::host_cache_held);
  m.def("empty_host_cache", &oneop::empty_host_cache, py::call_guard<py::gil_scoped_release>());
  m.def("snapshot", &oneop::snapshot);
  m.def("restore", &oneop::restore, py::arg("snapshot"));
}
