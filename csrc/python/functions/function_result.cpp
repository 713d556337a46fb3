// function_result.cpp: results taken from a library, and given to Python.
#include "python/functions/function_result.h"

#include <torch/csrc/autograd/python_variable.h>

#include <utility>

#include "engine/ops/error.h"
#include "torch_host/handles/tensor_handles.h"

namespace oneop {

void FunctionResult::give_tensor(oneop_result* result, oneop_handle owned) {
  auto* self = static_cast<FunctionResult*>(result);
  self->value.kind = ONEOP_VALUE_TENSOR;
  self->tensor = take_handle(owned);
}

void FunctionResult::set_value(oneop_result* result, const oneop_value* value) {
  auto* self = static_cast<FunctionResult*>(result);
  self->value = *value;
  const oneop_span& list = value->value.list;
  if (value->kind == ONEOP_VALUE_TENSOR) {
    self->tensor = tensor_of(value->value.tensor);
    return;
  }
  const bool is_list = value->kind == ONEOP_VALUE_TENSORS || value->kind == ONEOP_VALUE_INTS ||
                       value->kind == ONEOP_VALUE_STRING;
  self->lists = is_list ? std::make_unique<Lists>() : nullptr;
  if (value->kind == ONEOP_VALUE_TENSORS) {
    const auto* handles = static_cast<const oneop_handle*>(list.data);
    for (int64_t i = 0; i < list.count; ++i) {
      self->lists->tensors.push_back(handles[i] == nullptr ? at::Tensor() : tensor_of(handles[i]));
    }
  } else if (value->kind == ONEOP_VALUE_INTS) {
    const auto* data = static_cast<const int64_t*>(list.data);
    self->lists->ints.assign(data, data + list.count);
  } else if (value->kind == ONEOP_VALUE_STRING) {
    self->lists->text.assign(static_cast<const char*>(list.data), list.count);
  }
}

PyObject* FunctionResult::wrap(const FunctionSignature& signature) {
  switch (value.kind) {
    case ONEOP_VALUE_NONE:
      Py_RETURN_NONE;
    case ONEOP_VALUE_TENSOR:
      return THPVariable_Wrap(std::move(tensor));
    case ONEOP_VALUE_TENSORS:
      return wrap_tuple(signature);
    case ONEOP_VALUE_BOOL:
      return PyBool_FromLong(value.value.i != 0);
    case ONEOP_VALUE_INT:
      return PyLong_FromLongLong(value.value.i);
    case ONEOP_VALUE_FLOAT:
      return PyFloat_FromDouble(value.value.f);
    case ONEOP_VALUE_STRING:
      return PyUnicode_FromStringAndSize(lists->text.data(),
                                         static_cast<Py_ssize_t>(lists->text.size()));
    case ONEOP_VALUE_INTS:
      return wrap_shape();
    default:
      throw Error("OpNotImplementedError",
                  "a function returns a value that Python has no type for");
  }
}

PyObject* FunctionResult::wrap_shape() const {
  const std::vector<int64_t>& ints = lists->ints;
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(ints.size()));
  for (size_t i = 0; i < ints.size(); ++i) {
    PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(ints[i]));
  }
  PyObject* torch = PyImport_ImportModule("torch");
  PyObject* size = torch == nullptr ? nullptr : PyObject_CallMethod(torch, "Size", "(O)", tuple);
  Py_XDECREF(torch);
  Py_DECREF(tuple);
  return size;
}

PyObject* FunctionResult::wrap_tuple(const FunctionSignature& signature) {
  std::vector<at::Tensor>& tensors = lists->tensors;
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(tensors.size()));
  for (size_t i = 0; i < tensors.size(); ++i) {
    // A null tensor of a functor is None, alone and in a tuple.
    PyTuple_SET_ITEM(
        tuple, i,
        tensors[i].defined() ? THPVariable_Wrap(std::move(tensors[i])) : Py_NewRef(Py_None));
  }
  if (signature.tuple_type == nullptr) {
    return tuple;
  }
  PyObject* named = PyObject_Call(signature.tuple_type, tuple, nullptr);
  Py_DECREF(tuple);
  return named;
}

}  // namespace oneop
