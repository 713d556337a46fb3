// Matmul, BatchMatmul, BroadcastMatmul: products of row-major matrices.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_MATMUL_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_MATMUL_H_

#include "oneflow/core/ep/include/primitive/primitive.h"
#include "oneop/sdk/cpu/gemm.h"
#include "oneop/sdk/cpu/types.h"

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {

enum class BlasTransposeType { N, T };

class MatmulBase : public Primitive {
 public:
  MatmulBase(DataType type, BlasTransposeType a, BlasTransposeType b)
      : type_(type), a_(a == BlasTransposeType::T), b_(b == BlasTransposeType::T) {}

 protected:
  // Steps of a and b from one product to the next; c follows without gaps.
  void Run(size_t batch, size_t m, size_t n, size_t k, double alpha, const void* a, int64_t a_step,
           const void* b, int64_t b_step, double beta, void* c) const {
    ::oneop::sdk::WithFloatType(type_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (int64_t i = 0; i != static_cast<int64_t>(batch); ++i) {
        ::oneop::sdk::Gemm(a_, b_, static_cast<int64_t>(m), static_cast<int64_t>(n),
                           static_cast<int64_t>(k), alpha, static_cast<const T*>(a) + i * a_step,
                           static_cast<const T*>(b) + i * b_step, beta,
                           static_cast<T*>(c) + i * static_cast<int64_t>(m * n));
      }
    });
  }
  DataType type_;
  bool a_, b_;
};

class Matmul : public MatmulBase {
 public:
  using MatmulBase::MatmulBase;
  void Launch(Stream*, size_t m, size_t n, size_t k, Scalar alpha, const void* a, const void* b,
              Scalar beta, void* c) {
    Run(1, m, n, k, alpha.Value<double>(), a, 0, b, 0, beta.Value<double>(), c);
  }
};
class BatchMatmul : public MatmulBase {
 public:
  using MatmulBase::MatmulBase;
  void Launch(Stream*, size_t batch, size_t m, size_t n, size_t k, Scalar alpha, const void* a,
              const void* b, Scalar beta, void* c) {
    Run(batch, m, n, k, alpha.Value<double>(), a, static_cast<int64_t>(m * k), b,
        static_cast<int64_t>(k * n), beta.Value<double>(), c);
  }
};
// The dimensions in front of the matrices are the batch; an operand that lacks them, or has one
// element there, is used for each.
class BroadcastMatmul : public MatmulBase {
 public:
  using MatmulBase::MatmulBase;
  void Launch(Stream*, Scalar alpha, size_t num_a_dims, const int64_t* a_dims, const void* a,
              size_t num_b_dims, const int64_t* b_dims, const void* b, Scalar beta,
              size_t num_c_dims, const int64_t* c_dims, void* c) {
    CHECK(num_a_dims >= 2 && num_b_dims >= 2 && num_c_dims >= 2);
    const int64_t m = c_dims[num_c_dims - 2], n = c_dims[num_c_dims - 1];
    const int64_t k = CheckedK(a_dims + num_a_dims - 2, b_dims + num_b_dims - 2, m, n);
    const int64_t num_batch = static_cast<int64_t>(num_c_dims) - 2;
    int64_t a_steps[ONEOP_MAX_DIMS], b_steps[ONEOP_MAX_DIMS];
    ::oneop::sdk::BroadcastStrides(static_cast<int64_t>(num_a_dims) - 2, a_dims, num_batch, c_dims,
                                   a_steps);
    ::oneop::sdk::BroadcastStrides(static_cast<int64_t>(num_b_dims) - 2, b_dims, num_batch, c_dims,
                                   b_steps);
    int64_t batch = 1;
    for (int64_t i = 0; i != num_batch; ++i) {
      batch *= c_dims[i];
    }
    const int64_t size = static_cast<int64_t>(GetSizeOfDataType(type_));
    for (int64_t number = 0; number != batch; ++number) {
      int64_t rest = number, a_at = 0, b_at = 0;
      for (int64_t i = num_batch; i-- > 0; rest /= c_dims[i]) {
        a_at += rest % c_dims[i] * a_steps[i];
        b_at += rest % c_dims[i] * b_steps[i];
      }
      Run(1, static_cast<size_t>(m), static_cast<size_t>(n), static_cast<size_t>(k),
          alpha.Value<double>(), static_cast<const char*>(a) + a_at * m * k * size, 0,
          static_cast<const char*>(b) + b_at * k * n * size, 0, beta.Value<double>(),
          static_cast<char*>(c) + number * m * n * size);
    }
  }

 private:
  // Both matrices have the sizes of the product: m x k and k x n, or the other way around.
  int64_t CheckedK(const int64_t* a, const int64_t* b, int64_t m, int64_t n) const {
    const int64_t k = a[a_ ? 0 : 1];
    CHECK(a[a_ ? 1 : 0] == m && b[b_ ? 1 : 0] == k && b[b_ ? 0 : 1] == n)
        << "matrices of " << a[0] << " x " << a[1] << " and " << b[0] << " x " << b[1]
        << (a_ || b_ ? ", transposed as asked for," : "") << " have no product of " << m << " x "
        << n;
    return k;
  }
};

template <class P>
struct MatmulFactoryOf : Factory<P> {
  std::unique_ptr<P> New(DataType type, BlasTransposeType a, BlasTransposeType b) {
    return IsFloatingDataType(type) ? std::make_unique<P>(type, a, b) : nullptr;
  }
  std::unique_ptr<P> New(DataType type, BlasTransposeType a, BlasTransposeType b,
                         size_t max_num_dims) {
    return max_num_dims <= ONEOP_MAX_DIMS ? New(type, a, b) : nullptr;
  }
};
using MatmulFactory = MatmulFactoryOf<Matmul>;
using BatchMatmulFactory = MatmulFactoryOf<BatchMatmul>;
using BroadcastMatmulFactory = MatmulFactoryOf<BroadcastMatmul>;

}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_MATMUL_H_
