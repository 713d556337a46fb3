// sharded_calls.cpp: one Python function that watches.
#include "torch_host/calls/sharded_calls.h"

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <atomic>

#include "interpreter/python_ref.h"

namespace py = pybind11;

namespace oneop {
namespace {

std::atomic<PyObject*> watcher{nullptr};  // set once, never freed
std::atomic<PyObject*> composer{nullptr};

bool has_python_tensor(const CallTensors& call) {
  for (const at::Tensor* tensor : call.tensors) {
    if (tensor->key_set().has(c10::DispatchKey::Python)) {
      return true;
    }
  }
  return false;
}

template <typename Tensors>
py::list to_python(const Tensors& tensors) {
  py::list list;
  for (const at::Tensor& tensor : tensors) {
    list.append(py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor)));
  }
  return list;
}

void push_tensors(const c10::OperatorHandle& handle, const py::object& result,
                  torch::jit::Stack* stack) {
  if (THPVariable_Check(result.ptr())) {
    stack->emplace_back(THPVariable_Unpack(result.ptr()));
    return;
  }
  c10::List<at::Tensor> tensors;
  for (const py::handle& item : result) {
    tensors.push_back(THPVariable_Unpack(item.ptr()));
  }
  const auto& returns = handle.schema().returns();
  if (returns.size() == 1 && returns[0].type()->kind() == c10::TypeKind::ListType) {
    stack->emplace_back(std::move(tensors));
    return;
  }
  for (const at::Tensor& tensor : tensors) {
    stack->emplace_back(tensor);
  }
}

}  // namespace

void watch_sharded_calls(const py::function& function) {
  watcher.store(Py_NewRef(function.ptr()), std::memory_order_release);
}

bool is_watched_call(const CallTensors& call) {
  return watcher.load(std::memory_order_acquire) != nullptr && has_python_tensor(call);
}

TensorList copy_tensors(const CallTensors& call) {
  TensorList tensors;
  for (const at::Tensor* tensor : call.tensors) {
    tensors.push_back(*tensor);
  }
  return tensors;
}

PyShared show_sharded_call(const TensorList& inputs, const OutputTensors& outputs) {
  Gil gil;
  const PyObject* function = watcher.load(std::memory_order_acquire);
  PyObject* result = PyObject_CallFunctionObjArgs(
      const_cast<PyObject*>(function), to_python(inputs).ptr(), to_python(outputs).ptr(), nullptr);
  if (result == nullptr) {
    python_error error;
    error.persist();
    throw error;
  }
  PyShared zeros = share(result == Py_None ? nullptr : result);
  Py_DECREF(result);
  return zeros;
}

at::Tensor zeros_on_mesh(const PyShared& function, size_t output) {
  Gil gil;
  try {
    const py::object zeros = py::handle(function.get())(output);
    return THPVariable_Unpack(zeros.ptr());
  } catch (py::error_already_set& raised) {
    raised.restore();
    python_error error;
    error.persist();
    throw error;
  }
}

void set_sharded_composition(const py::function& function) {
  composer.store(Py_NewRef(function.ptr()), std::memory_order_release);
}

bool run_sharded_composition(const c10::OperatorHandle& handle, const CallTensors& call,
                             int32_t num_args, torch::jit::Stack* stack) {
  PyObject* function = composer.load(std::memory_order_acquire);
  if (function == nullptr || !has_python_tensor(call)) {
    return false;
  }
  Gil gil;
  try {
    py::list arguments;
    for (auto value = stack->end() - num_args; value != stack->end(); ++value) {
      arguments.append(torch::jit::toPyObject(*value));
    }
    const py::object result = py::handle(function)(handle.operator_name().name, arguments);
    if (result.is(py::handle(Py_NotImplemented))) {
      return false;
    }
    torch::jit::drop(*stack, num_args);
    push_tensors(handle, result, stack);
  } catch (py::error_already_set& raised) {
    raised.restore();
    python_error error;
    error.persist();
    throw error;
  }
  return true;
}

}  // namespace oneop
