// function_signature.cpp: names and the type of the results, made once for a signature.
#include "python/functions/function_signature.h"

#include <torch/csrc/Exceptions.h>

#include <string>
#include <utility>

namespace oneop {
namespace {

PyObject* make_tuple_type(const FunctionDef& def) {
  PyObject* module = PyImport_ImportModule("collections");
  PyObject* fields = PyList_New(0);
  for (const std::string& name : def.return_names) {
    PyObject* text = PyUnicode_FromString(name.c_str());
    PyList_Append(fields, text);
    Py_DECREF(text);
  }
  PyObject* type = PyObject_CallMethod(module, "namedtuple", "sO", def.name.c_str(), fields);
  Py_DECREF(fields);
  Py_DECREF(module);
  if (type == nullptr) {
    throw python_error();
  }
  return type;
}

}  // namespace

FunctionSignature::FunctionSignature(FunctionPtr function) : def(std::move(function)) {
  for (const FunctionArg& arg : def->args) {
    names.push_back(PyUnicode_InternFromString(arg.name.c_str()));
    if (!arg.keyword_only) {
      ++num_positional;
    }
  }
  const int32_t first = def->args.empty() ? ONEOP_TYPE_VOID : def->args[0].type;
  packs =
      num_positional == 1 && (first == ONEOP_TYPE_INT32_LIST || first == ONEOP_TYPE_INT64_LIST ||
                              first == ONEOP_TYPE_SHAPE || first == ONEOP_TYPE_TENSOR_TUPLE);
  if (!def->return_names.empty()) {
    tuple_type = make_tuple_type(*def);
  }
}

}  // namespace oneop
