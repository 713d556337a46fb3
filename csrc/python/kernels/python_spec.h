// python_spec.h: attributes, shapes and dtypes as Python objects. All functions want the GIL.
#pragma once

#include <c10/core/ScalarType.h>
#include <torch/csrc/utils/pybind.h>

#include "torch_host/calls/calls.h"

namespace oneop {

// Numbers, strings, torch dtypes, and tuples of them. A dtype that was never set is None.
pybind11::object to_python(const oneop_attr& attr);
pybind11::object to_python(const AttrValue& value);
pybind11::object dtype_to_python(int32_t dtype);

// {name: value} of all attributes.
pybind11::dict attrs_to_python(const oneop_frame& frame);
pybind11::dict attrs_to_python(const Layout& layout, const c10::IValue* args);

// The tensors of each argument as [(shape, dtype), ...].
pybind11::list specs_to_python(const oneop_frame& frame, const oneop_arg* args, int32_t count);
pybind11::list specs_to_python(const CallTensors& call);  // sizes may be symbolic

}  // namespace oneop
