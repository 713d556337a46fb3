// BroadcastElementwiseBinary: a function of two numbers for each element, with broadcasting.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_BROADCAST_ELEMENTWISE_BINARY_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_BROADCAST_ELEMENTWISE_BINARY_H_

#include "oneflow/core/ep/include/primitive/elementwise_unary.h"
#include "oneop/sdk/cpu/binary_ops.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// On n contiguous elements; false where the op is not for these types.
using BinaryFn = bool (*)(BinaryOp op, double a, double b, const void* x, const void* y, void* z,
                          int64_t n);

template <class T, class R>
bool RunBinaryAs(BinaryOp op, double a, double b, const void* px, const void* py, void* pz,
                 int64_t n) {
  const T *x = static_cast<const T*>(px), *y = static_cast<const T*>(py);
  R* z = static_cast<R*>(pz);
  if constexpr (oneflow::IsFloat16<T>::value) {
    using Wide = std::conditional_t<std::is_same_v<R, bool>, bool, float>;
    float left[kBlock], right[kBlock];
    Wide out[kBlock];
    int64_t begin = 0;
    do {
      const int64_t count = n - begin < kBlock ? n - begin : kBlock;
      for (int64_t i = 0; i < count; ++i) {
        left[i] = static_cast<float>(x[begin + i]);
        right[i] = static_cast<float>(y[begin + i]);
      }
      if (!RunBinaryAs<float, Wide>(op, a, b, left, right, out, count)) {
        return false;
      }
      for (int64_t i = 0; i < count; ++i) {
        z[begin + i] = static_cast<R>(out[i]);
      }
      begin += kBlock;
    } while (begin < n);
    return true;
  } else if constexpr (!std::is_same_v<T, R>) {
    return RunComparison(op, a, b, x, y, z, n);
  } else if constexpr (std::is_same_v<T, bool>) {
    return RunComparison(op, a, b, x, y, z, n) || RunCommonBinary(op, x, y, z, n) ||
           RunBits(op, x, y, z, n);
  } else if constexpr (std::is_integral_v<T>) {
    return RunCommonBinary(op, x, y, z, n) || RunBits(op, x, y, z, n);
  } else {
    return RunCommonBinary(op, x, y, z, n) || RunGrads(op, a, b, x, y, z, n);
  }
}
inline BinaryFn FindBinary(BinaryOp op, oneflow::DataType from, oneflow::DataType to) {
  BinaryFn found = nullptr;
  WithNumberType(from, [&](auto tag) {
    using T = typename decltype(tag)::type;
    found = from == to             ? &RunBinaryAs<T, T>
            : to == oneflow::kBool ? &RunBinaryAs<T, bool>
                                   : nullptr;
  });
  return found != nullptr && found(op, 1, 1, nullptr, nullptr, nullptr, 0) ? found : nullptr;
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {

class BroadcastElementwiseBinary : public Primitive {
 public:
  BroadcastElementwiseBinary(BinaryOp op, ::oneop::sdk::BinaryFn run, DataType from, DataType to,
                             Scalar a, Scalar b)
      : op_(op),
        run_(run),
        from_(from),
        in_(static_cast<int64_t>(GetSizeOfDataType(from))),
        out_(static_cast<int64_t>(GetSizeOfDataType(to))),
        a_(a.Value<double>()),
        b_(b.Value<double>()) {}

  void Launch(Stream*, size_t num_x_dims, const int64_t* x_dims, const void* x, size_t num_y_dims,
              const int64_t* y_dims, const void* y, void* z) {
    const int64_t nx = static_cast<int64_t>(num_x_dims), ny = static_cast<int64_t>(num_y_dims);
    const int64_t ndim = nx > ny ? nx : ny;
    int64_t dims[ONEOP_MAX_DIMS], steps[3][ONEOP_MAX_DIMS];
    for (int64_t i = 0; i != ndim; ++i) {
      const int64_t p = i < ndim - nx ? 1 : x_dims[i - (ndim - nx)];
      const int64_t q = i < ndim - ny ? 1 : y_dims[i - (ndim - ny)];
      dims[i] = p == 1 ? q : p;
    }
    ::oneop::sdk::BroadcastStrides(ndim, dims, ndim, dims, steps[0]);
    ::oneop::sdk::BroadcastStrides(nx, x_dims, ndim, dims, steps[1]);
    ::oneop::sdk::BroadcastStrides(ny, y_dims, ndim, dims, steps[2]);
    ::oneop::sdk::NdLoop<3> loop;
    for (int64_t i = 0; i != ndim; ++i) {
      loop.Add(dims[i], {steps[0][i], steps[1][i], steps[2][i]});
    }
    loop.Run([&](const int64_t (&at)[3], int64_t count, const int64_t (&step)[3]) {
      Row(static_cast<const char*>(x) + at[1] * in_, step[1],
          static_cast<const char*>(y) + at[2] * in_, step[2], static_cast<char*>(z) + at[0] * out_,
          count);
    });
  }
  void Launch(Stream* stream, Scalar x, size_t num_y_dims, const int64_t* y_dims, const void* y,
              void* z) {
    alignas(16) char element[16];
    Fill(from_).Launch(stream, element, x, 1);
    Launch(stream, 0, nullptr, element, num_y_dims, y_dims, y, z);
  }
  void Launch(Stream* stream, size_t num_x_dims, const int64_t* x_dims, const void* x, Scalar y,
              void* z) {
    alignas(16) char element[16];
    Fill(from_).Launch(stream, element, y, 1);
    Launch(stream, num_x_dims, x_dims, x, 0, nullptr, element, z);
  }

 private:
  // Operands that are not contiguous go through a block that is.
  void Row(const char* x, int64_t x_step, const char* y, int64_t y_step, char* z,
           int64_t count) const {
    if (x_step == 1 && y_step == 1) {
      run_(op_, a_, b_, x, y, z, count);
      return;
    }
    constexpr int64_t kBlock = ::oneop::sdk::kBlock;
    alignas(64) char left[kBlock * 8], right[kBlock * 8];
    bool is_filled = false;
    for (int64_t begin = 0; begin < count; begin += kBlock) {
      const int64_t n = count - begin < kBlock ? count - begin : kBlock;
      const char* p = x + begin * x_step * in_;
      const char* q = y + begin * y_step * in_;
      if (x_step != 1) {
        p = x_step == 0 && is_filled ? left : Gather(p, x_step, n, left);
      }
      if (y_step != 1) {
        q = y_step == 0 && is_filled ? right : Gather(q, y_step, n, right);
      }
      is_filled = true;
      run_(op_, a_, b_, p, q, z + begin * out_, n);
    }
  }
  const char* Gather(const char* from, int64_t step, int64_t n, char* block) const {
    for (int64_t i = 0; i != n; ++i) {
      std::memcpy(block + i * in_, from + i * step * in_, static_cast<size_t>(in_));
    }
    return block;
  }

  BinaryOp op_;
  ::oneop::sdk::BinaryFn run_;
  DataType from_;
  int64_t in_, out_;
  double a_, b_;
};

struct BroadcastElementwiseBinaryFactory : Factory<BroadcastElementwiseBinary> {
  std::unique_ptr<BroadcastElementwiseBinary> New(BinaryOp op, DataType from, DataType to,
                                                  size_t max_num_dims, Scalar a = Scalar(),
                                                  Scalar b = Scalar()) {
    const ::oneop::sdk::BinaryFn run = ::oneop::sdk::FindBinary(op, from, to);
    return run == nullptr || max_num_dims > ONEOP_MAX_DIMS
               ? nullptr
               : std::make_unique<BroadcastElementwiseBinary>(op, run, from, to, a, b);
  }
};

}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_BROADCAST_ELEMENTWISE_BINARY_H_
