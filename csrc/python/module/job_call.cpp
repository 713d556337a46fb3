// job_call.cpp: from numpy arrays to buffers and back.
#include "python/module/job_call.h"

#include <pybind11/numpy.h>
#include <structmember.h>
#include <torch/csrc/Exceptions.h>

#include <cstddef>
#include <cstring>
#include <optional>

#include "engine/ops/error.h"
#include "interpreter/python_error.h"
#include "interpreter/python_ref.h"
#include "torch_host/calls/calls.h"

namespace py = pybind11;

namespace oneop {
namespace {

using Api = py::detail::npy_api;

struct Slot {
  at::Tensor buffer;
  void* own_data;                   // of the buffer
  std::vector<oneop_tensor*> uses;  // where its address may be replaced; empty: data must be copied
  PyShared dtype;
  std::vector<Py_intptr_t> shape;
};

// A planned job as its entry calls it. `users` counts the entry and the calls that are under way;
// it is only touched with the GIL, so that a new plan can replace this one while it runs.
struct JobCall {
  std::shared_ptr<JobProgram> program;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  bool as_tuple;
  uint64_t epoch;  // epoch_of_plans() when the ops were last seen to be those that were traced
  Training training;
  int64_t users = 1;
};

void drop(JobCall* call) {
  if (call != nullptr && --call->users == 0) {
    delete call;
  }
}

struct JobEntryObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  JobCall* call;  // null until the job is planned
};

// The data of an array of exactly this dtype and shape, else null.
void* data_of(PyObject* object, const Slot& slot) {
  const Api& api = Api::get();
  if (Py_TYPE(object) != api.PyArray_Type_) {
    return nullptr;
  }
  const auto* array = py::detail::array_proxy(object);
  constexpr int kPlain = Api::NPY_ARRAY_C_CONTIGUOUS_ | Api::NPY_ARRAY_ALIGNED_;
  const bool fits = array->descr == slot.dtype.get() && (array->flags & kPlain) == kPlain &&
                    array->nd == static_cast<int>(slot.shape.size()) &&
                    std::equal(slot.shape.begin(), slot.shape.end(), array->dimensions);
  return fits ? array->data : nullptr;
}

PyObject* new_array(const Slot& slot) {
  const Api& api = Api::get();
  Py_INCREF(slot.dtype.get());  // taken over by the array
  PyObject* array = api.PyArray_NewFromDescr_(api.PyArray_Type_, slot.dtype.get(),
                                              static_cast<int>(slot.shape.size()),
                                              slot.shape.data(), nullptr, nullptr, 0, nullptr);
  if (array == nullptr) {
    throw python_error();
  }
  return array;
}

// A kernel may read whole vectors at once, so its data must lie where an element may lie.
bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

void place(Slot& slot, void* data) {
  for (oneop_tensor* use : slot.uses) {
    use->data = data;
  }
}

using Pointers = c10::SmallVector<void*, 8>;

// Lets the kernels of a program work on the caller's arrays where they can. The buffers' own
// addresses are put back at the end, whatever happened: nothing of a call stays in the plan.
class Placement {
 public:
  Placement(JobCall& call, const Pointers& input_data, const Pointers& output_data) : call_(call) {
    for (size_t i = 0; i < input_data.size(); ++i) {
      Slot& slot = call.inputs[i];
      if (can_move(slot, input_data[i])) {
        place(slot, input_data[i]);
      } else {
        std::memcpy(slot.buffer.mutable_data_ptr(), input_data[i], slot.buffer.nbytes());
      }
    }
    for (size_t i = 0; i < output_data.size(); ++i) {
      if (can_move(call.outputs[i], output_data[i])) {
        place(call.outputs[i], output_data[i]);
      }
    }
  }
  ~Placement() {
    for (std::vector<Slot>* slots : {&call_.inputs, &call_.outputs}) {
      for (Slot& slot : *slots) {
        place(slot, slot.own_data);
      }
    }
  }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  static bool can_move(const Slot& slot, const void* data) {
    return !slot.uses.empty() && is_aligned(data);
  }

