// job_module.cpp: JobProgram and its callers in oneop._core.
#include "job_module.h"

#include <torch/csrc/jit/python/pybind_utils.h>

#include "call_spec.h"
#include "error.h"
#include "job.h"
#include "job_call.h"
#include "python_error.h"
#include "torch_op.h"

namespace py = pybind11;

namespace oneop {
namespace {

torch::jit::Stack stack_for(const c10::FunctionSchema& schema, const py::tuple& args) {
  torch::jit::Stack stack;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    stack.push_back(torch::jit::toIValue(args[i], schema.arguments()[i].type()));
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
    std::lock_guard<std::mutex> turn(program.mutex());
    program.run();
  });
}

std::vector<double> profile(JobProgram& program, int count) {
  return raising([&] {
    py::gil_scoped_release released;
    std::lock_guard<std::mutex> turn(program.mutex());
    return program.profile(count);
  });
}

// What the planner must know of a call before there are buffers.
py::dict describe_call(const std::string& name, const TensorsByArgument& inputs,
                       const std::vector<int32_t>& output_counts, const py::dict& attrs,
                       int32_t device_type) {
  return raising([&] {
    const RecordPtr record = Registry::global().get(name);
    CallSpec spec = make_call_spec(*record->op, inputs, output_counts, attrs);
    spec.device_type = device_type;
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
           const std::vector<at::Tensor>& outputs, const py::list& output_dtypes, bool as_tuple) {
  const auto pointers = [](const py::list& list) {
    std::vector<PyObject*> all;
    for (const py::handle item : list) {
      all.push_back(item.ptr());
    }
    return all;
  };
  if (!enter_job(entry.ptr(), program, inputs, pointers(input_dtypes), outputs,
                 pointers(output_dtypes), as_tuple)) {
    throw py::type_error("expected a JobEntry");
  }
}

}  // namespace

void bind_jobs(py::module_& m) {
  if (!add_job_entry_type(m.ptr())) {
    throw py::error_already_set();
  }
  py::class_<JobProgram, std::shared_ptr<JobProgram>>(m, "JobProgram")
      .def(py::init<>())
      .def("add_op", &add_op, py::arg("name"), py::arg("args"), py::arg("outputs"), py::arg("tmp"))
      .def("add_torch", &add_torch, py::arg("name"), py::arg("overload"), py::arg("args"))
      .def("add_function", &add_function, py::arg("function"))
      .def("run", &run)
      .def("profile", &profile, py::arg("count"))
      .def("__len__", &JobProgram::size);
  m.def("describe_call", &describe_call, py::arg("name"), py::arg("inputs"),
        py::arg("output_counts"), py::arg("attrs"), py::arg("device_type"));
  m.def("enter_job", &enter, py::arg("entry"), py::arg("program"), py::arg("inputs"),
        py::arg("input_dtypes"), py::arg("outputs"), py::arg("output_dtypes"), py::arg("as_tuple"));
}

}  // namespace oneop
