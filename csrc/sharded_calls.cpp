// sharded_calls.cpp: one Python function that watches.
#include "sharded_calls.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <atomic>

#include "python_ref.h"

namespace py = pybind11;

namespace oneop {
namespace {

std::atomic<PyObject*> watcher{nullptr};  // set once, never freed

template <typename Tensors>
py::list to_python(const Tensors& tensors) {
  py::list list;
  for (const at::Tensor& tensor : tensors) {
    list.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor)));
  }
  return list;
}

}  // namespace

void watch_sharded_calls(const py::function& function) {
  watcher.store(Py_NewRef(function.ptr()), std::memory_order_release);
}

bool is_watched_call(const CallTensors& call) {
  if (watcher.load(std::memory_order_acquire) == nullptr) {
    return false;
  }
  for (const at::Tensor* tensor : call.tensors) {
    if (tensor->key_set().has(c10::DispatchKey::Python)) {
      return true;
    }
  }
  return false;
}

TensorList copy_tensors(const CallTensors& call) {
  TensorList tensors;
  for (const at::Tensor* tensor : call.tensors) {
    tensors.push_back(*tensor);
  }
  return tensors;
}

void show_sharded_call(const TensorList& inputs, const OutputTensors& outputs) {
  Gil gil;
  const PyObject* function = watcher.load(std::memory_order_acquire);
  PyObject* result = PyObject_CallFunctionObjArgs(
      const_cast<PyObject*>(function), to_python(inputs).ptr(), to_python(outputs).ptr(), nullptr);
  if (result == nullptr) {
    python_error error;
    error.persist();
    throw error;
  }
  Py_DECREF(result);
}

}  // namespace oneop
