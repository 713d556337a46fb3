// The op as jax.ffi wants it.
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

ffi::Error LeakyRelu(float alpha, ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  const float* in = x.typed_data();
  float* out = y->typed_data();
  const size_t count = x.element_count();
  for (size_t i = 0; i < count; ++i) {
    out[i] = in[i] > 0 ? in[i] : alpha * in[i];
  }
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(leaky_relu_handler, LeakyRelu,
                              ffi::Ffi::Bind()
                                  .Attr<float>("alpha")
                                  .Arg<ffi::Buffer<ffi::F32>>()
                                  .Ret<ffi::Buffer<ffi::F32>>());
