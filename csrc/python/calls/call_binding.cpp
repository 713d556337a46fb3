// call_binding.cpp: which Python objects serve as which argument, and what is said where they do
// not.
#include "python/calls/call_binding.h"

#include <torch/csrc/Device.h>
#include <torch/csrc/autograd/python_variable.h>
#include <torch/csrc/jit/python/pybind_utils.h>

#include <cstring>

#include "engine/calls/refusal.h"
#include "engine/ops/error.h"
#include "interpreter/python_ref.h"
#include "python/calls/python_attr.h"

namespace oneop {
namespace {

int32_t find_argument(const ArgNames& names, PyObject* name) {
  for (size_t i = 0; i < names.own.size(); ++i) {
    if (names.own[i] == name || names.schema[i] == name) {
      return static_cast<int32_t>(i);
    }
  }
  for (size_t i = 0; i < names.own.size(); ++i) {  // a name that was not interned
    if (PyUnicode_Compare(names.own[i], name) == 0 ||
        PyUnicode_Compare(names.schema[i], name) == 0) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

[[noreturn]] void refuse_unknown(const Layout& layout, PyObject* name) {
  const char* text = PyUnicode_AsUTF8(name);
  if (text == nullptr) {  // a lone surrogate
    PyErr_Clear();
    refuse_argument(layout, " has no input or attribute " + repr_of(name));
  }
  std::vector<std::string> extra;
  if (layout.output_counts_arg >= 0) {
    extra.emplace_back("output_counts");
  }
  if (layout.device_arg >= 0) {
    extra.emplace_back("device");
  }
  refuse_unknown_argument(*layout.op, text, extra);
}

}  // namespace

Binding::Binding(const Layout& layout, const ArgNames& names, PyObject* const* args,
                 size_t num_args, PyObject* kwnames)
    : layout_(layout), names_(names), objects_(layout.num_args, nullptr) {
  if (num_args > layout.inputs.size() + layout.num_positional) {
    refuse_positions(*layout.op, num_args);
  }
  for (size_t i = 0; i < num_args; ++i) {
    objects_[i] = args[i];
  }
  const Py_ssize_t num_names = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < num_names; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    const int32_t at = find_argument(names, name);
    if (at < 0) {
      refuse_unknown(layout, name);
    }
    if (objects_[at] != nullptr) {
      refuse_twice(*layout.op, at, PyUnicode_AsUTF8(name), static_cast<size_t>(at) < num_args);
    }
    objects_[at] = args[num_args + k];
  }
  if (layout.has_gaps) {
    take_gaps();
  }
}

void Binding::take_gaps() {
  for (size_t i = 0; i < layout_.op->inputs.size(); ++i) {
    const int32_t attr = layout_.op->gap_attr(i);
    PyObject* items = nullptr;
    PyObject* given = nullptr;
    if (attr < 0 || objects_[layout_.first_attr + attr] != nullptr ||
        !split_gaps(objects_[i], &items, &given)) {
      continue;
    }
    owned_.push_back(items);
    owned_.push_back(given);
    objects_[i] = items;
    objects_[layout_.first_attr + attr] = given;
  }
}

Binding::~Binding() {
  for (PyObject* object : owned_) {
    Py_DECREF(object);
  }
}

bool Binding::has_simple_attrs() const {
  for (size_t i = 0; i < layout_.op->attrs.size(); ++i) {
    PyObject* object = objects_[layout_.first_attr + i];
    if (object != nullptr && !is_simple_attr(object)) {
      return false;
    }
  }
  return true;
}

bool Binding::convert_attrs() {
  const std::vector<AttrDef>& attrs = layout_.op->attrs;
  std::vector<c10::IValue> values(attrs.size());
  bool has_symbols = false;
  for (size_t i = 0; i < attrs.size(); ++i) {
    PyObject* object = objects_[layout_.first_attr + i];
    if (object == nullptr) {
      continue;
    }
    if (is_symbolic(object)) {
      has_symbols = true;
      continue;
    }
    values[i] = attr_from_python(*layout_.op, attrs[i], object);
  }
  converted_ = std::move(values);
  return !has_symbols;
}

c10::IValue Binding::attr_value(size_t i) const {
  return converted_.empty()
             ? attr_from_python(*layout_.op, layout_.op->attrs[i], objects_[layout_.first_attr + i])
             : converted_[i];
}

bool Binding::run_directly(const TorchOp& op, const OpRecord& record, OutputTensors* outputs) {
  const auto is_given = [&](int32_t arg) { return arg >= 0 && objects_[arg] != nullptr; };
  if (is_given(layout_.device_arg) || is_given(layout_.output_counts_arg)) {
    return false;
  }
  return call_directly(
      op, record,
      [&](size_t i, DirectCall* call) {
        return add_input(objects_[i], layout_.inputs[i] == Layout::Input::kList, call);
      },
      [&](PlanKey* key) {
        for (size_t i = 0; i < layout_.op->attrs.size(); ++i) {
          if (!add_attr(i, key)) {
            return false;
          }
        }
        if (layout_.output_counts_arg >= 0) {
          append_ivalue_key(layout_.default_output_counts, key);
        }
        return true;
      },
      [&](DirectCall* call) {
        call->begin();
        if (call->holds_gil()) {
          call->compute();
        } else {
          ReleaseGil released;
          call->compute();
        }
        *outputs = std::move(call->end());
      });
}

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

bool Binding::add_input(PyObject* object, bool is_list, DirectCall* call) {
  if (object == nullptr || object == Py_None) {
    return true;
  }
  if (!is_list) {
    return THPVariable_CheckExact(object) && call->add_tensor(THPVariable_Unpack(object));
  }
  if (!is_sequence(object)) {
    return false;
  }
  const bool may_change = !PyTuple_CheckExact(object);
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(object); ++k) {
    PyObject* item = PySequence_Fast_GET_ITEM(object, k);
    if (item == Py_None) {  // an input may be absent, an item of a list may not
      return false;
    }
    if (may_change) {
      owned_.push_back(Py_NewRef(item));
    }
    if (!add_input(item, false, call)) {
      return false;
    }
  }
  return true;
}

bool Binding::add_attr(size_t i, PlanKey* key) const {
  PyObject* object = objects_[layout_.first_attr + i];
  if (object == nullptr) {
    const PlanKey& words = layout_.attr_default_keys[i];
    key->insert(key->end(), words.begin(), words.end());
    return layout_.op->attrs[i].has_default;
  }
  const AttrDef& attr = layout_.op->attrs[i];
  if (PyFloat_CheckExact(object) && !attr.is_optional &&
      (attr.type == ONEOP_ATTR_FLOAT || attr.type == ONEOP_ATTR_DOUBLE)) {
    int64_t word;
    const double value = PyFloat_AS_DOUBLE(object);
    std::memcpy(&word, &value, sizeof word);
    key->push_back(word);
    return true;
  }
  append_attr_key(attr, attr_value(i), key);
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
