// Softmax of the rows of a matrix whose elements come from a functor and go to another one: what is
// done before and after it (scales, masks, dropout) needs no memory of its own.
//
//   cuda::softmax::DirectLoad<half, float> load(x, cols);
//   cuda::softmax::DirectStore<float, half> store(y, cols);
//   OF_CUDA_CHECK((cuda::softmax::DispatchSoftmax<decltype(load), decltype(store), float>(
//       stream, load, store, rows, cols)));
//
// A block of threads works on a row. Each element is loaded by one thread, more than once, and
// stored by the same thread after it was loaded: the result may be where the input is.
#ifndef ONEFLOW_CORE_CUDA_SOFTMAX_CUH_
#define ONEFLOW_CORE_CUDA_SOFTMAX_CUH_

#include <cmath>
#include <limits>

#include "oneflow/core/cuda/row_access.cuh"

namespace oneflow ONEOP_HIDDEN {
namespace cuda {
namespace softmax {

using rows::DefaultComputeType;
using rows::DirectFetch;
using rows::DirectLoad;
using rows::DirectStore;
template <class T, int kSize>
using PackType = PackBytes<T, kSize>;
template <class T, int kSize>
using Pack = PackUnion<T, kSize>;

template <bool kIsLog, class Load, class Store, class C>
__global__ void __launch_bounds__(rows::kBlockSize)
    Forward(Load load, Store store, int64_t count, int64_t cols) {
  const C lowest = -std::numeric_limits<C>::infinity();
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    C greatest = lowest;
    for (int64_t col = threadIdx.x; col < cols; col += rows::kBlockSize) {
      greatest = MaxOp<C>()(greatest, rows::LoadOne<C>(load, row, col));
    }
    greatest = BlockAllReduce<MaxOp>(greatest, lowest);
    C sum = 0;
    for (int64_t col = threadIdx.x; col < cols; col += rows::kBlockSize) {
      sum += exp(rows::LoadOne<C>(load, row, col) - greatest);
    }
    sum = BlockAllReduce<SumOp>(sum, C(0));
    const C log_sum = kIsLog ? log(sum) : C(0);
    for (int64_t col = threadIdx.x; col < cols; col += rows::kBlockSize) {
      const C x = rows::LoadOne<C>(load, row, col) - greatest;
      rows::StoreOne<C>(store, kIsLog ? x - log_sum : exp(x) / sum, row, col);
    }
  }
}

template <bool kIsLog, class LoadY, class LoadDy, class Store, class C>
__global__ void __launch_bounds__(rows::kBlockSize)
    Backward(LoadY load_y, LoadDy load_dy, Store store, int64_t count, int64_t cols) {
  for (int64_t row = blockIdx.x; row < count; row += gridDim.x) {
    C sum = 0;
    for (int64_t col = threadIdx.x; col < cols; col += rows::kBlockSize) {
      const C dy = rows::LoadOne<C>(load_dy, row, col);
      sum += kIsLog ? dy : dy * rows::LoadOne<C>(load_y, row, col);
    }
    sum = BlockAllReduce<SumOp>(sum, C(0));
    for (int64_t col = threadIdx.x; col < cols; col += rows::kBlockSize) {
      const C y = rows::LoadOne<C>(load_y, row, col);
      const C dy = rows::LoadOne<C>(load_dy, row, col);
      rows::StoreOne<C>(store, kIsLog ? dy - exp(y) * sum : (dy - sum) * y, row, col);
    }
  }
}

// Sources of 2021 name the type of the elements, later ones that of the computation.
template <class Load, class Store, class T>
cudaError_t DispatchSoftmax(cudaStream_t stream, Load load, Store store, int64_t count,
                            int64_t cols) {
  using C = typename DefaultComputeType<T>::type;
  return rows::Launch(Forward<false, Load, Store, C>, stream, count, cols, load, store);
}
template <class Load, class Store, class T>
cudaError_t DispatchLogSoftmax(cudaStream_t stream, Load load, Store store, int64_t count,
                               int64_t cols) {
  using C = typename DefaultComputeType<T>::type;
  return rows::Launch(Forward<true, Load, Store, C>, stream, count, cols, load, store);
}
template <class LoadY, class LoadDy, class Store, class T>
cudaError_t DispatchSoftmaxGrad(cudaStream_t stream, LoadY load_y, LoadDy load_dy, Store store,
                                int64_t count, int64_t cols) {
  using C = typename DefaultComputeType<T>::type;
  return rows::Launch(Backward<false, LoadY, LoadDy, Store, C>, stream, count, cols, load_y,
                      load_dy, store);
}
template <class LoadY, class LoadDy, class Store, class T>
cudaError_t DispatchLogSoftmaxGrad(cudaStream_t stream, LoadY load_y, LoadDy load_dy, Store store,
                                   int64_t count, int64_t cols) {
  using C = typename DefaultComputeType<T>::type;
  return rows::Launch(Backward<true, LoadY, LoadDy, Store, C>, stream, count, cols, load_y, load_dy,
                      store);
}

}  // namespace softmax
}  // namespace cuda
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_CUDA_SOFTMAX_CUH_
