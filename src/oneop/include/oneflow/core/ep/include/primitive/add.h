// Add: the sum of several tensors. Where: one of two, by a condition.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_ADD_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_ADD_H_

#include "oneflow/core/ep/include/primitive/primitive.h"
#include "oneop/sdk/cpu/nd_loop.h"
#include "oneop/sdk/cpu/types.h"

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {

class Add : public Primitive {
 public:
  explicit Add(DataType type) : type_(type) {}
  // The result may be one of the operands.
  void Launch(Stream*, const void* const* srcs, size_t arity, void* dst, size_t count) {
    ::oneop::sdk::WithNumberType(type_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      using A = typename ::oneop::sdk::AccumulatorOf<T>::type;
      T* out = static_cast<T*>(dst);
      ::oneop::sdk::ParallelElements(static_cast<int64_t>(count), [&](int64_t begin, int64_t end) {
        constexpr int64_t kBlock = 256;
        for (; begin < end; begin += kBlock) {
          const int64_t n = end - begin < kBlock ? end - begin : kBlock;
          A sums[kBlock] = {};
          for (size_t k = 0; k != arity; ++k) {
            const T* in = static_cast<const T*>(srcs[k]) + begin;
            for (int64_t i = 0; i < n; ++i) {
              // not 0 + in[i]: the sum of negative zeros is one
              sums[i] =
                  static_cast<A>(k == 0 ? static_cast<A>(in[i]) : sums[i] + static_cast<A>(in[i]));
            }
          }
          for (int64_t i = 0; i < n; ++i) {
            out[begin + i] = static_cast<T>(sums[i]);
          }
        }
      });
    });
  }
  void Launch(Stream* stream, const void* a, const void* b, void* dst, size_t count) {
    const void* both[] = {a, b};
    Launch(stream, both, 2, dst, count);
  }

 private:
  DataType type_;
};
struct AddFactory : Factory<Add> {
  std::unique_ptr<Add> New(DataType type) {
    const bool is_known = ::oneop::sdk::WithNumberType(type, [](auto) {});
    return is_known ? std::make_unique<Add>(type) : nullptr;
  }
};

class Where : public Primitive {
 public:
  Where(DataType condition, DataType type) : condition_(condition), type_(type) {}
  void Launch(Stream*, size_t num_cond_dims, const int64_t* cond_dims, const void* cond,
              size_t num_x_dims, const int64_t* x_dims, const void* x, size_t num_y_dims,
              const int64_t* y_dims, const void* y, void* z) {
    const int64_t counts[] = {static_cast<int64_t>(num_cond_dims), static_cast<int64_t>(num_x_dims),
                              static_cast<int64_t>(num_y_dims)};
    const int64_t* all[] = {cond_dims, x_dims, y_dims};
    int64_t ndim = 0;
    for (int64_t count : counts) {
      ndim = count > ndim ? count : ndim;
    }
    int64_t dims[ONEOP_MAX_DIMS], steps[4][ONEOP_MAX_DIMS];
    for (int64_t i = 0; i != ndim; ++i) {
      dims[i] = 1;
      for (int k = 0; k != 3; ++k) {
        const int64_t at = i - (ndim - counts[k]);
        dims[i] = dims[i] == 1 && at >= 0 ? all[k][at] : dims[i];
      }
    }
    ::oneop::sdk::BroadcastStrides(ndim, dims, ndim, dims, steps[3]);
    ::oneop::sdk::NdLoop<4> loop;
    for (int k = 0; k != 3; ++k) {
      ::oneop::sdk::BroadcastStrides(counts[k], all[k], ndim, dims, steps[k]);
    }
    for (int64_t i = 0; i != ndim; ++i) {
      loop.Add(dims[i], {steps[0][i], steps[1][i], steps[2][i], steps[3][i]});
    }
    ::oneop::sdk::WithNumberType(condition_, [&](auto cond_tag) {
      ::oneop::sdk::WithNumberType(type_, [&](auto tag) {
        using C = typename decltype(cond_tag)::type;
        using T = typename decltype(tag)::type;
        loop.Run([&](const int64_t (&at)[4], int64_t n, const int64_t (&step)[4]) {
          const C* c = static_cast<const C*>(cond) + at[0];
          const T* p = static_cast<const T*>(x) + at[1];
          const T* q = static_cast<const T*>(y) + at[2];
          T* out = static_cast<T*>(z) + at[3];
          for (int64_t i = 0; i < n; ++i) {
            out[i * step[3]] = c[i * step[0]] != C(0) ? p[i * step[1]] : q[i * step[2]];
          }
        });
      });
    });
  }

 private:
  DataType condition_, type_;
};
struct WhereFactory : Factory<Where> {
  std::unique_ptr<Where> New(DataType condition, DataType type, size_t max_num_dims) {
    const auto nothing = [](auto) {};
    return max_num_dims <= ONEOP_MAX_DIMS && ::oneop::sdk::WithNumberType(condition, nothing) &&
                   ::oneop::sdk::WithNumberType(type, nothing)
               ? std::make_unique<Where>(condition, type)
               : nullptr;
  }
};

}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_ADD_H_
