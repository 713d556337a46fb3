// job_module.cpp: JobProgram and its callers in oneop._core.
#include "python/module/job_module.h"

#include <ATen/ScalarOps.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <algorithm>
#include <set>

#include "engine/ops/error.h"
#include "interpreter/python_error.h"
#include "python/module/call_spec.h"
#include "python/module/job_call.h"
#include "torch_host/calls/calls.h"
#include "torch_host/jobs/job.h"
#include "torch_host/ops/torch_op.h"

namespace py = pybind11;

namespace oneop {
namespace {

// A Python number where an op takes a tensor is what torch makes of it: a 0-d tensor that takes
// part in the choice of the result's dtype as a number does.
std::optional<at::Tensor> number_as_tensor(const py::handle& value) {
  if (PyBool_Check(value.ptr())) {
    return at::native::wrapped_scalar_tensor(value.cast<bool>());
  }
  if (PyLong_Check(value.ptr())) {
    return at::native::wrapped_scalar_tensor(value.cast<int64_t>());
  }
  if (PyFloat_Check(value.ptr())) {
    return at::native::wrapped_scalar_tensor(value.cast<double>());
  }
  if (PyComplex_Check(value.ptr())) {
    const Py_complex number = PyComplex_AsCComplex(value.ptr());
    return at::native::wrapped_scalar_tensor(c10::complex<double>(number.real, number.imag));
  }
  return std::nullopt;
}

c10::IValue argument_for(const c10::Argument& argument, const py::handle& value) {
  if (argument.type()->kind() == c10::TypeKind::TensorType) {
    if (auto number = number_as_tensor(value)) {
      return *std::move(number);
    }
  }
  // Text of any bytes, which torch's own conversion decodes as UTF-8.
  if (PyBytes_Check(value.ptr())) {
    return c10::IValue(std::string(PyBytes_AS_STRING(value.ptr()), PyBytes_GET_SIZE(value.ptr())));
  }
  return torch::jit::toIValue(value, argument.type());
}

torch::jit::Stack stack_for(const c10::FunctionSchema& schema, const py::tuple& args) {
  torch::jit::Stack stack;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    stack.push_back(argument_for(schema.arguments()[i], args[i]));
  }
  return stack;
}

void add_op(JobProgram& program, const std::string& name, const py::tuple& args,
            const std::vector<at::Tensor>& outputs, const std::optional<at::Tensor>& tmp) {
  raising([&] {
    const c10::FunctionSchema& schema = TorchOp::find(name).handle().schema();
    program.add_op(name, stack_for(schema, args), outputs, tmp.value_or(at::Tensor()));
  });
}

void add_torch(JobProgram& program, const std::string& name, const std::string& overload,
               const py::tuple& args) {
  const c10::OperatorHandle op =
      c10::Dispatcher::singleton().findSchemaOrThrow(name.c_str(), overload.c_str());
  program.add_torch(op, stack_for(op.schema(), args));
}

void add_function(JobProgram& program, const py::function& function) {
  // Released without the GIL if the program is: keep it behind a pointer that takes it.
  auto held = std::shared_ptr<py::function>(new py::function(function), [](py::function* pointer) {
    py::gil_scoped_acquire gil;
    delete pointer;
  });
  program.add_function([held] {
    py::gil_scoped_acquire gil;
    (*held)();
  });
}

void run(JobProgram& program) {
  raising([&] {
    py::gil_scoped_release released;
    program.run();
  });
}

std::vector<double> profile(JobProgram& program, int count) {
  return raising([&] {
    py::gil_scoped_release released;
    return program.profile(count);
  });
}

void enter_gate(JobGate& gate) {
  raising([&] {
    py::gil_scoped_release released;
    gate.enter();
  });
}

void take_lock(JobLock& lock, bool is_exclusive) {
  raising([&] {
    py::gil_scoped_release released;
    lock.lock(is_exclusive ? JobLock::Mode::kExclusive : JobLock::Mode::kShared);
  });
}

// What every op was at one time: a job is traced from ops as they were, and must be traced again
// when one of them is another. New ops do not matter: no trace can contain them.
class OpsSeen {
 public:
  OpsSeen() : epoch_(epoch_of_plans()) {
    for (const std::string& name : Registry::global().op_names()) {
      const OpSlot* slot = Registry::global().find_slot(name);
      records_.emplace_back(slot, slot->record());
    }
  }
  // Forgets ops that cannot matter to a trace in which these are called. One whose kernel is a
  // composition of torch's ops may have left no call of its own in it.
  void keep(const std::set<std::string>& called) {
    const auto is_needless = [&](const std::pair<const OpSlot*, RecordPtr>& seen) {
      if (seen.second == nullptr) {
        return true;
      }
      const auto& kernels = seen.second->kernels;
      return called.count(seen.first->name) == 0 &&
             std::none_of(kernels.begin(), kernels.end(),
                          [](const auto& kernel) { return kernel->language == "torch"; });
    };
    records_.erase(std::remove_if(records_.begin(), records_.end(), is_needless), records_.end());
  }
  // True if all ops are what they were; then calls need not ask again until the next registration.
  bool are_current() {
    const uint64_t epoch = epoch_of_plans();
    if (static_cast<uint32_t>(epoch) != static_cast<uint32_t>(epoch_)) {
      return false;  // other kernels may be required
    }
    for (const auto& [slot, record] : records_) {
      if (slot->address() != record.get()) {
        return false;
      }
    }
    epoch_ = epoch;
    return true;
  }
  uint64_t epoch() const { return epoch_; }

