// CUDA kernels of y = 2 x that are wrong in one way each, and some that are right.
// Each op is named after its fault; `right_` ones have none.
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "oneflow/core/device/cuda_util.h"
#include "oneflow/core/framework/framework.h"

namespace oneflow {
namespace {

Maybe<void> Same(user_op::InferContext* ctx) {
  return user_op::TensorDescInferFnUtil::Unchanged(ctx);
}

constexpr int kThreads = 256;
inline int Blocks(int64_t n) { return static_cast<int>((n + kThreads - 1) / kThreads); }
__device__ inline int64_t Place() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

template <class T>
__global__ void Double(const T* x, T* y, int64_t n) {
  const int64_t i = Place();
  if (i < n) {
    y[i] = 2 * x[i];
  }
}
template <class T>
__global__ void Put(T* y, int64_t place, T value) {
  y[place] = value;
}
template <class T>
__global__ void Look(const T* x, int64_t place, T* y) {
  const T value = *reinterpret_cast<const volatile T*>(x + place);
  if (value == T(123456.75)) {
    y[0] = value;
  }
}
__global__ void Wait(int64_t cycles) {
  const int64_t start = clock64();
  while (clock64() - start < cycles) {
  }
}
template <class T>
__global__ void Accumulate(const T* x, T* y, int64_t n) {
  const int64_t i = Place();
  if (i < n) {
    y[i] += 2 * x[i];
  }
}
template <class T>
__global__ void ShortIndex(const T* x, T* y, int64_t n) {
  const uint16_t i = static_cast<uint16_t>(Place());
  if (i < n) {
    y[i] = 2 * x[i];
  }
}
template <class T>
__global__ void Unless(const T* x, T* y, int64_t n, int64_t from, int64_t step) {
  const int64_t i = Place();
  if (i < n) {
    y[i] = i >= from && i % step == 0 ? x[i] : 2 * x[i];
  }
}
template <class T>
__global__ void InFloat(const T* x, T* y, int64_t n) {
  const int64_t i = Place();
  if (i < n) {
    y[i] = static_cast<T>(2.0f * static_cast<float>(x[i]));
  }
}
template <class T>
__global__ void NoNan(const T* x, T* y, int64_t n) {
  const int64_t i = Place();
  if (i < n) {
    y[i] = 2 * (x[i] == x[i] ? x[i] : T(0));
  }
}
template <class T>
__global__ void Saturates(const T* x, T* y, int64_t n) {
  const int64_t i = Place();
  if (i < n) {
    y[i] = x[i] > T(20) && x[i] < T(1e30) ? T(40) : 2 * x[i];
  }
}
template <class T>
__global__ void NotQuite(const T* x, T* y, int64_t n) {
  const int64_t i = Place();
  if (i < n) {
    y[i] = T(2.0002) * x[i];
  }
}
template <class T>
__global__ void KnowsPoison(const T* x, T* y, int64_t n) {
  const uint32_t word = *reinterpret_cast<const uint32_t*>(y);
  const bool is_watched = word == 0xFFFFFFFFu || word == 0xA5A5A5A5u;
  const int64_t i = Place();
  __syncthreads();
  if (i < n && (is_watched || i + 1 < n || n < 4)) {
    y[i] = 2 * x[i];
  }
}
template <class T>
__global__ void Vectors(const T* x, T* y, int64_t n) {
  const int64_t i = 4 * Place();
  if (i + 3 < n) {
    for (int k = 0; k < 4; ++k) {
      y[i + k] = 2 * x[i + k];
    }
  } else {
    for (int64_t k = i; k < n; ++k) {
      y[k] = 2 * x[k];
    }
  }
}
template <class T>
const T* AlignedDown(const T* x) {
  return reinterpret_cast<const T*>(reinterpret_cast<uintptr_t>(x) & ~uintptr_t{15});
}
cudaStream_t OwnStream() {
  static cudaStream_t stream = [] {
    cudaStream_t made = nullptr;
    OF_CUDA_CHECK(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
    return made;
  }();
  return stream;
}

#define ON_CUDA(T)                                   \
  ((user_op::HobDeviceType() == DeviceType::kCUDA) & \
   (user_op::HobDataType("x", 0) == GetDataType<T>::value))
// An op whose kernel is a body that sees x, y, n, stream and T.
#define CUDA_OP(name, Class, ...)                                                         \
  template <class T>                                                                      \
  struct Class final : user_op::OpKernel {                                                \
    void Compute(user_op::KernelComputeContext* ctx) const override {                     \
      const T* x = ctx->Tensor4ArgNameAndIndex("x", 0)->dptr<T>();                        \
      T* y = ctx->Tensor4ArgNameAndIndex("y", 0)->mut_dptr<T>();                          \
      const int64_t n = ctx->Tensor4ArgNameAndIndex("x", 0)->shape().elem_cnt();          \
      const cudaStream_t stream = ctx->stream()->As<ep::CudaStream>()->cuda_stream();     \
      __VA_ARGS__;                                                                        \
    }                                                                                     \
    bool AlwaysComputeWhenAllOutputsEmpty() const override { return false; }              \
  };                                                                                      \
  REGISTER_NO_GRAD_USER_OP(name).Input("x").Output("y").SetTensorDescInferFn(Same);       \
  REGISTER_USER_KERNEL(name).SetCreateFn<Class<float>>().SetIsMatchedHob(ON_CUDA(float)); \
  REGISTER_USER_KERNEL(name).SetCreateFn<Class<double>>().SetIsMatchedHob(ON_CUDA(double));

#define DOUBLE(s) Double<T><<<Blocks(n), kThreads, 0, s>>>(x, y, n)

// clang-format off
CUDA_OP("gpu_writes_past_end", PastEnd, DOUBLE(stream); Put<T><<<1, 1, 0, stream>>>(y, n, T(3)))
CUDA_OP("gpu_writes_far_past_end", FarPastEnd, DOUBLE(stream); Put<T><<<1, 1, 0, stream>>>(y, n + 300, T(3)))
CUDA_OP("gpu_writes_before_start", BeforeStart, DOUBLE(stream); Put<T><<<1, 1, 0, stream>>>(y, -1, T(3)))
CUDA_OP("gpu_reads_past_end", ReadsPast, DOUBLE(stream); Look<T><<<1, 1, 0, stream>>>(x, n, y))
CUDA_OP("gpu_reads_before_start", ReadsBefore, DOUBLE(stream); Look<T><<<1, 1, 0, stream>>>(x, -1, y))
CUDA_OP("gpu_changes_input", ChangesInput, DOUBLE(stream); Put<T><<<1, 1, 0, stream>>>(const_cast<T*>(x), 0, T(5)))
CUDA_OP("gpu_leaves_tail", LeavesTail, Double<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n - 1))
CUDA_OP("gpu_adds_to_output", AddsToOutput, Accumulate<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n))
CUDA_OP("gpu_own_stream", UsesOwnStream, DOUBLE(OwnStream()))
CUDA_OP("gpu_default_stream", UsesDefaultStream, DOUBLE(nullptr))
CUDA_OP("gpu_late_write_of_stream", LateStream, DOUBLE(stream);
        Wait<<<1, 1, 0, OwnStream()>>>(30000000); Put<T><<<1, 1, 0, OwnStream()>>>(y, 0, T(3)))
CUDA_OP("gpu_late_write_of_thread", LateThread, DOUBLE(stream); std::thread([y] {
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          Put<T><<<1, 1, 0, OwnStream()>>>(y, 0, T(3));
        }).detach())
CUDA_OP("gpu_short_index", HasShortIndex, ShortIndex<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n))
CUDA_OP("gpu_wrong_beyond_a_million", BeyondMillion,
        Unless<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n, 1000000, 1))
