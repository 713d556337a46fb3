// function_arguments.cpp: the order of the signature, and the quick ways for tensors and floats.
#include "python/functions/function_arguments.h"

#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "python/functions/python_value.h"
#include "python/functions/value_mismatch.h"
#include "torch_host/handles/tensor_handles.h"

namespace oneop {
namespace {

constexpr size_t kInline = 16;

bool fail(std::string* why, const std::string& text) {
  *why = text;
  return false;
}

bool is_single(PyObject* object) {
  return !PyList_Check(object) && !PyTuple_Check(object) && object != Py_None;
}

}  // namespace

bool FunctionArguments::fit(const FunctionSignature& signature, ArgumentValues* values,
                            ValueMemory* memory, std::string* why) const {
  const size_t count = signature.names.size();
  if (num_args_ == count && kwnames_ == nullptr && !signature.packs &&
      count == signature.num_positional) {
    return convert(signature, args_, values, memory, why);  // as they stand
  }
  std::array<PyObject*, kInline> few;
  std::vector<PyObject*> many;
  PyObject** objects = few.data();
  if (count > kInline) {
    many.resize(count);
    objects = many.data();
  }
  std::fill_n(objects, count, nullptr);
  PyObject* packed = nullptr;
  if (num_args_ > signature.num_positional) {
    if (!signature.packs) {
      return why != nullptr && fail(why, too_many(signature));
    }
    packed = PyTuple_New(static_cast<Py_ssize_t>(num_args_));
    for (size_t i = 0; i < num_args_; ++i) {
      PyTuple_SET_ITEM(packed, i, Py_NewRef(args_[i]));
    }
    objects[0] = packed;
  } else {
    for (size_t i = 0; i < num_args_; ++i) {
      objects[i] = args_[i];
    }
    if (signature.packs && num_args_ == 1 && is_single(args_[0])) {
      packed = PyTuple_Pack(1, args_[0]);
      objects[0] = packed;
    }
  }
  const bool fits =
      place_keywords(signature, objects, why) && convert(signature, objects, values, memory, why);
  Py_XDECREF(packed);  // its items are held by the caller
  return fits;
}

PyObject* FunctionArguments::positional() const {
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(num_args_));
  for (size_t i = 0; i < num_args_; ++i) {
    PyTuple_SET_ITEM(tuple, i, Py_NewRef(args_[i]));
  }
  return tuple;
}

PyObject* FunctionArguments::keywords() const {
  PyObject* dict = PyDict_New();
  const Py_ssize_t count = kwnames_ == nullptr ? 0 : PyTuple_GET_SIZE(kwnames_);
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyDict_SetItem(dict, PyTuple_GET_ITEM(kwnames_, k), args_[num_args_ + k]);
  }
  return dict;
}

std::string FunctionArguments::too_many(const FunctionSignature& signature) const {
  for (size_t i = signature.num_positional; i < signature.def->args.size() && i < num_args_; ++i) {
    if (signature.def->args[i].keyword_only) {
      return "argument '" + signature.def->args[i].name + "' is keyword only";
    }
  }
  return "takes " + std::to_string(signature.num_positional) + " positional arguments but " +
         std::to_string(num_args_) + " were given";
}

bool FunctionArguments::place_keywords(const FunctionSignature& signature, PyObject** objects,
                                       std::string* why) const {
  const Py_ssize_t count = kwnames_ == nullptr ? 0 : PyTuple_GET_SIZE(kwnames_);
  for (Py_ssize_t k = 0; k < count; ++k) {
    PyObject* name = PyTuple_GET_ITEM(kwnames_, k);
    size_t at = 0;
    while (at < signature.names.size() && signature.names[at] != name) {
      ++at;
    }
    if (at == signature.names.size()) {  // a name that was not interned
      at = 0;
      while (at < signature.names.size() && PyUnicode_Compare(signature.names[at], name) != 0) {
        ++at;
      }
    }
    if (at == signature.names.size() || objects[at] != nullptr) {
      if (why == nullptr) {
        return false;
      }
      const char* text = PyUnicode_AsUTF8(name);
      return fail(why, at == signature.names.size()
                           ? "got an unexpected keyword argument '" + std::string(text) + "'"
                           : "got multiple values for argument '" + std::string(text) + "'");
    }
    objects[at] = args_[num_args_ + k];
  }
  return true;
}

bool FunctionArguments::convert(const FunctionSignature& signature, PyObject* const* objects,
                                ArgumentValues* values, ValueMemory* memory,
                                std::string* why) const {
  const size_t count = signature.def->args.size();
  const FunctionArg* args = signature.def->args.data();
  values->resize_for_overwrite(count);
  oneop_value* value = values->data();
  for (size_t i = 0; i < count; ++i) {
    PyObject* object = objects[i];
    if (object == nullptr) {
      if (!args[i].has_default) {
        return why != nullptr && fail(why, "missing required argument " + args[i].name);
      }
      value[i] = args[i].default_value;
    } else if (args[i].type == ONEOP_TYPE_TENSOR && THPVariable_CheckExact(object)) {
      value[i].kind = ONEOP_VALUE_TENSOR;
      value[i].value.tensor = borrow_handle(THPVariable_Unpack(object));
    } else if (args[i].type == ONEOP_TYPE_FLOAT && PyFloat_CheckExact(object) &&
               std::abs(PyFloat_AS_DOUBLE(object)) <= std::numeric_limits<float>::max()) {
      value[i].kind = ONEOP_VALUE_FLOAT;
      value[i].value.f = PyFloat_AS_DOUBLE(object);
    } else if (!value_from_python(args[i], object, &value[i], memory)) {
      return why != nullptr && fail(why, mismatch_text(args[i], object));
    }
  }
  return true;
}

}  // namespace oneop
