// binding_stack.cpp: the arguments of a call as values on torch's stack, and what is said where an
// object does not serve.
#include <torch/csrc/Device.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/utils/pybind.h>

#include "engine/calls/refusal.h"
#include "engine/ops/error.h"
#include "interpreter/python_ref.h"
#include "python/calls/call_binding.h"
#include "python/calls/python_attr.h"

namespace oneop {

bool Binding::fill(torch::jit::Stack* stack) {
  stack->reserve(layout_.num_args + 2);
  for (size_t i = 0; i < layout_.inputs.size(); ++i) {
    if (!push_input(i, stack)) {
      return false;
    }
  }
  for (size_t i = 0; i < layout_.op->attrs.size(); ++i) {
    push_attr(i, stack);
  }
  if (layout_.output_counts_arg >= 0) {
    push_output_counts(stack);
  }
  if (layout_.device_arg >= 0) {
    push_device(stack);
  }
  return true;
}

bool Binding::push_tensor(size_t i, PyObject* object, torch::jit::Stack* stack) {
  if (THPVariable_CheckExact(object)) {
    stack->emplace_back(THPVariable_Unpack(object));
    return true;
  }
  refuse_non_tensor(i, object);
  return false;
}

void Binding::refuse_non_tensor(size_t i, PyObject* object) const {
  const auto owner = pybind11::reinterpret_borrow<pybind11::object>(object);
  if (THPVariable_Check(object) || PyObject_HasAttrString(object, "__torch_function__") == 1) {
    return;
  }
  // `@oneop.define("...")` above a function calls the op with that function.
  const char* advice =
      PyFunction_Check(object) ? "\n  to give the op a kernel, write @op.register_kernel" : "";
  refuse_input(*layout_.op, i,
               "expected a torch.Tensor, found " + python_type_name(object) + advice);
}

PyObject* Binding::sole_item(size_t i, PyObject* list) const {
  if (PySequence_Fast_GET_SIZE(list) != 1) {
    refuse_input(*layout_.op, i,
                 "expected " + layout_.op->inputs[i].counts_text() + ", found " +
                     std::to_string(PySequence_Fast_GET_SIZE(list)));
  }
  return PySequence_Fast_GET_ITEM(list, 0);
}

bool Binding::push_input(size_t i, torch::jit::Stack* stack) {
  PyObject* object = objects_[i];
  const ArgDef& arg = layout_.op->inputs[i];
  const bool is_absent = object == nullptr || object == Py_None;
  if (is_absent) {
    check_absent(i);
  }
  if (layout_.inputs[i] == Layout::Input::kList) {
    return push_list(i, object, stack);
  }
  if (is_absent) {
    stack->emplace_back();
    return true;
  }
  if (is_sequence(object)) {
    if (arg.is_optional && PySequence_Fast_GET_SIZE(object) == 0) {
      stack->emplace_back();
      return true;
    }
    object = sole_item(i, object);
  }
  return push_tensor(i, object, stack);
}

bool Binding::push_list(size_t i, PyObject* object, torch::jit::Stack* stack) {
  c10::List<at::Tensor> list;
  if (object != nullptr && object != Py_None) {
    PyObject* const single[] = {object};
    PyObject* const* items = is_sequence(object) ? PySequence_Fast_ITEMS(object) : single;
    const Py_ssize_t size = is_sequence(object) ? PySequence_Fast_GET_SIZE(object) : 1;
    list.reserve(size);
    for (Py_ssize_t k = 0; k < size; ++k) {
      if (!THPVariable_CheckExact(items[k])) {
        refuse_non_tensor(i, items[k]);
        return false;
      }
      list.push_back(THPVariable_Unpack(items[k]));
    }
  }
  check_input_count(*layout_.op, i, list.size());
  stack->emplace_back(std::move(list));
  return true;
}

void Binding::check_absent(size_t i) const {
  const ArgDef& arg = layout_.op->inputs[i];
  if (!arg.is_optional) {
    refuse_input(*layout_.op, i, "expected " + arg.counts_text() + ", found none");
  }
}

void Binding::push_attr(size_t i, torch::jit::Stack* stack) const {
  if (objects_[layout_.first_attr + i] != nullptr) {
    stack->push_back(attr_value(i));
    return;
  }
  check_default(*layout_.op, layout_.op->attrs[i]);
  stack->push_back(layout_.attr_defaults[i]);
}

void Binding::push_output_counts(torch::jit::Stack* stack) {
  PyObject* object = objects_[layout_.output_counts_arg];
  if (object == nullptr) {
    stack->push_back(layout_.default_output_counts);
    return;
  }
  c10::IValue counts = list_of_ints(object);
  if (counts.isNone()) {
    PyShared raised = take_exception();
    throw Error("ArgumentError",
                "op " + in_quotes(layout_.op->name) +
                    ", output_counts: expected a list of ints, found " + found_text(object) +
                    "\n  defined at " + layout_.op->source.text(),
                std::move(raised));
  }
  stack->push_back(std::move(counts));
}

void Binding::push_device(torch::jit::Stack* stack) {
  PyObject* object = objects_[layout_.device_arg];
  if (object == nullptr || object == Py_None) {
    stack->emplace_back();
  } else if (THPDevice_Check(object)) {
    stack->emplace_back(reinterpret_cast<THPDevice*>(object)->device);
  } else if (PyUnicode_Check(object)) {
    const char* text = PyUnicode_AsUTF8(object);
    try {
      stack->emplace_back(c10::Device(text == nullptr ? "" : text));
    } catch (const c10::Error&) {
      refuse_device(object);
    }
  } else {
    refuse_device(object);
  }
}

void Binding::refuse_device(PyObject* object) const {
  refuse_argument(layout_,
                  ", device: expected a torch.device or its name, found " + found_text(object));
}

}  // namespace oneop
