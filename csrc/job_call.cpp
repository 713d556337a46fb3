// job_call.cpp: from numpy arrays to buffers and back, through the buffer protocol.
#include "job_call.h"

#include <structmember.h>
#include <torch/csrc/Exceptions.h>

#include <cstddef>
#include <cstring>

#include "error.h"
#include "python_error.h"

namespace oneop {
namespace {

struct Slot {
  at::Tensor buffer;
  std::vector<oneop_tensor*> uses;  // where its address may be replaced; empty: data must be copied
};

struct JobCallData {
  std::shared_ptr<JobProgram> program;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  PyObject* shapes;
  PyObject* dtypes;
  PyObject* empty;
  PyObject* general;
  bool as_tuple;
};

struct JobCallObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  JobCallData* data;
  PyObject* dict;
};

// The buffer protocol's letter for a dtype; 0 where numpy has none.
char letter_of(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Float:
      return 'f';
    case c10::ScalarType::Double:
      return 'd';
    case c10::ScalarType::Half:
      return 'e';
    case c10::ScalarType::Char:
      return 'b';
    case c10::ScalarType::Byte:
      return 'B';
    case c10::ScalarType::Short:
      return 'h';
    case c10::ScalarType::Int:
      return 'i';
    case c10::ScalarType::Long:
      return 'l';
    case c10::ScalarType::Bool:
      return '?';
    default:
      return 0;
  }
}

// Buffers of arrays, given back at the end.
class Views {
 public:
  ~Views() {
    for (int i = 0; i < count_; ++i) {
      PyBuffer_Release(&views_[i]);
    }
  }
  static constexpr int kMost = 32;
  // Null, with no Python error, where the object has no such buffer.
  Py_buffer* take(PyObject* object, int flags) {
    if (PyObject_GetBuffer(object, &views_[count_], flags) != 0) {
      PyErr_Clear();
      return nullptr;
    }
    return &views_[count_++];
  }

 private:
  Py_buffer views_[kMost];
  int count_ = 0;
};

bool fits(const Py_buffer& view, const at::Tensor& buffer) {
  if (view.format == nullptr || view.format[0] != letter_of(buffer.scalar_type()) ||
      view.format[1] != 0 || view.ndim != buffer.dim()) {
    return false;
  }
  for (int i = 0; i < view.ndim; ++i) {
    if (view.shape[i] != buffer.size(i)) {
      return false;
    }
  }
  return true;
}

// A kernel may read whole vectors at once, so its data must lie where an element may lie.
bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

void place(Slot& slot, void* data) {
  for (oneop_tensor* use : slot.uses) {
    use->data = data;
  }
}

PyObject* run_on(JobCallData& data, PyObject* const* args) {
  Views views;
  c10::SmallVector<void*, 8> input_data;
  for (size_t i = 0; i < data.inputs.size(); ++i) {
    Py_buffer* view = views.take(args[i], PyBUF_C_CONTIGUOUS | PyBUF_FORMAT);
    if (view == nullptr || !fits(*view, data.inputs[i].buffer)) {
      return nullptr;
    }
    input_data.push_back(view->buf);
  }
  PyObject* results = PyTuple_New(static_cast<Py_ssize_t>(data.outputs.size()));
  c10::SmallVector<void*, 8> output_data;
  for (size_t i = 0; i < data.outputs.size(); ++i) {
    PyObject* const empty_args[] = {PyTuple_GET_ITEM(data.shapes, i),
                                    PyTuple_GET_ITEM(data.dtypes, i)};
    PyObject* array = PyObject_Vectorcall(data.empty, empty_args, 2, nullptr);
    if (array == nullptr) {
      Py_DECREF(results);
      throw python_error();
    }
    PyTuple_SET_ITEM(results, i, array);
    output_data.push_back(views.take(array, PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE)->buf);
  }
  PyThreadState* gil = PyEval_SaveThread();
  std::exception_ptr failure;
  try {
    std::lock_guard<std::mutex> turn(data.program->mutex());
    for (size_t i = 0; i < input_data.size(); ++i) {
      Slot& slot = data.inputs[i];
      const bool moves = !slot.uses.empty() && is_aligned(input_data[i]);
      if (!moves) {
        std::memcpy(slot.buffer.mutable_data_ptr(), input_data[i], slot.buffer.nbytes());
      }
      place(slot, moves ? input_data[i] : slot.buffer.mutable_data_ptr());
    }
    for (size_t i = 0; i < output_data.size(); ++i) {
      Slot& slot = data.outputs[i];
      place(slot, is_aligned(output_data[i]) ? output_data[i] : slot.buffer.mutable_data_ptr());
    }
    data.program->run();
    for (size_t i = 0; i < output_data.size(); ++i) {
      Slot& slot = data.outputs[i];
      if (slot.uses.empty() || !is_aligned(output_data[i])) {
        std::memcpy(output_data[i], slot.buffer.const_data_ptr(), slot.buffer.nbytes());
      }
    }
  } catch (...) {
    failure = std::current_exception();
  }
  PyEval_RestoreThread(gil);
  if (failure) {
    Py_DECREF(results);
    std::rethrow_exception(failure);
  }
  if (data.as_tuple) {
    return results;
  }
  PyObject* only = Py_NewRef(PyTuple_GET_ITEM(results, 0));
  Py_DECREF(results);
  return only;
}

