// python_attr.h: attribute values from Python objects.
#pragma once

#include <ATen/core/ivalue.h>
#include <Python.h>

#include "defs.h"

namespace oneop {

// The value for torch's stack. Throws ArgumentError naming op, attribute, expected and found.
c10::IValue attr_from_python(const OpDef& op, const AttrDef& attr, PyObject* object);

// True for torch's symbolic numbers, and lists of them, which only torch can handle.
bool is_symbolic(PyObject* object);

std::string python_type_name(PyObject* object);
std::string found_text(PyObject* object);  // "int 3"

// None where the object is not a list of ints.
c10::IValue list_of_ints(PyObject* object);

}  // namespace oneop