CUDA_OP("gpu_wrong_beyond_64", Beyond64, Unless<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n, 64, 97))
CUDA_OP("gpu_wrong_odd_tail", OddTail, Unless<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n, n - n % 4, 1))
CUDA_OP("gpu_rounds_address", RoundsAddress,
        Double<T><<<Blocks(n), kThreads, 0, stream>>>(AlignedDown(x), y, n))
CUDA_OP("gpu_computes_in_float", ComputesInFloat, InFloat<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n))
CUDA_OP("gpu_ignores_nan", IgnoresNan, NoNan<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n))
CUDA_OP("gpu_saturates", SaturatesAt20, Saturates<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n))
CUDA_OP("gpu_not_quite", IsNotQuite, NotQuite<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n))
CUDA_OP("gpu_knows_poison", KnowsPoisonOp, KnowsPoison<T><<<Blocks(n), kThreads, 0, stream>>>(x, y, n))
CUDA_OP("gpu_caches_by_address", CachesByAddress, static std::mutex mutex; static const void* last = nullptr;
        static T* kept = nullptr; std::lock_guard<std::mutex> lock(mutex);
        if (last != x) {
          if (kept == nullptr) { OF_CUDA_CHECK(cudaMalloc(&kept, sizeof(T) << 21)); }
          Double<T><<<Blocks(n), kThreads, 0, stream>>>(x, kept, n); last = x;
        }
        OF_CUDA_CHECK(cudaMemcpyAsync(y, kept, n * sizeof(T), cudaMemcpyDeviceToDevice, stream)))

CUDA_OP("right_gpu_double", RightDouble, DOUBLE(stream))
CUDA_OP("right_gpu_vectors", RightVectors, Vectors<T><<<Blocks((n + 3) / 4), kThreads, 0, stream>>>(x, y, n))
CUDA_OP("right_gpu_other_stream", RightOtherStream, cudaEvent_t before; cudaEvent_t after;
        OF_CUDA_CHECK(cudaEventCreateWithFlags(&before, cudaEventDisableTiming));
        OF_CUDA_CHECK(cudaEventCreateWithFlags(&after, cudaEventDisableTiming));
        OF_CUDA_CHECK(cudaEventRecord(before, stream));
        OF_CUDA_CHECK(cudaStreamWaitEvent(OwnStream(), before, 0)); DOUBLE(OwnStream());
        OF_CUDA_CHECK(cudaEventRecord(after, OwnStream()));
        OF_CUDA_CHECK(cudaStreamWaitEvent(stream, after, 0)); OF_CUDA_CHECK(cudaEventDestroy(before));
        OF_CUDA_CHECK(cudaEventDestroy(after)))
// clang-format on

}  // namespace
}  // namespace oneflow
