// job_call.cpp: the Python object that calls a planned job.
#include "python/module/job_call.h"

#include <pybind11/pybind11.h>
#include <structmember.h>
#include <torch/csrc/Exceptions.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "engine/ops/error.h"
#include "interpreter/python_error.h"
#include "interpreter/python_ref.h"
#include "torch_host/calls/calls.h"

namespace py = pybind11;

namespace oneop {
namespace {

struct JobEntryObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  JobCall* call;  // null until the job is planned
};

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
      PyObject* result = run_job_on(*call, args, failed_at);
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
  drop_call(reinterpret_cast<JobEntryObject*>(self)->call);
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
  drop_call(old);
  return true;
}

}  // namespace oneop