 private:
  JobCall& call_;
};

void set_rate(const Training& training) {
  const Gil gil;
  PyObject* done = PyObject_CallNoArgs(training.set_rate.get());
  if (done == nullptr) {
    python_error error;
    error.persist();  // the GIL may be released before it is handled
    throw error;
  }
  Py_DECREF(done);
}

// `failed_at` is set if a step throws. It is read here: after the gate the program is another's.
void run_between(JobCall& call, const Pointers& input_data, const Pointers& output_data,
                 std::optional<size_t>* failed_at) {
  const Placement placement(call, input_data, output_data);
  if (call.training.set_rate != nullptr) {
    set_rate(call.training);
  }
  try {
    call.program->run();
  } catch (...) {
    *failed_at = call.program->failed_at();
    throw;
  }
  if (call.training.count.defined()) {
    ++*call.training.count.mutable_data_ptr<int64_t>();
  }
  for (size_t i = 0; i < output_data.size(); ++i) {
    const Slot& slot = call.outputs[i];
    if (!Placement::can_move(slot, output_data[i])) {
      std::memcpy(output_data[i], slot.own_data, slot.buffer.nbytes());
    }
  }
}

class InGate {  // leaves it at the end
 public:
  explicit InGate(JobGate& gate) : gate_(gate) {}
  ~InGate() { gate_.leave(); }
  InGate(const InGate&) = delete;
  InGate& operator=(const InGate&) = delete;

 private:
  JobGate& gate_;
};

// Runs without the GIL, unless all steps are kernels that would take it back at once.
void run_in_turn(JobCall& call, const Pointers& input_data, const Pointers& output_data,
                 std::optional<size_t>* failed_at) {
  JobGate& gate = call.program->gate();
  if (call.program->holds_gil()) {
    if (!gate.try_enter()) {
      ReleaseGil released;
      gate.enter();
    }
    const InGate inside(gate);
    run_between(call, input_data, output_data, failed_at);
  } else {
    ReleaseGil released;
    gate.enter();
    const InGate inside(gate);
    run_between(call, input_data, output_data, failed_at);
  }
}

// Null, with no Python error, where an argument is not what the quick way takes.
PyObject* run_on(JobCall& call, PyObject* const* args, std::optional<size_t>* failed_at) {
  Pointers input_data;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    void* data = data_of(args[i], call.inputs[i]);
    if (data == nullptr) {
      return nullptr;
    }
    input_data.push_back(data);
  }
  Pointers output_data;
  c10::SmallVector<py::object, 4> results;
  for (const Slot& slot : call.outputs) {
    results.push_back(py::reinterpret_steal<py::object>(new_array(slot)));
    output_data.push_back(py::detail::array_proxy(results.back().ptr())->data);
  }
  ++call.users;
  const std::unique_ptr<JobCall, decltype(&drop)> used(&call, &drop);
  run_in_turn(call, input_data, output_data, failed_at);
  if (!call.as_tuple) {
    return results[0].release().ptr();
  }
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(results.size()));
  if (tuple == nullptr) {
    throw python_error();
  }
  for (size_t i = 0; i < results.size(); ++i) {
    PyTuple_SET_ITEM(tuple, i, results[i].release().ptr());
  }
  return tuple;
}

PyObject* call_method(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  static PyObject* const name = PyUnicode_InternFromString("_call");
  PyObject* method = PyObject_GetAttr(self, name);
  if (method == nullptr) {
    return nullptr;
  }
  PyObject* result = PyObject_Vectorcall(method, args, nargsf, kwnames);
  Py_DECREF(method);
  return result;
}

// Adds to the exception that is set what a step that failed has changed.
void explain_failure(const PyShared& explain, size_t failed_at) {
  const PyShared error = take_exception();
  PyObject* done =
      PyObject_CallFunction(explain.get(), "On", error.get(), static_cast<Py_ssize_t>(failed_at));
  if (done == nullptr) {
    PyErr_Clear();  // the failure itself matters more
  }
  Py_XDECREF(done);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
}

