// Memcpy and Memset on a device.
#ifndef ONEFLOW_CORE_KERNEL_NEW_KERNEL_UTIL_H_
#define ONEFLOW_CORE_KERNEL_NEW_KERNEL_UTIL_H_

#include <cstring>

#include "oneflow/core/device/cuda_util.h"
#include "oneflow/core/framework/user_op_tensor.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

// The versions for CUDA exist in files that nvcc compiles.
template <DeviceType device>
inline void Memcpy(ep::Stream*, void* dst, const void* src, size_t bytes) {
  static_assert(device == kCPU, "Memcpy<kCUDA> needs a .cu file");
  if (bytes != 0 && dst != src) {
    std::memcpy(dst, src, bytes);
  }
}
template <DeviceType device>
inline void Memset(ep::Stream*, void* dst, char value, size_t bytes) {
  static_assert(device == kCPU, "Memset<kCUDA> needs a .cu file");
  if (bytes != 0) {
    std::memset(dst, value, bytes);
  }
}

#if defined(__CUDACC__)
template <>
inline void Memcpy<kCUDA>(ep::Stream* stream, void* dst, const void* src, size_t bytes) {
  if (bytes == 0 || dst == src) {
    return;
  }
  OF_CUDA_CHECK(cudaMemcpyAsync(dst, src, bytes, cudaMemcpyDefault, stream->cuda_stream()));
}
template <>
inline void Memset<kCUDA>(ep::Stream* stream, void* dst, char value, size_t bytes) {
  if (bytes == 0) {
    return;
  }
  OF_CUDA_CHECK(cudaMemsetAsync(dst, value, bytes, stream->cuda_stream()));
}
#endif

// Chooses by where the tensor is.
template <class = void>
void AutoMemset(ep::Stream* stream, void* dst, char value, size_t bytes, const MemoryCase& where) {
  if (where.has_host_mem()) {
    Memset<kCPU>(stream, dst, value, bytes);
    return;
  }
#if defined(__CUDACC__)
  Memset<kCUDA>(stream, dst, value, bytes);
#else
  ::oneop::sdk::ThrowText(ONEOP_ERROR_NOT_IMPLEMENTED, {"AutoMemset on a GPU needs a .cu file"});
#endif
}

// Chooses by where the two tensors are.
template <class = void>
void AutoMemcpy(ep::Stream* stream, void* dst, const void* src, size_t bytes,
                const MemoryCase& dst_case, const MemoryCase& src_case) {
  if (dst_case.has_host_mem() && src_case.has_host_mem()) {
    Memcpy<kCPU>(stream, dst, src, bytes);
    return;
  }
#if defined(__CUDACC__)
  Memcpy<kCUDA>(stream, dst, src, bytes);
#else
  ::oneop::sdk::ThrowText(ONEOP_ERROR_NOT_IMPLEMENTED,
                          {"AutoMemcpy between devices needs a .cu file"});
#endif
}
template <class = void>
void AutoMemcpy(ep::Stream* stream, user_op::Tensor* dst, const user_op::Tensor* src) {
  const size_t bytes =
      static_cast<size_t>(src->shape().elem_cnt()) * GetSizeOfDataType(src->data_type());
  AutoMemcpy(stream, dst->mut_raw_dptr(), src->raw_dptr(), bytes, dst->mem_case(), src->mem_case());
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_KERNEL_NEW_KERNEL_UTIL_H_
