// units/python.cpp: a unit of the core's build: functions, kernels and gradients in Python, and
// calls from it.
#include "python/calls/call_binding.cpp"
#include "python/calls/call_entry.cpp"
#include "python/calls/functional.cpp"
#include "python/calls/python_attr.cpp"
#include "python/calls/python_value.cpp"
#include "python/kernels/python_grad.cpp"
#include "python/kernels/python_infer.cpp"
#include "python/kernels/python_native.cpp"
#include "python/kernels/python_numpy.cpp"
#include "python/kernels/python_op.cpp"
#include "python/kernels/python_spec.cpp"
#include "python/kernels/python_tensor.cpp"
