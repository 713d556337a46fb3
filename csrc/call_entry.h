// call_entry.h: the Python object through which ops are called.
#pragma once

#include <Python.h>

#include "torch_op.h"

namespace oneop {

// Makes the type oneop._core.Op. False, with a Python error set, if that fails.
bool add_op_type(PyObject* module);

// A callable for this op. `overload` is torch.ops.oneop.<name>.default, for calls that torch must see itself.
PyObject* make_op_object(const TorchOp* op, PyObject* overload);

}  // namespace oneop
