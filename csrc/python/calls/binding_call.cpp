// binding_call.cpp: the same call through torch.ops, which sees it as Python wrote it.
#include <torch/csrc/jit/python/pybind_utils.h>

#include "engine/calls/refusal.h"
#include "python/calls/call_binding.h"
#include "python/calls/python_attr.h"

namespace oneop {

PyObject* Binding::call(PyObject* overload) {
  const pybind11::tuple args(layout_.inputs.size());
  const pybind11::dict kwargs;
  for (size_t i = 0; i < layout_.inputs.size(); ++i) {
    PyTuple_SET_ITEM(args.ptr(), i, input_for_torch(i));
  }
  for (int32_t i = layout_.first_attr; i < layout_.num_args; ++i) {
    const size_t attr = i - layout_.first_attr;
    const bool is_attr = attr < layout_.op->attrs.size();  // else output counts or the device
    if (objects_[i] == nullptr) {
      if (is_attr) {
        check_default(*layout_.op, layout_.op->attrs[attr]);
      }
      continue;
    }
    PyObject* value = is_attr ? attr_for_torch(attr) : Py_NewRef(objects_[i]);
    PyDict_SetItem(kwargs.ptr(), names_.schema[i], value);
    Py_DECREF(value);
  }
  PyObject* result = PyObject_Call(overload, args.ptr(), kwargs.ptr());
  if (result != nullptr && layout_.returns_list() &&
      PyList_Check(result)) {  // as wrap_outputs does
    PyObject* list = result;
    result = PyList_AsTuple(list);
    Py_DECREF(list);
  } else if (result == Py_None && layout_.op->outputs.empty()) {
    Py_DECREF(result);
    result = PyTuple_New(0);
  }
  return result;
}

// Checked and converted here: torch's own conversion takes other values, 3 for a bool say.
PyObject* Binding::attr_for_torch(size_t i) const {
  PyObject* object = objects_[layout_.first_attr + i];
  if (is_symbolic(object)) {
    return Py_NewRef(object);
  }
  const int32_t type = layout_.op->attrs[i].type;
  const c10::IValue value = attr_value(i);
  // A schema has neither bytes nor lists of dtypes, and torch takes no int for all of a float[2].
  const bool is_for_all = layout_.op->attrs[i].list_size > 0 && !is_sequence(object);
  const bool has_other_form =
      type == ONEOP_ATTR_LIST_DTYPE || type == ONEOP_ATTR_BYTES || is_for_all;
  if (type == ONEOP_ATTR_DTYPE || (is_simple_attr(object) && !has_other_form)) {
    return Py_NewRef(object);
  }
  return torch::jit::toPyObject(value).release().ptr();
}

PyObject* Binding::input_for_torch(size_t i) const {
  PyObject* object = objects_[i] == nullptr ? Py_None : objects_[i];
  const bool is_list = layout_.inputs[i] == Layout::Input::kList;
  if (object == Py_None) {
    check_absent(i);
    return is_list ? PyList_New(0) : Py_NewRef(object);
  }
  if (is_list) {
    PyObject* list = is_sequence(object) ? PySequence_List(object) : Py_BuildValue("[O]", object);
    const auto owner = pybind11::reinterpret_steal<pybind11::object>(list);
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(list); ++k) {
      refuse_non_tensor(i, PyList_GET_ITEM(list, k));
    }
    check_input_count(*layout_.op, i, PyList_GET_SIZE(list));
    return Py_NewRef(list);
  }
  if (is_sequence(object)) {
    if (layout_.op->inputs[i].is_optional && PySequence_Fast_GET_SIZE(object) == 0) {
      return Py_NewRef(Py_None);
    }
    object = sole_item(i, object);
  }
  refuse_non_tensor(i, object);
  return Py_NewRef(object);
}

}  // namespace oneop
