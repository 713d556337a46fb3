// output_memory.cpp: which allocator gives the memory of an output.
#include "torch_host/compute/output_memory.h"

#include <ATen/EmptyTensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>

#include "torch_host/memory/host_cache.h"
#include "torch_host/memory/small_cache.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {

at::Tensor allocate_output(const oneop_tensor& output, c10::Device device) {
  const c10::IntArrayRef sizes(output.shape, output.ndim);
  const c10::ScalarType dtype = to_torch(output.dtype);
  if (device.is_cpu()) {
    const size_t bytes = output.elem_cnt * c10::elementSize(dtype);
    constexpr c10::DispatchKeySet cpu(c10::DispatchKey::CPU);
    if (bytes - 1 < kSmallCacheMaximum) {  // not for 0, which wraps
      return at::detail::empty_generic(sizes, small_cache(), cpu, dtype, std::nullopt);
    }
    if (bytes < kHostCacheMinimum) {
      return at::detail::empty_cpu(sizes, dtype);
    }
    return at::detail::empty_generic(sizes, host_cache(), cpu, dtype, std::nullopt);
  }
  if (device.is_cuda()) {  // what at::empty comes to, without the dispatcher; the device is current
    constexpr c10::DispatchKeySet cuda(c10::DispatchKey::CUDA);
    return at::detail::empty_generic(sizes, c10::GetAllocator(c10::kCUDA), cuda, dtype,
                                     std::nullopt);
  }
  return at::empty(sizes, at::TensorOptions().dtype(dtype).device(device));
}

void shrink(const oneop_tensor& largest, const std::vector<int64_t>& shape, at::Tensor* output) {
  if (largest.is_dynamic == 0 || output->sizes() == c10::IntArrayRef(shape)) {
    return;
  }
  const size_t before = output->nbytes();
  output->unsafeGetTensorImpl()->set_sizes_contiguous(shape);
  if (2 * output->nbytes() < before) {
    *output = output->clone();
  } else {
    output->unsafeGetTensorImpl()->unsafe_storage().set_nbytes(output->nbytes());
  }
}

}  // namespace oneop
