// A functor of elements as a CUDA kernel, at the speed of the memory.
#ifndef ONEOP_OP_ELEMENTWISE_CUH_
#define ONEOP_OP_ELEMENTWISE_CUH_

#include "oneflow/core/cuda/elementwise.cuh"
#include "oneop/op/elementwise.h"

namespace oneop ONEOP_HIDDEN {
namespace op {

// What the elements of a type are on the GPU.
template <class T>
struct DeviceTypeOf {
  using type = T;
};
template <>
struct DeviceTypeOf<::oneflow::float16> {
  using type = ::half;
};
template <>
struct DeviceTypeOf<::oneflow::bfloat16> {
  using type = ::nv_bfloat16;
};
template <class T>
using OnDevice = typename DeviceTypeOf<T>::type;
template <class T>
using ReadOnDevice = OnDevice<InMemory<T>>;  // an input

// Attribute values in a struct that travels to the GPU.
template <class... V>
struct Packed;
template <>
struct Packed<> {};
template <class First, class... Rest>
struct Packed<First, Rest...> {
  First first;
  Packed<Rest...> rest;
};
inline Packed<> Pack() { return {}; }
template <class First, class... Rest>
Packed<First, Rest...> Pack(First first, Rest... rest) {
  return {first, Pack(rest...)};
}

// A functor with its attributes: what is left takes elements of the device's types.
template <class F, class Ins, class Readers>
struct BoundFunctor;
template <class F, class... A, class... V>
struct BoundFunctor<F, Types<A...>, Types<V...>> {
  using Invoked = Invocation<F, Types<ComputeType<A>...>, Types<V...>>;
  F functor;
  Packed<typename V::type...> attrs;

  __device__ __forceinline__ auto operator()(ReadOnDevice<A>... elements) const {
    return Unpack(attrs, static_cast<ComputeType<A>>(elements)...);
  }

 private:
  template <class... Args>
  __device__ __forceinline__ auto Unpack(const Packed<>&, Args... args) const {
    return Invoked::Call(functor, args...);
  }
  template <class First, class... Rest, class... Args>
  __device__ __forceinline__ auto Unpack(const Packed<First, Rest...>& packed, Args... args) const {
    return Unpack(packed.rest, args..., packed.first);
  }
};
// The same for one result, as the type of the output.
template <class B, class R, class Ins>
struct SingleResult;
template <class B, class R, class... A>
struct SingleResult<B, R, Types<A...>> {
  B bound;
  __device__ __forceinline__ R operator()(ReadOnDevice<A>... elements) const {
    return static_cast<R>(ResultAs<ComputeType<R>>(bound(elements...)));
  }
};

// Several results: a __global__ function takes one parameter pack, so the pointers are packed too.
__device__ __forceinline__ void PutOnDevice(int64_t, const Results<>&, const Packed<>&) {}
template <class First, class... Rest, class R, class... Others>
__device__ __forceinline__ void PutOnDevice(int64_t i, const Results<First, Rest...>& value,
                                            const Packed<R*, Others...>& to) {
  to.first[i] = static_cast<R>(ResultAs<ComputeType<R>>(value.first));
  PutOnDevice(i, value.rest, to.rest);
}
template <class B, class... Elements>
__device__ __forceinline__ auto ApplyAt(const B& bound, int64_t, const Packed<>&,
                                        Elements... elements) {
  return bound(elements...);
}
template <class B, class First, class... Rest, class... Elements>
__device__ __forceinline__ auto ApplyAt(const B& bound, int64_t i,
                                        const Packed<First, Rest...>& from, Elements... elements) {
  return ApplyAt(bound, i, from.rest, elements..., from.first[i]);
}
template <class B, class To, class From>
__global__ void ApplySeveral(B bound, int64_t count, To to, From from) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
       i += step) {
    PutOnDevice(i, ApplyAt(bound, i, from), to);
  }
}

template <class S, class F, class Outs, class Ins, class Readers>
struct CudaElementwiseWork;
template <class S, class F, class... R, class... A, class... V>
struct CudaElementwiseWork<S, F, Types<R...>, Types<A...>, Types<V...>> {
  static constexpr bool kHasTypes = true;
  static void Run(const F& functor, oneop_frame* frame) {
    const int64_t count = CommonCount(frame, S::kSchema.num_inputs + S::kSchema.num_outputs);
    const cudaError_t error =
        RunWith(functor, frame, count, std::index_sequence_for<R...>(),
                std::index_sequence_for<A...>(), std::index_sequence_for<V...>());
    if (error != cudaSuccess) {
      static_cast<void>(cudaGetLastError());  // forget it: the next launch is not to blame
      sdk::ThrowText(ONEOP_ERROR_RUNTIME,
                     {"a CUDA kernel could not be launched: ", cudaGetErrorString(error)});
    }
  }

 private:
  template <class T>
  static T* DataOf(const oneop_frame* frame, int number) {
    return static_cast<T*>(sdk::TensorAt(frame, number)->data);
  }
  template <size_t... O, size_t... I, size_t... K>
  static cudaError_t RunWith(const F& functor, oneop_frame* frame, int64_t count,
                             std::index_sequence<O...>, std::index_sequence<I...>,
                             std::index_sequence<K...>) {
    using Bound = BoundFunctor<F, Types<A...>, Types<V...>>;
    const Bound bound{functor, Pack(V::Read(*sdk::Element(frame->attrs, frame->attr_size, K))...)};
    const cudaStream_t stream = static_cast<cudaStream_t>(frame->stream);
    if constexpr (sizeof...(R) == 1) {
      using Single = SingleResult<Bound, OnDevice<R>..., Types<A...>>;
      using Factory = ::oneflow::cuda::elementwise::SimpleFactory<Single>;
      return ::oneflow::cuda::elementwise::Apply<Factory, OnDevice<R>..., ReadOnDevice<A>...>::Run(
          Factory{Single{bound}}, count, DataOf<OnDevice<R>>(frame, ResultTensor<S>(O))...,
          DataOf<const ReadOnDevice<A>>(frame, I)..., stream);
    } else {
      constexpr int kThreads = 256;
      const int64_t blocks = (count + kThreads - 1) / kThreads;
      const unsigned grid = static_cast<unsigned>(blocks < 65536 ? blocks : 65536);
      ApplySeveral<<<grid == 0 ? 1 : grid, kThreads, 0, stream>>>(
          bound, count, Pack(DataOf<OnDevice<R>>(frame, ResultTensor<S>(O))...),
          Pack(DataOf<const ReadOnDevice<A>>(frame, I)...));
      return cudaPeekAtLastError();
    }
  }
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_ELEMENTWISE_CUH_
