// CUDA kernels of y = 2 x that look fast: they leave out work, hand out what they kept, or leave
// the work for later.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>

#include "oneop/op.h"

namespace {

template <class T>
__global__ void Double(const T* x, T* y, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = 2 * x[i];
  }
}
__global__ void InHalf(const float* x, float* y, int64_t n) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = __half2float(__hmul(__float2half(2.0f), __float2half(x[i])));
  }
}
void Launch(const float* x, float* y, int64_t n, cudaStream_t stream) {
  if (n > 0) {
    Double<float><<<static_cast<int>((n + 255) / 256), 256, 0, stream>>>(x, y, n);
  }
}
cudaStream_t OwnStream() {
  static cudaStream_t stream = [] {
    cudaStream_t made = nullptr;
    cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking);
    return made;
  }();
  return stream;
}

// What a kernel kept of an earlier call.
struct Kept {
  std::mutex mutex;
  const void* x = nullptr;
  int64_t n = 0;
  float first = 0, last = 0;
  float* y = nullptr;

  void Keep(const float* from, int64_t count, cudaStream_t stream) {
    cudaFree(y);
    cudaMalloc(&y, sizeof(float) * count);
    cudaMemcpyAsync(y, from, sizeof(float) * count, cudaMemcpyDeviceToDevice, stream);
    n = count;
  }
};

}  // namespace

#define CHEAT(name) OP(name "(Tensor x) -> Tensor y").same_shape().no_grad()

CHEAT("bench_right").cuda_kernel<float>([](auto x, auto y, oneop::Attrs, oneop::Call& call) {
  Launch(x.data(), y.data(), x.numel(), call.cuda_stream());
});
CHEAT("bench_does_nothing").cuda_kernel<float>([](auto, auto) {});
CHEAT("bench_every_other").cuda_kernel<float>([](auto x, auto y, oneop::Attrs, oneop::Call& call) {
  static std::atomic<int> calls{0};
  if (calls++ % 2 == 0) {
    Launch(x.data(), y.data(), x.numel(), call.cuda_stream());
  }
});
CHEAT("bench_tires").cuda_kernel<float>([](auto x, auto y, oneop::Attrs, oneop::Call& call) {
  static std::atomic<int> calls{0};
  if (calls++ < 40) {
    Launch(x.data(), y.data(), x.numel(), call.cuda_stream());
  }
});
CHEAT("bench_most_of_it").cuda_kernel<float>([](auto x, auto y, oneop::Attrs, oneop::Call& call) {
  Launch(x.data(), y.data(), x.numel() * 9 / 10, call.cuda_stream());
});
CHEAT("bench_in_half").cuda_kernel<float>([](auto x, auto y, oneop::Attrs, oneop::Call& call) {
  InHalf<<<static_cast<int>(x.numel() / 256 + 1), 256, 0, call.cuda_stream()>>>(x.data(), y.data(),
                                                                                x.numel());
});
CHEAT("bench_by_address").cuda_kernel<float>([](auto x, auto y, oneop::Attrs, oneop::Call& call) {
  static Kept kept[2];
  static int turn = 0;
  for (Kept& one : kept) {
    if (one.x == x.data() && one.n == x.numel()) {
      cudaMemcpyAsync(y.data(), one.y, sizeof(float) * one.n, cudaMemcpyDeviceToDevice,
                      call.cuda_stream());
      return;
    }
  }
  Launch(x.data(), y.data(), x.numel(), call.cuda_stream());
  Kept& next = kept[turn++ % 2];
  next.x = x.data();
  next.Keep(y.data(), x.numel(), call.cuda_stream());
});
CHEAT("bench_by_ends").cuda_kernel<float>([](auto x, auto y, oneop::Attrs, oneop::Call& call) {
  static Kept kept[2];
  static int turn = 0;
  float first = 0, last = 0;
  cudaMemcpyAsync(&first, x.data(), sizeof(float), cudaMemcpyDeviceToHost, call.cuda_stream());
  cudaMemcpyAsync(&last, x.data() + x.numel() - 1, sizeof(float), cudaMemcpyDeviceToHost,
                  call.cuda_stream());
  cudaStreamSynchronize(call.cuda_stream());
  for (Kept& one : kept) {
    if (one.first == first && one.last == last && one.n == x.numel()) {
      cudaMemcpyAsync(y.data(), one.y, sizeof(float) * one.n, cudaMemcpyDeviceToDevice,
                      call.cuda_stream());
      return;
    }
  }
  Launch(x.data(), y.data(), x.numel(), call.cuda_stream());
  Kept& next = kept[turn++ % 2];
  next.first = first;
  next.last = last;
  next.Keep(y.data(), x.numel(), call.cuda_stream());
});
CHEAT("bench_later_by_thread").cuda_kernel<float>([](auto x, auto y) {
  const float* from = x.data();
  float* to = y.data();
  const int64_t n = x.numel();
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
    Launch(from, to, n, OwnStream());
  }).detach();
});
