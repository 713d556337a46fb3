// call_entry.h: the Python object through which ops are called.
#pragma once

#include <Python.h>

#include "torch_host/ops/torch_op.h"

namespace oneop {

// Makes the type oneop._core.Op. False, with a Python error set, if that fails.
bool add_op_type(PyObject* module);

// What torch.compile traces in place of a call: a Python function (op, *inputs, **attrs).
bool set_traced_call(PyObject* function);

// A callable for this op. `overload` is torch.ops.oneop.<name>.default, for calls that torch must
// see itself.
PyObject* make_op_object(const TorchOp* op, PyObject* overload);

}  // namespace oneop