PyObject* call_job(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames,
                   std::optional<size_t>* failed_at) {
  JobCall* call = reinterpret_cast<JobEntryObject*>(self)->call;
  try {
    if (call != nullptr && kwnames == nullptr && call->epoch == epoch_of_plans() &&
        PyVectorcall_NARGS(nargsf) == static_cast<Py_ssize_t>(call->inputs.size())) {
      PyObject* result = run_on(*call, args, failed_at);
      if (result != nullptr) {
        return result;
      }
    }
    return call_method(self, args, nargsf, kwnames);
  } catch (const Error& error) {
    set_python_error(error);
    return nullptr;
  } catch (py::error_already_set& error) {
    error.restore();
    return nullptr;
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
    return nullptr;
  }
}

PyObject* job_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  JobCall* call = reinterpret_cast<JobEntryObject*>(self)->call;
  const PyShared explain = call != nullptr ? call->training.explain : nullptr;
  std::optional<size_t> failed_at;
  PyObject* result = call_job(self, args, nargsf, kwnames, &failed_at);
  if (failed_at && explain != nullptr) {
    explain_failure(explain, *failed_at);
  }
  return result;
}

PyObject* job_new(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (self != nullptr) {
    reinterpret_cast<JobEntryObject*>(self)->vectorcall = &job_vectorcall;
  }
  return self;
}

void job_dealloc(PyObject* self) {
  drop(reinterpret_cast<JobEntryObject*>(self)->call);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

// Python 3.11 lets no class written in Python inherit the quick way of being called.
PyObject* init_subclass(PyObject* cls, PyObject*) {
  auto* type = reinterpret_cast<PyTypeObject*>(cls);
  if (type->tp_call == &PyVectorcall_Call) {
    type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
  }
  Py_RETURN_NONE;
}

PyMethodDef job_methods[] = {
    {"__init_subclass__", &init_subclass, METH_NOARGS | METH_CLASS, nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef job_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JobEntryObject, vectorcall), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot job_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                           {Py_tp_new, reinterpret_cast<void*>(&job_new)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(&job_dealloc)},
                           {Py_tp_methods, job_methods},
                           {Py_tp_members, job_members},
                           {0, nullptr}};

PyType_Spec job_spec = {"oneop._core.JobEntry", sizeof(JobEntryObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
                        job_slots};

PyTypeObject* job_type = nullptr;

std::vector<Slot> make_slots(JobProgram& program, const std::vector<at::Tensor>& buffers,
                             const std::vector<PyObject*>& dtypes) {
  std::vector<Slot> slots;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const at::Tensor& buffer = buffers[i];
    slots.push_back({buffer,
                     buffer.mutable_data_ptr(),
                     program.movable_uses(buffer),
                     share(dtypes[i]),
                     {buffer.sizes().begin(), buffer.sizes().end()}});
  }
  return slots;
}

}  // namespace

bool add_job_entry_type(PyObject* module) {
  PyObject* type = PyType_FromSpec(&job_spec);
  if (type == nullptr) {
    return false;
  }
  job_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "JobEntry", type) == 0;
}

uint64_t epoch_of_plans() { return Registry::global().epoch() << 32 | required_of_calls(); }

bool enter_job(PyObject* entry, std::shared_ptr<JobProgram> program,
               const std::vector<at::Tensor>& inputs, const std::vector<PyObject*>& input_dtypes,
               const std::vector<at::Tensor>& outputs, const std::vector<PyObject*>& output_dtypes,
               bool as_tuple, uint64_t epoch, Training training) {
  if (!PyObject_TypeCheck(entry, job_type)) {
    return false;
  }
  auto call = std::make_unique<JobCall>();
  call->inputs = make_slots(*program, inputs, input_dtypes);
  call->outputs = make_slots(*program, outputs, output_dtypes);
  call->program = std::move(program);
  call->as_tuple = as_tuple;
  call->epoch = epoch;
  call->training = std::move(training);
  leave_job(entry);
  reinterpret_cast<JobEntryObject*>(entry)->call = call.release();
  return true;
}

bool leave_job(PyObject* entry) {
  if (!PyObject_TypeCheck(entry, job_type)) {
    return false;
  }
  JobCall*& call = reinterpret_cast<JobEntryObject*>(entry)->call;
  JobCall* old = call;
  call = nullptr;
  drop(old);
  return true;
}

}  // namespace oneop
