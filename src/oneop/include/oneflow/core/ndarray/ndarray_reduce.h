// NdarrayReduce: y has one element where x has several.
#ifndef ONEFLOW_CORE_NDARRAY_NDARRAY_REDUCE_H_
#define ONEFLOW_CORE_NDARRAY_NDARRAY_REDUCE_H_

#include "oneflow/core/ndarray/binary_func.h"
#include "oneflow/core/ndarray/xpu_var_ndarray.h"
#include "oneop/sdk/cpu/nd_loop.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// fold(accumulator, x) of elements at `steps` from each other. Several accumulators break the chain
// of dependent additions, so that the compiler may use vectors, and keep the rounding error small.
template <class A, class T, class F>
A Fold(const T* x, int64_t count, int64_t step, A unit, const F& fold) {
  constexpr int64_t kLanes = 16, kBlock = 1024;
  if (count > 2 * kBlock) {  // halves: the error of a sum grows with the depth, not the length
    const int64_t half = count / 2 / kBlock * kBlock;
    return fold(Fold(x, half, step, unit, fold),
                Fold(x + half * step, count - half, step, unit, fold));
  }
  A lanes[kLanes];
  for (A& lane : lanes) {
    lane = unit;
  }
  int64_t i = 0;
  if (step == 1) {
    for (; i + kLanes <= count; i += kLanes) {
      for (int64_t k = 0; k != kLanes; ++k) {
        lanes[k] = fold(lanes[k], static_cast<A>(x[i + k]));
      }
    }
  }
  for (; i < count; ++i) {
    lanes[0] = fold(lanes[0], static_cast<A>(x[i * step]));
  }
  for (int64_t width = kLanes / 2; width != 0; width /= 2) {
    for (int64_t k = 0; k != width; ++k) {
      lanes[k] = fold(lanes[k], lanes[k + width]);
    }
  }
  return lanes[0];
}

// For each element of y, the fold over the dimensions in which y has one element and x several.
// long: its loops share their sizes and strides
template <class A, class R, class T, class F>
void ReduceTo(const oneflow::Shape& y_shape, R* y, const oneflow::Shape& x_shape, const T* x,
              A unit, const F& fold) {
  const int64_t ndim = x_shape.NumAxes();
  NdLoop<1> reduced;
  NdLoop<2> kept;
  int64_t x_step = 1, y_step = 1;
  oneflow::DimVector x_steps(static_cast<size_t>(ndim)), y_steps(static_cast<size_t>(ndim));
  for (int64_t i = ndim; i-- > 0;) {
    x_steps[i] = x_step;
    y_steps[i] = y_step;
    x_step *= x_shape.At(i);
    y_step *= y_shape.At(i);
  }
  for (int64_t i = 0; i != ndim; ++i) {
    if (y_shape.At(i) == x_shape.At(i)) {
      kept.Add(x_shape.At(i), {x_steps[i], y_steps[i]});
    } else {
      CHECK_EQ(y_shape.At(i), 1);
      reduced.Add(x_shape.At(i), {x_steps[i]});
    }
  }
  const bool is_empty = reduced.Count() == 0;
  reduced.Simplify();
  if (reduced.ndim == 0) {
    reduced.Add(1, {1});
  }
  const int64_t rows = reduced.Count() / (is_empty ? 1 : reduced.dims[reduced.ndim - 1]);
  const int64_t row = reduced.dims[reduced.ndim - 1], step = reduced.strides[0][reduced.ndim - 1];
  const auto offset_of = [&](int64_t number) {
    int64_t offset = 0;
    for (int64_t i = reduced.ndim - 1; i-- > 0; number /= reduced.dims[i]) {
      offset += number % reduced.dims[i] * reduced.strides[0][i];
    }
    return offset;
  };
  kept.Run([&](const int64_t (&at)[2], int64_t count, const int64_t (&steps)[2]) {
    constexpr int64_t kWidth = 64;
    // Neighbours in x that belong to different elements of y: fold rows of them side by side.
    if (steps[0] == 1 && steps[1] == 1 && step != 1 && !is_empty) {
      for (int64_t begin = 0; begin < count; begin += kWidth) {
        const int64_t width = count - begin < kWidth ? count - begin : kWidth;
        A sums[kWidth];
        for (int64_t k = 0; k != kWidth; ++k) {
          sums[k] = unit;
        }
        for (int64_t r = 0; r != rows; ++r) {
          const T* from = x + at[0] + begin + offset_of(r);
          for (int64_t i = 0; i != row; ++i, from += step) {
            for (int64_t k = 0; k != width; ++k) {
              sums[k] = fold(sums[k], static_cast<A>(from[k]));
            }
          }
        }
        for (int64_t k = 0; k != width; ++k) {
          y[at[1] + begin + k] = static_cast<R>(sums[k]);
        }
      }
      return;
    }
    for (int64_t i = 0; i != count; ++i) {
      A sum = unit;
      for (int64_t r = 0; !is_empty && r != rows; ++r) {
        sum = fold(sum, Fold(x + at[0] + i * steps[0] + offset_of(r), row, step, unit, fold));
      }
      y[at[1] + i * steps[1]] = static_cast<R>(sum);
    }
  });
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

template <DeviceType device_type, class T, template <class> class BinaryFunc>
struct NdarrayReduce {
  static_assert(device_type == kCPU, "NdarrayReduce<kCUDA> needs a .cu file");
  using RetT = typename BinaryFuncTrait<BinaryFunc, T>::return_type;
  // A logical one may give the int8_t of older sources.
  template <class R, class Tmp>
  static void Reduce(ep::Stream*, const XpuVarNdarray<R>& y, const XpuVarNdarray<const T>& x,
                     const Tmp& /*tmp_storage*/) {
    CHECK_EQ(y.shape().NumAxes(), x.shape().NumAxes());
    if constexpr (std::is_same_v<RetT, T>) {
      using A = typename ::oneop::sdk::AccumulatorOf<T>::type;
      ::oneop::sdk::ReduceTo<A>(y.shape(), y.ptr(), x.shape(), x.ptr(),
                                UnitOfBinaryFunc<A, BinaryFunc>::Val(),
                                [](A a, A b) { return BinaryFunc<A>::Invoke(a, b); });
    } else {
      ::oneop::sdk::ReduceTo<bool>(y.shape(), y.ptr(), x.shape(), x.ptr(),
                                   UnitOfBinaryFunc<bool, BinaryFunc>::Val(),
                                   [](bool a, bool b) { return BinaryFunc<bool>::Invoke(a, b); });
    }
  }
};

}  // namespace oneflow ONEOP_HIDDEN

#if defined(__CUDACC__)
#include "oneflow/core/ndarray/ndarray_util.h"  // which has those for CUDA
#endif

#endif  // ONEFLOW_CORE_NDARRAY_NDARRAY_REDUCE_H_