 private:
  uint64_t epoch_;                                            // with the GIL
  std::vector<std::pair<const OpSlot*, RecordPtr>> records_;  // held: an address is not used again
};

// What the planner must know of a call before there are buffers.
py::dict describe_call(const std::string& name, const TensorsByArgument& inputs,
                       const std::vector<int32_t>& output_counts, const py::dict& attrs,
                       int32_t device_type) {
  return raising([&] {
    const RecordPtr record = Registry::global().get(name);
    CallSpec spec = make_call_spec(*record->op, inputs, output_counts, attrs);
    spec.device_type = device_type;
    spec.required = required_of_calls();
    const CallPlan plan(record, spec, false);
    py::dict info;
    info["tmp_bytes"] = plan.tmp_bytes();
    info["kernel"] = plan.kernel().source.text();
    info["language"] = plan.kernel().language;
    info["cuda_graph"] = (plan.kernel().flags & ONEOP_KERNEL_CUDA_GRAPH) != 0;
    info["inplace"] = plan.inplace_proposals();
    info["any_strides"] = record->op->has_flag(ONEOP_OP_NON_CONTIGUOUS);
    return info;
  });
}

void enter(const py::object& entry, const std::shared_ptr<JobProgram>& program,
           const std::vector<at::Tensor>& inputs, const py::list& input_dtypes,
           const std::vector<at::Tensor>& outputs, const py::list& output_dtypes, bool as_tuple,
           uint64_t epoch, const std::optional<at::Tensor>& count, const py::object& set_rate,
           const py::object& explain) {
  const auto pointers = [](const py::list& list) {
    std::vector<PyObject*> all;
    for (const py::handle item : list) {
      all.push_back(item.ptr());
    }
    return all;
  };
  const auto shared = [](const py::object& object) {
    return object.is_none() ? PyShared() : share(object.ptr());
  };
  Training training{shared(set_rate), count.value_or(at::Tensor()), shared(explain)};
  if (!enter_job(entry.ptr(), program, inputs, pointers(input_dtypes), outputs,
                 pointers(output_dtypes), as_tuple, epoch, std::move(training))) {
    throw py::type_error("expected a JobEntry");
  }
}

}  // namespace

void bind_jobs(py::module_& m) {
  if (!add_job_entry_type(m.ptr())) {
    throw py::error_already_set();
  }
  py::class_<JobLock, std::shared_ptr<JobLock>>(m, "JobLock")
      .def(py::init<std::string, bool>(), py::arg("what"), py::arg("is_recursive"))
      .def("lock", &take_lock, py::arg("is_exclusive"))
      .def("unlock", &JobLock::unlock)
      .def("is_held", &JobLock::is_held);
  m.def("holds_job_lock", &JobLock::holds_any);
  py::class_<JobGate, std::shared_ptr<JobGate>>(m, "JobGate")
      .def(py::init<std::string, std::shared_ptr<JobLock>, bool>(), py::arg("job"),
           py::arg("variables"), py::arg("changes"))
      .def("__enter__", &enter_gate)
      .def("__exit__", [](JobGate& gate, const py::args&) { gate.leave(); });
  py::class_<OpsSeen>(m, "OpsSeen")
      .def(py::init<>())
      .def("keep", &OpsSeen::keep, py::arg("called"))
      .def("are_current", &OpsSeen::are_current)
      .def_property_readonly("epoch", &OpsSeen::epoch);
  m.def("registry_epoch", &epoch_of_plans);
  py::class_<JobProgram, std::shared_ptr<JobProgram>>(m, "JobProgram")
      .def(py::init<std::shared_ptr<JobGate>>(), py::arg("gate"))
      .def_property_readonly("failed_at", &JobProgram::failed_at)
      .def("add_op", &add_op, py::arg("name"), py::arg("args"), py::arg("outputs"), py::arg("tmp"))
      .def("add_torch", &add_torch, py::arg("name"), py::arg("overload"), py::arg("args"))
      .def("add_function", &add_function, py::arg("function"))
      .def("run", &run)
      .def("profile", &profile, py::arg("count"))
      .def("__len__", &JobProgram::size);
  m.def("describe_call", &describe_call, py::arg("name"), py::arg("inputs"),
        py::arg("output_counts"), py::arg("attrs"), py::arg("device_type"));
  m.def("enter_job", &enter, py::arg("entry"), py::arg("program"), py::arg("inputs"),
        py::arg("input_dtypes"), py::arg("outputs"), py::arg("output_dtypes"), py::arg("as_tuple"),
        py::arg("epoch"), py::arg("count"), py::arg("set_rate"), py::arg("explain"));
  m.def("leave_job", [](const py::object& entry) { leave_job(entry.ptr()); }, py::arg("entry"));
}

}  // namespace oneop
