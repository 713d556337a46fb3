// python_op.h: the callbacks of ops, kernels and gradients that are written in Python.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include "engine/ops/defs.h"
#include "interpreter/python_ref.h"

namespace oneop {

// Reads the description that oneop.authoring makes of what was registered for one op:
//   library: str
//   op: None or {name, file, line, flags, inputs, outputs, attrs, infer, sbp, flops}
//   kernels: [{op, file, line, language, device, dtypes, priority, when, when_text, ...}]
//   grad, forward: None or {op, file, line, bind, saves}
LibraryDefs read_python(const pybind11::dict& description);

// Each fills in the part of the definition that its kind has; see the files of these names.
void set_python_inference(const pybind11::dict& info, OpDef* op);       // python_infer.cpp
void set_numpy_kernel(const pybind11::dict& info, KernelDef* kernel);   // python_numpy.cpp
void set_tensor_kernel(const pybind11::dict& info, KernelDef* kernel);  // python_tensor.cpp
void set_native_kernel(const pybind11::dict& info, KernelDef* kernel);  // python_native.cpp
void set_python_grad(const pybind11::dict& info, GradDef* grad);        // python_grad.cpp
void set_python_forward(const pybind11::dict& info, ForwardDef* forward);

Source read_source(const pybind11::dict& info, const std::string& library);

// What all kernels of Python ops share. It is the `self` and the kernel object of their callbacks,
// and their owner.
struct PythonKernel {
  virtual ~PythonKernel() = default;
  Source source;
  PyShared function;
  std::vector<Fact> facts;
  PyShared when;  // null: the facts decide

  static PythonKernel* of(void* self) { return static_cast<PythonKernel*>(self); }
};

// Makes `kernel` the owner and sets the callbacks for matching and creation, from `info` and the
// facts.
void set_matching(const pybind11::dict& info, std::shared_ptr<PythonKernel> python, KernelDef* def);

}  // namespace oneop
