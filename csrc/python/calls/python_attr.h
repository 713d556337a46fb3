// python_attr.h: attribute values from Python objects.
#pragma once

#include <ATen/core/ivalue.h>
#include <Python.h>

#include "engine/ops/defs.h"
#include "interpreter/objects.h"

namespace oneop {

// The value for torch's stack. Throws ArgumentError naming op, attribute, expected and found.
c10::IValue attr_from_python(const OpDef& op, const AttrDef& attr, PyObject* object);

// The deepest attribute is a list of shapes.
constexpr int kListDepth = 2;

// True for objects of Python's own types, and lists of them, whose conversion runs no code of
// Python and so neither lets go of the GIL nor calls an op.
bool is_simple_attr(PyObject* object, int depth = kListDepth);

// True for torch's symbolic numbers, and lists of them, which only torch can handle.
bool is_symbolic(PyObject* object);

// None where the object is not a list of ints.
c10::IValue list_of_ints(PyObject* object);

}  // namespace oneop
