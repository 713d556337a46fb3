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

class CudaStream : public Stream {
 public:
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
