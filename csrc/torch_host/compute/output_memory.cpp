// output_memory.cpp: which allocator gives the memory of an output.
#include "torch_host/compute/output_memory.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/core/CPUAllocator.h>

#include "torch_host/memory/host_cache.h"
#include "torch_host/memory/small_cache.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

// What at::detail::empty_generic makes, without what it does again: inference's shapes were checked
// (Frame::check_outputs), and their bytes are known. At least one byte.
at::Tensor make_on_cpu(c10::IntArrayRef sizes, c10::ScalarType dtype, size_t bytes,
                       c10::Allocator* allocator) {
  auto storage = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), bytes,
                                                       allocator->allocate(bytes), allocator,
                                                       /*resizable=*/true);
  constexpr c10::DispatchKeySet cpu(c10::DispatchKey::CPU);
  at::Tensor tensor = at::detail::make_tensor<c10::TensorImpl>(
      c10::Storage(std::move(storage)), cpu, c10::scalarTypeToTypeMeta(dtype));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return tensor;
}

}  // namespace

at::Tensor allocate_output(const oneop_tensor& output, c10::Device device) {
  const c10::IntArrayRef sizes(output.shape, output.ndim);
  const c10::ScalarType dtype = to_torch(output.dtype);
  if (device.is_cpu()) {
    const size_t bytes = output.elem_cnt * c10::elementSize(dtype);
    if (bytes == 0 || dtype == c10::ScalarType::ComplexHalf) {  // of which torch warns
      return at::detail::empty_cpu(sizes, dtype);
    }
    c10::Allocator* allocator = bytes <= kSmallCacheMaximum ? small_cache()
                                : bytes < kHostCacheMinimum ? c10::GetCPUAllocator()
                                                            : host_cache();
    return make_on_cpu(sizes, dtype, bytes, allocator);
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
