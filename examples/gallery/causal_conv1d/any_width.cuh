// Convolutions of a width that is not compiled: a thread for each element, which goes through the
// weights. op.cu includes this file, and has what it uses.
#pragma once

template <class T>
struct AnyWidth {
  Conv<T> conv;
  // The sum before the activation, at a place of a row.
  __device__ __forceinline__ gallery::Compute<T> Sum(int64_t row, int64_t t) const {
    using C = gallery::Compute<T>;
    const int64_t c = gallery::Divided(row, conv.channels).rest;
    const T* from = conv.x + row * conv.length;
    C sum = static_cast<C>(conv.bias[c]);
    for (int64_t j = 0; j < conv.width; ++j) {
      sum += static_cast<C>(conv.w[c * conv.width + j]) * conv.At(from, t - conv.width + 1 + j);
    }
    return sum;
  }
  __device__ __forceinline__ void operator()(int64_t i) const {
    const gallery::Divided place(i, conv.length);
    conv.to[i] = static_cast<T>(conv.Activated(Sum(place.quotient, place.rest)));
  }
};

// The gradient before the activation.
template <class T>
struct AnyWidthInner {
  using C = gallery::Compute<T>;
  Conv<T> conv;
  C* inner;
  __device__ __forceinline__ void operator()(int64_t i) const {
    const gallery::Divided place(i, conv.length);
    const C d = static_cast<C>(conv.dy[i]);
    inner[i] =
        conv.silu ? conv.BeforeActivation(AnyWidth<T>{conv}.Sum(place.quotient, place.rest), d) : d;
  }
};

template <class T>
struct AnyWidthDx {
  using C = gallery::Compute<T>;
  Conv<T> conv;
  const C* inner;
  __device__ __forceinline__ void operator()(int64_t i) const {
    const gallery::Divided place(i, conv.length);
    const int64_t c = gallery::Divided(place.quotient, conv.channels).rest;
    C sum = 0;
    for (int64_t j = 0; j < conv.width && place.rest + j < conv.length; ++j) {
      sum += static_cast<C>(conv.w[c * conv.width + conv.width - 1 - j]) * inner[i + j];
    }
    conv.to[i] = static_cast<T>(sum);
  }
};

// A block for each weight, and one for the bias of each channel.
template <class T>
__global__ void __launch_bounds__(256)
    AnyWidthSums(const Conv<T> conv, int64_t batch, const gallery::Compute<T>* inner, T* dw,
                 T* dbias) {
  using C = gallery::Compute<T>;
  for (int64_t number = blockIdx.x; number < conv.channels * (conv.width + 1);
       number += gridDim.x) {
    const int64_t c = number / (conv.width + 1), j = number % (conv.width + 1);
    C sum = 0;
    for (int64_t i = threadIdx.x; i < batch * conv.length; i += blockDim.x) {
      const gallery::Divided place(i, conv.length);
      const int64_t start = (place.quotient * conv.channels + c) * conv.length;
      const C g = inner[start + place.rest];
      sum += j == conv.width ? g : g * conv.At(conv.x + start, place.rest - conv.width + 1 + j);
    }
    sum = device::BlockGroup::AllReduce(sum, C(0), [](C a, C b) { return a + b; });
    if (threadIdx.x == 0) {
      (j == conv.width ? dbias[c] : dw[c * conv.width + j]) = static_cast<T>(sum);
    }
  }
}

template <class T>
void AnyWidthGrad(const Conv<T>& conv, int64_t batch, T* dw, T* dbias, Call& call) {
  using C = gallery::Compute<T>;
  const int64_t count = batch * conv.channels * conv.length;
  C* inner = call.scratch<C>(count);
  gallery::ForEach(AnyWidthInner<T>{conv, inner}, count, call.cuda_stream());
  gallery::ForEach(AnyWidthDx<T>{conv, inner}, count, call.cuda_stream());
  if (const int64_t sums = conv.channels * (conv.width + 1)) {
    AnyWidthSums<T>
        <<<device::GridFor(sums, 1), 256, 0, call.cuda_stream()>>>(conv, batch, inner, dw, dbias);
    device::CheckLaunch();
  }
}
