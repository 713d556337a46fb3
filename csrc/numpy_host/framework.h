// framework.h: a framework's ops in gradients, as functions in Python know them.
#pragma once

#include "interpreter/ref.h"
#include "oneop/abi.h"

namespace oneop {

// `num_outputs(name)` returns how many tensors a call returns, -1 where its inputs decide, or None
// where there is no such op; `infer(name, arguments, specs)` the specs of what it returns.
void set_python_framework(PyObject* num_outputs, PyObject* infer);

// ("int", 3), ("blob", 4), ("dtype", "float32"), ...
Ref value_to_python(const oneop_value& value);

}  // namespace oneop
