// ElementwiseUnary: a function of one number for each element. BroadcastElementwiseUnary: of
// tensors with strides, repeated to a larger shape.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_ELEMENTWISE_UNARY_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_ELEMENTWISE_UNARY_H_

#include "oneflow/core/ep/include/primitive/memory.h"
#include "oneop/sdk/cpu/unary_ops.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Runs on `n` contiguous elements; false where the op is not for these types. Half precision goes
// through float, a block at a time.
using UnaryFn = bool (*)(UnaryOp op, double a, double b, const void* x, void* y, int64_t n);

constexpr int64_t kBlock = 256;

template <class T, bool kIsTest>
bool RunUnaryAs(UnaryOp op, double a, double b, const void* from, void* to, int64_t n) {
  using R = std::conditional_t<kIsTest, bool, T>;
  const T* x = static_cast<const T*>(from);
  R* y = static_cast<R*>(to);
  if constexpr (oneflow::IsFloat16<T>::value) {
    float in[kBlock];
    std::conditional_t<kIsTest, bool, float> out[kBlock];
    for (int64_t begin = 0; begin < n || n == 0; begin += kBlock) {
      const int64_t count = n - begin < kBlock ? n - begin : kBlock;
      for (int64_t i = 0; i < count; ++i) {
        in[i] = static_cast<float>(x[begin + i]);
      }
      if (!RunUnaryAs<float, kIsTest>(op, a, b, in, out, count)) {
        return false;
      }
      for (int64_t i = 0; i < count; ++i) {
        y[begin + i] = static_cast<R>(out[i]);
      }
      if (n == 0) {
        break;
      }
    }
    return true;
  } else if constexpr (kIsTest) {
    return RunTest(op, x, y, n);
  } else if constexpr (std::is_integral_v<T>) {
    return RunIntegerUnary(op, a, b, x, y, n);
  } else {
    return RunUnary(op, a, b, x, y, n);
  }
}
inline UnaryFn FindUnary(UnaryOp op, oneflow::DataType from, oneflow::DataType to) {
  UnaryFn found = nullptr;
  WithNumberType(from, [&](auto tag) {
    using T = typename decltype(tag)::type;
    found = from == to ? &RunUnaryAs<T, false> : nullptr;
    if (found != nullptr && found(op, 1, 1, nullptr, nullptr, 0)) {
      return;
    }
    found = to == oneflow::kBool ? &RunUnaryAs<T, true> : nullptr;
    if (found != nullptr && !found(op, 1, 1, nullptr, nullptr, 0)) {
      found = nullptr;
    }
  });
  return found;
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {

class ElementwiseUnary : public Primitive {
 public:
  ElementwiseUnary(UnaryOp op, ::oneop::sdk::UnaryFn run, std::unique_ptr<Cast> cast, Scalar a,
                   Scalar b, size_t from_size, size_t to_size)
      : op_(op),
        run_(run),
        cast_(std::move(cast)),
        a_(a.Value<double>()),
        b_(b.Value<double>()),
        from_size_(static_cast<int64_t>(from_size)),
        to_size_(static_cast<int64_t>(to_size)) {}
  void Launch(Stream* stream, const void* x, void* y, size_t count) {
    if (cast_ != nullptr) {
      return cast_->Launch(stream, x, y, count);
    }
    ::oneop::sdk::ParallelElements(static_cast<int64_t>(count), [&](int64_t begin, int64_t end) {
      Piece(static_cast<const char*>(x) + begin * from_size_,
            static_cast<char*>(y) + begin * to_size_, end - begin);
    });
  }
  // On this thread, contiguous.
  void Piece(const void* x, void* y, int64_t count) const {
    if (cast_ != nullptr) {
      cast_->Launch(nullptr, x, y, static_cast<size_t>(count));
    } else {
      run_(op_, a_, b_, x, y, count);
    }
  }
  int64_t from_size() const { return from_size_; }
  int64_t to_size() const { return to_size_; }

 private:
  UnaryOp op_;
  ::oneop::sdk::UnaryFn run_;
  std::unique_ptr<Cast> cast_;
  double a_, b_;
  int64_t from_size_, to_size_;
};

struct ElementwiseUnaryFactory : Factory<ElementwiseUnary> {
  std::unique_ptr<ElementwiseUnary> New(UnaryOp op, DataType from, DataType to, Scalar a = Scalar(),
                                        Scalar b = Scalar()) {
    std::unique_ptr<Cast> cast;
    ::oneop::sdk::UnaryFn run = nullptr;
    if (op == UnaryOp::kCast) {
      cast = CastFactory().New(from, to);
    } else {
      run = ::oneop::sdk::FindUnary(op, from, to);
    }
    if (cast == nullptr && run == nullptr) {
      return nullptr;
    }
    return std::make_unique<ElementwiseUnary>(op, run, std::move(cast), a, b,
                                              GetSizeOfDataType(from), GetSizeOfDataType(to));
  }
};

class BroadcastElementwiseUnary : public Primitive {
 public:
  explicit BroadcastElementwiseUnary(std::unique_ptr<ElementwiseUnary> unary)
      : unary_(std::move(unary)) {}
  void Launch(Stream* stream, size_t num_x_dims, const int64_t* x_dims, const void* x,
              size_t num_y_dims, const int64_t* y_dims, void* y) {
    Launch(stream, num_x_dims, x_dims, nullptr, x, num_y_dims, y_dims, nullptr, y);
  }
  // Null strides: contiguous.
  void Launch(Stream*, size_t num_x_dims, const int64_t* x_dims, const int64_t* x_strides,
              const void* x, size_t num_y_dims, const int64_t* y_dims, const int64_t* y_strides,
              void* y) {
    const int64_t ndim = static_cast<int64_t>(num_y_dims), own = static_cast<int64_t>(num_x_dims);
    int64_t x_steps[ONEOP_MAX_DIMS], y_steps[ONEOP_MAX_DIMS];
    ::oneop::sdk::BroadcastStrides(own, x_dims, ndim, y_dims, x_steps);
    ::oneop::sdk::BroadcastStrides(ndim, y_dims, ndim, y_dims, y_steps);
    ::oneop::sdk::NdLoop<2> loop;
    for (int64_t i = 0; i != ndim; ++i) {
      const int64_t at = i - (ndim - own);
      if (x_strides != nullptr && at >= 0 && x_dims[at] != 1) {
        x_steps[i] = x_strides[at];
      }
      loop.Add(y_dims[i], {y_strides == nullptr ? y_steps[i] : y_strides[i], x_steps[i]});
    }
    const int64_t in = unary_->from_size(), out = unary_->to_size();
    loop.Run([&](const int64_t (&at)[2], int64_t count, const int64_t (&steps)[2]) {
      char* to = static_cast<char*>(y) + at[0] * out;
      const char* from = static_cast<const char*>(x) + at[1] * in;
      if (steps[0] == 1 && steps[1] == 1) {
        return unary_->Piece(from, to, count);
      }
      for (int64_t i = 0; i != count; ++i) {
        unary_->Piece(from + i * steps[1] * in, to + i * steps[0] * out, 1);
      }
    });
  }

 private:
  std::unique_ptr<ElementwiseUnary> unary_;
};
struct BroadcastElementwiseUnaryFactory : Factory<BroadcastElementwiseUnary> {
  std::unique_ptr<BroadcastElementwiseUnary> New(UnaryOp op, DataType from, DataType to,
                                                 size_t max_num_dims, Scalar a = Scalar(),
                                                 Scalar b = Scalar()) {
    auto unary = ElementwiseUnaryFactory().New(op, from, to, a, b);
    return unary == nullptr || max_num_dims > ONEOP_MAX_DIMS
               ? nullptr
               : std::make_unique<BroadcastElementwiseUnary>(std::move(unary));
  }
};

}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_ELEMENTWISE_UNARY_H_
