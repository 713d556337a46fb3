// module.cpp: oneop._core, the core as Python sees it.
#include <torch/csrc/jit/python/pybind_utils.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/ops/functions.h"
#include "engine/ops/host.h"
#include "engine/ops/plugin.h"
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
#include "python/module/op_info.h"
#include "python/module/questions.h"
#include "torch_host/calls/fallback.h"
#include "torch_host/calls/sharded_calls.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/compute/kernel_sync.h"
#include "torch_host/compute/part_call.h"
#include "torch_host/interpreter/schema_hook.h"
#include "torch_host/interpreter/trace_hook.h"
#include "torch_host/memory/host_cache.h"
#include "torch_host/ops/torch_op.h"
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
  oneop::bind_op_info(m);
  oneop::bind_questions(m);
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
  m.def("pending", [] { return oneop::Registry::global().pending(); });
  m.def("make_op", &oneop::make_op, py::arg("name"), py::arg("overload"));
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
