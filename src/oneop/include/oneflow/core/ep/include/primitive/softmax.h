// Softmax and LogSoftmax over rows, and their gradients.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_SOFTMAX_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_SOFTMAX_H_

#include <cmath>

#include "oneflow/core/ep/include/primitive/primitive.h"
#include "oneop/sdk/cpu/nd_loop.h"
#include "oneop/sdk/cpu/types.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Each row is shifted by its largest element first, so that no exponential overflows.
template <bool kLog, class T>
void SoftmaxRows(int64_t rows, int64_t columns, const T* x, T* y) {
  using A = typename AccumulatorOf<T>::type;
  oneop::parallel_for(
      0, rows, 1 + kElementsAThread / (columns + 1), [=](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          const T* in = x + row * columns;
          T* out = y + row * columns;
          A largest = -std::numeric_limits<A>::infinity();
          for (int64_t i = 0; i != columns; ++i) {
            largest = static_cast<A>(in[i]) > largest ? static_cast<A>(in[i]) : largest;
          }
          A sum = 0;
          for (int64_t i = 0; i != columns; ++i) {
            const A e = std::exp(static_cast<A>(in[i]) - largest);
            sum += e;
            if constexpr (!kLog && std::is_same_v<A, T>) {
              out[i] = e;
            }
          }
          const A scale = kLog ? std::log(sum) : A(1) / sum;
          for (int64_t i = 0; i != columns; ++i) {
            if constexpr (kLog) {
              out[i] = static_cast<T>(static_cast<A>(in[i]) - largest - scale);
            } else if constexpr (std::is_same_v<A, T>) {
              out[i] *= scale;
            } else {  // half precision: once rounded, not twice; `in` may be `out`
              out[i] = static_cast<T>(std::exp(static_cast<A>(in[i]) - largest) * scale);
            }
          }
        }
      });
}
template <bool kLog, class T>
void SoftmaxGradRows(int64_t rows, int64_t columns, const T* y, const T* dy, T* dx) {
  using A = typename AccumulatorOf<T>::type;
  oneop::parallel_for(0, rows, 1 + kElementsAThread / (columns + 1),
                      [=](int64_t begin, int64_t end) {
                        for (int64_t row = begin; row < end; ++row) {
                          const T *out = y + row * columns, *out_grad = dy + row * columns;
                          A sum = 0;
                          for (int64_t i = 0; i != columns; ++i) {
                            sum += kLog ? static_cast<A>(out_grad[i])
                                        : static_cast<A>(out_grad[i]) * static_cast<A>(out[i]);
                          }
                          T* grad = dx + row * columns;
                          for (int64_t i = 0; i != columns; ++i) {
                            const A g = static_cast<A>(out_grad[i]), v = static_cast<A>(out[i]);
                            grad[i] = static_cast<T>(kLog ? g - std::exp(v) * sum : (g - sum) * v);
                          }
                        }
                      });
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {

template <bool kLog>
class SoftmaxOf : public Primitive {
 public:
  explicit SoftmaxOf(DataType type) : type_(type) {}
  void Launch(Stream*, size_t rows, size_t cols, const void* x, void* y) {
    ::oneop::sdk::WithFloatType(type_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ::oneop::sdk::SoftmaxRows<kLog>(static_cast<int64_t>(rows), static_cast<int64_t>(cols),
                                      static_cast<const T*>(x), static_cast<T*>(y));
    });
  }

 private:
  DataType type_;
};
template <bool kLog>
class SoftmaxBackwardOf : public Primitive {
 public:
  explicit SoftmaxBackwardOf(DataType type) : type_(type) {}
  void Launch(Stream*, size_t rows, size_t cols, const void* y, const void* dy, void* dx) {
    ::oneop::sdk::WithFloatType(type_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      ::oneop::sdk::SoftmaxGradRows<kLog>(static_cast<int64_t>(rows), static_cast<int64_t>(cols),
                                          static_cast<const T*>(y), static_cast<const T*>(dy),
                                          static_cast<T*>(dx));
    });
  }

 private:
  DataType type_;
};
template <class P>
struct FloatFactory : Factory<P> {
  std::unique_ptr<P> New(DataType type) {
    return IsFloatingDataType(type) ? std::make_unique<P>(type) : nullptr;
  }
};
using Softmax = SoftmaxOf<false>;
using LogSoftmax = SoftmaxOf<true>;
using SoftmaxBackward = SoftmaxBackwardOf<false>;
using LogSoftmaxBackward = SoftmaxBackwardOf<true>;
using SoftmaxFactory = FloatFactory<Softmax>;
using LogSoftmaxFactory = FloatFactory<LogSoftmax>;
using SoftmaxBackwardFactory = FloatFactory<SoftmaxBackward>;
using LogSoftmaxBackwardFactory = FloatFactory<LogSoftmaxBackward>;

}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_SOFTMAX_H_
