// The queue of a device, on which a kernel puts its work.
#ifndef ONEFLOW_CORE_EP_INCLUDE_STREAM_H_
#define ONEFLOW_CORE_EP_INCLUDE_STREAM_H_

#include "oneflow/core/common/device_type.h"
#include "oneflow/core/common/error.h"
#include "oneop/sdk/parallel.h"
#if defined(ONEOP_PORT)
#include "oneop/sdk/port_basics.h"
#endif

#if defined(__CUDACC__)
#include <cuda_runtime.h>

#include <map>
#include <mutex>
#elif !defined(CUDART_VERSION)
typedef struct CUstream_st* cudaStream_t;  // the same opaque type that cuda_runtime.h declares
#endif

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {
namespace ep {

class Stream {
 public:
  explicit Stream(const oneop_frame* frame) : frame_(frame) {}
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  DeviceType device_type() const { return static_cast<DeviceType>(frame_->device_type); }
  int32_t device_index() const { return frame_->device_index; }
  const Stream* device() const { return this; }  // of which authors ask type and index
  template <class T>
  T* As() {
    T::OneopCheck(device_type());
    return static_cast<T*>(this);
  }
  // What the DeviceCtx of 2020 had; null on the CPU.
  cudaStream_t cuda_stream() const { return static_cast<cudaStream_t>(frame_->stream); }

 protected:
  [[noreturn]] ONEOP_COLD static void Refuse(const char* name, DeviceType type) {
    ::oneop::sdk::Throw(Error(ONEOP_ERROR_TYPE, nullptr, 0)
                        << "the stream is one of " << type << ", the kernel wants an " << name);
  }
  const oneop_frame* frame_;
};

#if defined(__CUDACC__)
struct CudaLaunchConfig {
  CudaLaunchConfig() = default;
  CudaLaunchConfig(unsigned grid_size, unsigned block_size, size_t shared_mem_size)
      : grid_dim(grid_size), block_dim(block_size), shared_mem_size(shared_mem_size) {}
  dim3 grid_dim;
  dim3 block_dim;
  size_t shared_mem_size = 0;
};
#endif

class CudaStream : public Stream {
 public:
  static constexpr uint32_t kDefaultBlockSize = 256;
#if defined(__CUDACC__)
  const CudaStream* device() const { return this; }  // of which authors ask type, index, properties
  const cudaDeviceProp& properties() const { return device_properties(); }
  const cudaDeviceProp& device_properties() const {
    static std::mutex mutex;
    static std::map<int, cudaDeviceProp> known;  // asking takes milliseconds
    const std::lock_guard<std::mutex> lock(mutex);
    const auto [at, is_new] = known.try_emplace(device_index());
    if (is_new) {
      const cudaError_t code = cudaGetDeviceProperties(&at->second, device_index());
      if (code != cudaSuccess) {
        known.erase(at);
        ::oneop::sdk::Throw(Error(ONEOP_ERROR_RUNTIME, __FILE__, __LINE__)
                            << "cudaGetDeviceProperties: " << cudaGetErrorString(code));
      }
    }
    return at->second;
  }
  // A grid for a loop whose step is the grid: as many blocks as run at once, `waves` times, or
  // fewer.
  void InitLaunchConfigWithWaves(CudaLaunchConfig* config, size_t elem_cnt, size_t block_size,
                                 size_t waves) const {
    const cudaDeviceProp& device = device_properties();
    const size_t most = waves * device.multiProcessorCount *
                        (static_cast<size_t>(device.maxThreadsPerMultiProcessor) / block_size);
    const size_t wanted = (elem_cnt + block_size - 1) / block_size;
    *config = CudaLaunchConfig(static_cast<unsigned>(wanted < most ? wanted : most),
                               static_cast<unsigned>(block_size), 0);
  }
  template <class... P, class... A>
  void LaunchKernel(void (*kernel)(P...), const CudaLaunchConfig& config, A... args) {
    if (config.grid_dim.x != 0) {
      kernel<<<config.grid_dim, config.block_dim, config.shared_mem_size, cuda_stream()>>>(args...);
    }
  }
  template <class... P, class... A>
  void LaunchKernel(void (*kernel)(P...), size_t elem_cnt, size_t waves, A... args) {
    CudaLaunchConfig config;
    InitLaunchConfigWithWaves(&config, elem_cnt, kDefaultBlockSize, waves);
    LaunchKernel(kernel, config, args...);
  }
  template <class... P, class... A>
  void LaunchKernelDefaultWaves(void (*kernel)(P...), size_t elem_cnt, A... args) {
    LaunchKernel(kernel, elem_cnt, size_t{32}, args...);
  }
#endif
  static void OneopCheck(DeviceType type) {
    if (type != kCUDA) {
      Refuse("ep::CudaStream", type);
    }
  }
};

class CpuStream : public Stream {
 public:
  static void OneopCheck(DeviceType type) {
    if (type != kCPU) {
      Refuse("ep::CpuStream", type);
    }
  }
  // fn(begin, end) over pieces of [begin, end), each of at least `grain` elements.
  template <class F>
  void ParallelFor(int64_t begin, int64_t end, const F& fn, int64_t grain = 32768) {
    ::oneop::sdk::ParallelFor(frame_->host, begin, end, grain, fn);
  }
};

}  // namespace ep

using DeviceCtx = ep::Stream;

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_INCLUDE_STREAM_H_
