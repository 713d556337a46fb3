// op_object.h: the object that Python calls with numpy arrays.
#pragma once

#include <Python.h>

#include "engine/registry/record.h"

namespace oneop {

bool add_op_type(PyObject* module);
PyObject* make_op_object(const OpSlot* slot);  // a new reference, or null with the exception set

}  // namespace oneop
