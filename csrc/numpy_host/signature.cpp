// signature.cpp: see signature.h.
#include "numpy_host/signature.h"

#include <algorithm>

#include "c_host/request.h"
#include "engine/calls/refusal.h"
#include "engine/ops/error.h"
#include "interpreter/attr_values.h"
#include "interpreter/objects.h"
#include "numpy_host/arrays.h"

namespace oneop {

Signature::Signature(RecordPtr of) : record(std::move(of)), output_counts(least_outputs(op())) {
  const auto add = [&](const std::string& name, const std::string& in_schema) {
    names.emplace_back(PyUnicode_InternFromString(name.c_str()));
    schema_names.emplace_back(PyUnicode_InternFromString(in_schema.c_str()));
  };
  bool is_open = true;
  for (size_t i = 0; i < op().inputs.size(); ++i) {
    add(op().inputs[i].name, schema_name(op().inputs[i].name));
    is_open &= op().inputs[i].is_optional;
    mutates |= op().input_traits[i].is_mutable;
  }
  for (const AttrDef& attr : op().attrs) {
    add(attr.name, attr_schema_name(attr.name));
    num_positional += attr.is_positional ? 1 : 0;
    default_keys.emplace_back();
    if (attr.has_default) {
      attr.default_value.append_key(&default_keys.back());
    }
  }
  if (op().has_open_outputs()) {
    output_counts_arg = static_cast<int32_t>(names.size());
    add("output_counts", "output_counts");
  }
  if (is_open) {
    device_arg = static_cast<int32_t>(names.size());
    add("device", "device");
  }
  num_args = static_cast<int32_t>(names.size());
}

int32_t Signature::find(PyObject* name) const {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].get() == name || schema_names[i].get() == name) {
      return static_cast<int32_t>(i);
    }
  }
  for (size_t i = 0; i < names.size(); ++i) {  // a name that was not interned
    if (PyUnicode_Compare(names[i].get(), name) == 0 ||
        PyUnicode_Compare(schema_names[i].get(), name) == 0) {
      return static_cast<int32_t>(i);
    }
  }
  return -1;
}

std::vector<std::string> Signature::extra() const {
  std::vector<std::string> added;
  if (output_counts_arg >= 0) {
    added.emplace_back("output_counts");
  }
  if (device_arg >= 0) {
    added.emplace_back("device");
  }
  return added;
}

Binding::Binding(const Signature& signature, PyObject* const* args, size_t num_args,
                 PyObject* kwnames)
    : signature_(signature), objects_(signature.num_args, nullptr) {
  const OpDef& op = signature.op();
  if (num_args > op.inputs.size() + signature.num_positional) {
    refuse_positions(op, num_args);
  }
  std::copy(args, args + num_args, objects_.begin());
  const Py_ssize_t num_names = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  for (Py_ssize_t k = 0; k < num_names; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, k);
    const int32_t at = signature.find(name);
    std::string text;
    if (!to_text(name, &text)) {  // a lone surrogate
      PyErr_Clear();
      refuse_argument(op, " has no input or attribute " + repr_of(name));
    }
    if (at < 0) {
      refuse_unknown_argument(op, text, signature.extra());
    }
    if (objects_[at] != nullptr) {
      refuse_twice(op, at, text, static_cast<size_t>(at) < num_args);
    }
    objects_[at] = args[num_args + k];
  }
  for (size_t i = 0; i < op.inputs.size(); ++i) {
    const int32_t attr = op.gap_attr(i);
    const size_t place = op.inputs.size() + static_cast<size_t>(std::max(attr, 0));
    PyObject* items = nullptr;
    PyObject* given = nullptr;
    if (attr >= 0 && objects_[place] == nullptr && split_gaps(objects_[i], &items, &given)) {
      owned_.emplace_back(items);
      owned_.emplace_back(given);
      objects_[i] = items;
      objects_[place] = given;
    }
  }
}

void Binding::each_tensor(size_t i, std::vector<PyObject*>* tensors) const {
  const OpDef& op = signature_.op();
  const ArgDef& arg = op.inputs[i];
  PyObject* object = input(i);
  if (object == nullptr || object == Py_None) {
    if (!arg.is_optional) {
      refuse_input(op, i, "expected " + arg.counts_text() + ", found none");
    }
    return;
  }
  if (!is_sequence(object)) {
    tensors->push_back(object);
  } else {
    PyObject** items = PySequence_Fast_ITEMS(object);
    tensors->insert(tensors->end(), items, items + PySequence_Fast_GET_SIZE(object));
  }
  if (arg.is_list() || is_sequence(object)) {
    check_input_count(op, i, is_sequence(object) ? PySequence_Fast_GET_SIZE(object) : 1);
  }
}

std::vector<AttrValue> Binding::attrs() const {
  const OpDef& op = signature_.op();
  std::vector<AttrValue> values;
  for (size_t i = 0; i < op.attrs.size(); ++i) {
    if (attr(i) == nullptr) {
      check_default(op, op.attrs[i]);
      values.push_back(op.attrs[i].default_value);
    } else {
      values.push_back(attr_from_python(op, op.attrs[i], attr(i), &code_of_dtype, "numpy.dtype"));
    }
  }
  return values;
}

std::vector<int32_t> Binding::output_counts() const {
  PyObject* object =
      signature_.output_counts_arg < 0 ? nullptr : objects_[signature_.output_counts_arg];
  if (object == nullptr) {
    return signature_.output_counts;
  }
  std::vector<int32_t> counts;
  const bool is_list = for_each_item(object, /*is_simple=*/false, [&](PyObject* item) {
    int64_t count = 0;
    const bool is_int = to_int32(item, &count);
    counts.push_back(static_cast<int32_t>(count));
    return is_int;
  });
  const OpDef& op = signature_.op();
  if (!is_list) {
    throw Error("ArgumentError",
                "op " + in_quotes(op.name) + ", output_counts: expected a list of ints, found " +
                    found_text(object) + "\n  defined at " + op.source.text(),
                take_exception());
  }
  check_output_counts(op, counts.size());
  return counts;
}

void Binding::check_device() const {
  PyObject* object = signature_.device_arg < 0 ? nullptr : objects_[signature_.device_arg];
  std::string text;
  if (object != nullptr && object != Py_None && !(to_text(object, &text) && text == "cpu")) {
    PyErr_Clear();
    refuse_argument(signature_.op(), ", device: expected \"cpu\", found " + found_text(object));
  }
}

}  // namespace oneop
