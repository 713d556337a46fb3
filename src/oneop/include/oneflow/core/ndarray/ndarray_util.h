// NdarrayUtil: element-wise functions with broadcasting, and reductions.
#ifndef ONEFLOW_CORE_NDARRAY_NDARRAY_UTIL_H_
#define ONEFLOW_CORE_NDARRAY_NDARRAY_UTIL_H_

#include "oneflow/core/common/switch_func.h"
#include "oneflow/core/ndarray/ndarray_reduce.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// y = fn(x), repeating x to the shape of y.
template <class R, class T, class F>
void BroadcastUnary(const oneflow::Shape& y_shape, R* y, const oneflow::Shape& x_shape, const T* x,
                    const F& fn) {
  NdLoop<2> loop;
  int64_t y_steps[ONEOP_MAX_DIMS], x_steps[ONEOP_MAX_DIMS];
  const int64_t ndim = y_shape.NumAxes();
  BroadcastStrides(ndim, y_shape.ptr(), ndim, y_shape.ptr(), y_steps);
  BroadcastStrides(x_shape.NumAxes(), x_shape.ptr(), ndim, y_shape.ptr(), x_steps);
  for (int64_t i = 0; i != ndim; ++i) {
    loop.Add(y_shape.At(i), {y_steps[i], x_steps[i]});
  }
  loop.Run([&](const int64_t (&at)[2], int64_t count, const int64_t (&steps)[2]) {
    R* out = y + at[0];
    const T* in = x + at[1];
    if (steps[0] == 1 && steps[1] == 1) {
      for (int64_t i = 0; i != count; ++i) {
        out[i] = fn(in[i]);
      }
    } else {
      for (int64_t i = 0; i != count; ++i) {
        out[i * steps[0]] = fn(in[i * steps[1]]);
      }
    }
  });
}

// y = fn(a, b), repeating both to the shape of y.
template <class R, class T, class U, class F>
void BroadcastBinary(const oneflow::Shape& y_shape, R* y, const oneflow::Shape& a_shape, const T* a,
                     const oneflow::Shape& b_shape, const U* b, const F& fn) {
  NdLoop<3> loop;
  int64_t steps[3][ONEOP_MAX_DIMS];
  const int64_t ndim = y_shape.NumAxes();
  BroadcastStrides(ndim, y_shape.ptr(), ndim, y_shape.ptr(), steps[0]);
  BroadcastStrides(a_shape.NumAxes(), a_shape.ptr(), ndim, y_shape.ptr(), steps[1]);
  BroadcastStrides(b_shape.NumAxes(), b_shape.ptr(), ndim, y_shape.ptr(), steps[2]);
  for (int64_t i = 0; i != ndim; ++i) {
    loop.Add(y_shape.At(i), {steps[0][i], steps[1][i], steps[2][i]});
  }
  loop.Run([&](const int64_t (&at)[3], int64_t count, const int64_t (&step)[3]) {
    R* out = y + at[0];
    const T* left = a + at[1];
    const U* right = b + at[2];
    if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
      for (int64_t i = 0; i != count; ++i) {
        out[i] = fn(left[i], right[i]);
      }
    } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
      const U same = *right;
      for (int64_t i = 0; i != count; ++i) {
        out[i] = fn(left[i], same);
      }
    } else if (step[0] == 1 && step[1] == 0 && step[2] == 1) {
      const T same = *left;
      for (int64_t i = 0; i != count; ++i) {
        out[i] = fn(same, right[i]);
      }
    } else {
      for (int64_t i = 0; i != count; ++i) {
        out[i * step[0]] = fn(left[i * step[1]], right[i * step[2]]);
      }
    }
  });
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

template <DeviceType device_type, class T>
struct NdarrayUtil {
  static_assert(device_type == kCPU, "NdarrayUtil<kCUDA> needs a .cu file");
  using Var = XpuVarNdarray<T>;
  using Val = XpuVarNdarray<const T>;

  static XpuVarNdarrayBuilder<const T> GetValNdarrayBuilder() { return {}; }
  static XpuVarNdarrayBuilder<T> GetVarNdarrayBuilder() { return {}; }

