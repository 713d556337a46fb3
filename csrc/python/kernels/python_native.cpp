// python_native.cpp: kernels compiled from Python to C functions (numba); a call of one runs no
// Python.
#include <c10/util/SmallVector.h>

#include "python/kernels/python_op.h"
#include "python/kernels/python_spec.h"

namespace py = pybind11;

namespace oneop {
namespace {

// What a compiled kernel takes: the tensors' memory and sizes, inputs first, then its scalar
// attributes. Not 0: it raised.
using NativeFn = int32_t (*)(void* const* data, const int64_t* const* shapes, const int64_t* ints,
                             const double* floats);

struct NativeKernel final : PythonKernel {
  std::vector<std::string> attrs;  // scalars, passed at each call
};

struct Compiled {
  NativeFn function = nullptr;
  std::vector<const int64_t*> shapes;
  std::vector<int64_t> ints;   // one for each attribute; only one of
  std::vector<double> floats;  // the two has its value
};

int32_t create_cache_native(void* self, oneop_frame* frame, void** cache, oneop_status* status) {
  const auto& kernel = static_cast<const NativeKernel&>(*PythonKernel::of(self));
  auto compiled = std::make_unique<Compiled>();
  for (int32_t i = 0; i < frame->num_input_tensors + frame->num_output_tensors; ++i) {
    compiled->shapes.push_back(frame->tensors[i].shape);  // of the plan, which outlives this
  }
  for (const std::string& name : kernel.attrs) {
    for (int32_t i = 0; i < frame->num_attrs; ++i) {
      const oneop_attr& attr = frame->attrs[i];
      if (name != attr.name) {
        continue;
      }
      const bool is_float = attr.type == ONEOP_ATTR_FLOAT || attr.type == ONEOP_ATTR_DOUBLE;
      compiled->ints.push_back(is_float ? 0 : attr.value.i);
      compiled->floats.push_back(is_float ? attr.value.f : 0);
    }
  }
  Gil gil;
  try {
    const py::handle compile(kernel.function.get());
    const py::object address = compile(specs_to_python(*frame, frame->inputs, frame->num_inputs),
                                       specs_to_python(*frame, frame->outputs, frame->num_outputs),
                                       attrs_to_python(*frame));
    compiled->function = reinterpret_cast<NativeFn>(py::cast<uintptr_t>(address));
    *cache = compiled.release();
    return ONEOP_OK;
  } catch (py::error_already_set& raised) {
    raised.restore();
    return report_raised(status, kernel.source);
  }
}

void destroy_cache_native(void* cache) { delete static_cast<Compiled*>(cache); }

int32_t compute_native(void*, oneop_frame* frame, void*, const void* cache, oneop_status* status) {
  const auto& compiled = *static_cast<const Compiled*>(cache);
  c10::SmallVector<void*, 12> data;
  for (size_t i = 0; i < compiled.shapes.size(); ++i) {
    data.push_back(frame->tensors[i].data);
  }
  if (compiled.function(data.data(), compiled.shapes.data(), compiled.ints.data(),
                        compiled.floats.data()) == 0) {
    return ONEOP_OK;
  }
  return Status::fail(
      status, ONEOP_ERROR_RUNTIME,
      "the compiled function raised an exception\n  call it without numba to see which: "
      "its .py_func, or NUMBA_DISABLE_JIT=1");
}

}  // namespace

void set_native_kernel(const py::dict& info, KernelDef* def) {
  auto kernel = std::make_shared<NativeKernel>();
  kernel->attrs = py::cast<std::vector<std::string>>(info["attrs"]);
  def->abi.create_cache = &create_cache_native;
  def->abi.destroy_cache = &destroy_cache_native;
  def->abi.compute = &compute_native;
  set_matching(info, std::move(kernel), def);
}

}  // namespace oneop
