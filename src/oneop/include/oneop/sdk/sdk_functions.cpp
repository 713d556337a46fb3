// The functions of the SDK's headers that are no templates; config.h says why. Headers are named
// without their folders: that is how GCC compares them.
#pragma implementation "attr_value.h"
#pragma implementation "batch_axis_context.h"
#pragma implementation "check.h"
#pragma implementation "compute_complexity_fn_context.h"
#pragma implementation "context.h"
#pragma implementation "cuda_util.h"
#pragma implementation "data_type.h"
#pragma implementation "device.h"
#pragma implementation "device_type.h"
#pragma implementation "error.h"
#pragma implementation "float16.h"
#pragma implementation "frame.h"
#pragma implementation "function.h"
#pragma implementation "guard.h"
#pragma implementation "infer_util.h"
#pragma implementation "kept.h"
#pragma implementation "library.h"
#pragma implementation "maybe.h"
#pragma implementation "new_kernel_util.h"
#pragma implementation "op_kernel.h"
#pragma implementation "parallel.h"
#pragma implementation "ref.h"
#pragma implementation "sbp.h"
#pragma implementation "sbp_context.h"
#pragma implementation "shape.h"
#pragma implementation "shape_vec.h"
#pragma implementation "stream.h"
#pragma implementation "tensor_desc.h"
#pragma implementation "text.h"
#pragma implementation "user_op_conf.h"
#pragma implementation "user_op_grad_registry.h"
#pragma implementation "user_op_hob.h"
#pragma implementation "user_op_kernel_registry.h"
#pragma implementation "user_op_registry.h"
#pragma implementation "user_op_tensor.h"
#pragma implementation "util.h"

#include <new>

#include "oneflow/core/framework/framework.h"

// GCC defines a constructor that nobody wrote where a source first uses it, also under
// `#pragma implementation`. A library whose code is not inlined (-O0, -Os, -Og) expects it here, so
// here are used those that the functions above do not use. tests/build/test_sdk_functions.py looks
// for others.
namespace {

struct Kernel : oneflow::user_op::OpKernel {
  Kernel() {}
};

[[gnu::used]] void UseImplicitConstructors(void* memory, const oneflow::user_op::TensorDesc& desc) {
  new (memory) oneflow::MutShapeView();
  new (memory) oneflow::NdSbp();
  new (memory) oneflow::ParallelDesc();
  new (memory) oneflow::Shape();
  new (memory) oneflow::ShapeView();
  new (memory) oneflow::Stream();
  new (memory) oneflow::user_op::TensorDesc();
  new (memory) oneflow::user_op::TensorDesc(desc);
}

}  // namespace