  static void BroadcastTo(ep::Stream*, const Var& y, const Val& x) {
    ::oneop::sdk::BroadcastUnary(y.shape(), y.ptr(), x.shape(), x.ptr(), [](T v) { return v; });
  }
  static void Assign(ep::Stream* stream, const Var& y, const Val& x) { BroadcastTo(stream, y, x); }

#define ONEOP_UNARY(Name, expression)                                             \
  static void Name(ep::Stream*, const Var& y, const Val& x) {                     \
    ::oneop::sdk::BroadcastUnary(y.shape(), y.ptr(), x.shape(), x.ptr(),          \
                                 [](T v) { return static_cast<T>(expression); }); \
  }                                                                               \
  static void Broadcast##Name(ep::Stream* stream, const Var& y, const Val& x) {   \
    Name(stream, y, x);                                                           \
  }                                                                               \
  static void Inplace##Name(ep::Stream* stream, const Var& y) { Name(stream, y, y); }
  ONEOP_UNARY(Identity, v)
  ONEOP_UNARY(Negative, -v)
  ONEOP_UNARY(Exp, std::exp(v))
#undef ONEOP_UNARY

#define ONEOP_BINARY(Name)                                                                     \
  static void Broadcast##Name(ep::Stream*, const Var& y, const Val& a, const Val& b) {         \
    ::oneop::sdk::BroadcastBinary(y.shape(), y.ptr(), a.shape(), a.ptr(), b.shape(), b.ptr(),  \
                                  [](T p, T q) { return BinaryFunc##Name<T>::Invoke(p, q); }); \
  }                                                                                            \
  static void Name(ep::Stream* stream, const Var& y, const Val& a, const Val& b) {             \
    Broadcast##Name(stream, y, a, b);                                                          \
  }
#define ONEOP_INPLACE_BINARY(Name)                                                     \
  ONEOP_BINARY(Name)                                                                   \
  static void Inplace##Name(ep::Stream* stream, const Var& y, const Val& x) {          \
    Broadcast##Name(stream, y, y, x);                                                  \
  }                                                                                    \
  static void InplaceBroadcast##Name(ep::Stream* stream, const Var& y, const Val& x) { \
    Broadcast##Name(stream, y, y, x);                                                  \
  }
  OF_PP_FOR_EACH_ATOMIC(ONEOP_INPLACE_BINARY, ARITHMETIC_BINARY_FUNC_NAME_SEQ)
// The result is a bool, or the int8_t of older sources.
#define ONEOP_LOGICAL(Name)                                                                     \
  template <class R>                                                                            \
  static void Broadcast##Name(ep::Stream*, const XpuVarNdarray<R>& y, const Val& a,             \
                              const Val& b) {                                                   \
    ::oneop::sdk::BroadcastBinary(                                                              \
        y.shape(), y.ptr(), a.shape(), a.ptr(), b.shape(), b.ptr(),                             \
        [](T p, T q) { return static_cast<R>(BinaryFunc##Name<T>::Invoke(p, q)); });            \
  }                                                                                             \
  template <class R>                                                                            \
  static void Name(ep::Stream* stream, const XpuVarNdarray<R>& y, const Val& a, const Val& b) { \
    Broadcast##Name(stream, y, a, b);                                                           \
  }
  OF_PP_FOR_EACH_ATOMIC(ONEOP_LOGICAL, LOGICAL_BINARY_FUNC_NAME_SEQ)
#undef ONEOP_LOGICAL
#undef ONEOP_INPLACE_BINARY
#undef ONEOP_BINARY

#define ONEOP_REDUCE(Name)                                                                 \
  template <class Y, class Tmp>                                                            \
  static void Reduce##Name(ep::Stream* stream, const Y& y, const Val& x, const Tmp& tmp) { \
    NdarrayReduce<device_type, T, BinaryFunc##Name>::Reduce(stream, y, x, tmp);            \
  }
  OF_PP_FOR_EACH_ATOMIC(ONEOP_REDUCE, REDUCE_BINARY_FUNC_NAME_SEQ)
#undef ONEOP_REDUCE
};

}  // namespace oneflow ONEOP_HIDDEN

#if defined(__CUDACC__)
#include "oneop/sdk/port/ndarray_cuda.h"
#endif

#endif  // ONEFLOW_CORE_NDARRAY_NDARRAY_UTIL_H_
