// custom_ops.h: ops as ONNX Runtime's custom ops.
#pragma once

#include "onnx_host/ort.h"

namespace oneop {

// That of an op; it lives as long as the process.
const ort::CustomOp* custom_op(const oneop_op* op, const char* name);

}  // namespace oneop