PyObject* job_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  JobCallData& data = *reinterpret_cast<JobCallObject*>(self)->data;
  const size_t count = PyVectorcall_NARGS(nargsf);
  try {
    if (kwnames == nullptr && count == data.inputs.size()) {
      PyObject* result = run_on(data, args);
      if (result != nullptr) {
        return result;
      }
    }
    return PyObject_Vectorcall(data.general, args, nargsf, kwnames);
  } catch (const Error& error) {
    set_python_error(error);
    return nullptr;
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
    return nullptr;
  }
}

void job_dealloc(PyObject* self) {
  auto* object = reinterpret_cast<JobCallObject*>(self);
  PyObject_GC_UnTrack(self);
  if (object->data != nullptr) {
    Py_XDECREF(object->data->shapes);
    Py_XDECREF(object->data->dtypes);
    Py_XDECREF(object->data->empty);
    Py_XDECREF(object->data->general);
    delete object->data;
  }
  Py_CLEAR(object->dict);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

int job_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* object = reinterpret_cast<JobCallObject*>(self);
  if (object->data != nullptr) {
    Py_VISIT(object->data->general);
  }  // null while it is being made
  Py_VISIT(object->dict);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

PyMemberDef job_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(JobCallObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(JobCallObject, dict), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot job_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                           {Py_tp_dealloc, reinterpret_cast<void*>(&job_dealloc)},
                           {Py_tp_traverse, reinterpret_cast<void*>(&job_traverse)},
                           {Py_tp_members, job_members},
                           {0, nullptr}};

PyType_Spec job_spec = {"oneop._core.JobCall", sizeof(JobCallObject), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC |
                            Py_TPFLAGS_DISALLOW_INSTANTIATION,
                        job_slots};

PyTypeObject* job_type = nullptr;

bool is_numpy_type(const std::vector<at::Tensor>& tensors) {
  for (const at::Tensor& tensor : tensors) {
    if (letter_of(tensor.scalar_type()) == 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool add_job_call_type(PyObject* module) {
  PyObject* type = PyType_FromSpec(&job_spec);
  if (type == nullptr) {
    return false;
  }
  job_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "JobCall", type) == 0;
}

PyObject* make_job_call(std::shared_ptr<JobProgram> program, const std::vector<at::Tensor>& inputs,
                        const std::vector<at::Tensor>& outputs, PyObject* shapes, PyObject* dtypes,
                        bool as_tuple, PyObject* empty, PyObject* general) {
  if (inputs.size() + outputs.size() > Views::kMost || !is_numpy_type(inputs) ||
      !is_numpy_type(outputs)) {
    Py_RETURN_NONE;
  }
  auto* object = reinterpret_cast<JobCallObject*>(job_type->tp_alloc(job_type, 0));
  if (object == nullptr) {
    return nullptr;
  }
  object->vectorcall = &job_vectorcall;
  object->data = new JobCallData{
      program, {}, {}, Py_NewRef(shapes), Py_NewRef(dtypes), Py_NewRef(empty), Py_NewRef(general),
      as_tuple};
  for (const at::Tensor& buffer : inputs) {
    object->data->inputs.push_back({buffer, program->movable_uses(buffer)});
  }
  for (const at::Tensor& buffer : outputs) {
    object->data->outputs.push_back({buffer, program->movable_uses(buffer)});
  }
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace oneop
