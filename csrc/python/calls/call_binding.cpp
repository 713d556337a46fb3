// call_binding.cpp: arguments in the order of the schema, and the direct way to call with them.
#include "python/calls/call_binding.h"

#include <torch/csrc/autograd/python_variable.h>

#include <cstring>
#include <utility>

#include "engine/calls/refusal.h"
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
    if (object != nullptr && !PyFloat_CheckExact(object) && !is_simple_attr(object)) {
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
      op, record, outputs,
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
        call->end();
      });
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

}  // namespace oneop
