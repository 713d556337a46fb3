// Names that cub had until CUDA 12 and that sources of those years use: iterators over numbers and
// over the results of a function, and operations.
#ifndef ONEOP_SDK_PORT_CUB_NAMES_H_
#define ONEOP_SDK_PORT_CUB_NAMES_H_

#include <cuda_runtime.h>

#if CUDART_VERSION >= 13000

#include <cstddef>
#include <iterator>

#include "oneop/sdk/config.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// What an iterator needs beside operator[].
template <class Self, class Value, class Offset>
struct RandomAccess {
  using iterator_category = std::random_access_iterator_tag;
  using value_type = Value;
  using difference_type = Offset;
  using pointer = Value*;
  using reference = Value;

  __host__ __device__ Value operator*() const { return self()[0]; }
  __host__ __device__ Self& operator++() { return self() += 1; }
  __host__ __device__ Self& operator--() { return self() += -1; }
  __host__ __device__ Self operator++(int) {
    const Self before = self();
    self() += 1;
    return before;
  }
  __host__ __device__ Self operator--(int) {
    const Self before = self();
    self() += -1;
    return before;
  }
  template <class D>
  __host__ __device__ Self& operator-=(D n) {
    return self() += -static_cast<Offset>(n);
  }
  template <class D>
  __host__ __device__ Self operator+(D n) const {
    Self moved = self();
    moved += static_cast<Offset>(n);
    return moved;
  }
  template <class D, class = decltype(static_cast<Offset>(D()))>
  __host__ __device__ Self operator-(D n) const {
    Self moved = self();
    moved += -static_cast<Offset>(n);
    return moved;
  }
  __host__ __device__ Offset operator-(const Self& other) const {
    return self().DistanceFrom(other);
  }
  __host__ __device__ bool operator==(const Self& other) const { return *this - other == 0; }
  __host__ __device__ bool operator!=(const Self& other) const { return *this - other != 0; }
  __host__ __device__ bool operator<(const Self& other) const { return *this - other < 0; }

 private:
  __host__ __device__ const Self& self() const { return static_cast<const Self&>(*this); }
  __host__ __device__ Self& self() { return static_cast<Self&>(*this); }
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace cub {

// first, first + 1, ...
template <class Value, class Offset = ptrdiff_t>
class CountingInputIterator
    : public ::oneop::sdk::RandomAccess<CountingInputIterator<Value, Offset>, Value, Offset> {
 public:
  CountingInputIterator() = default;
  __host__ __device__ explicit CountingInputIterator(const Value& first) : at_(first) {}
  template <class D>
  __host__ __device__ Value operator[](D n) const {
    return static_cast<Value>(at_ + static_cast<Value>(n));
  }
  template <class D>
  __host__ __device__ CountingInputIterator& operator+=(D n) {
    at_ = static_cast<Value>(at_ + static_cast<Value>(n));
    return *this;
  }
  __host__ __device__ Offset DistanceFrom(const CountingInputIterator& other) const {
    return static_cast<Offset>(at_) - static_cast<Offset>(other.at_);
  }

 private:
  Value at_ = Value();
};

// fn(*first), fn(first[1]), ...
template <class Value, class Fn, class It, class Offset = ptrdiff_t>
class TransformInputIterator
    : public ::oneop::sdk::RandomAccess<TransformInputIterator<Value, Fn, It, Offset>, Value,
                                        Offset> {
 public:
  __host__ __device__ TransformInputIterator(It first, Fn fn) : at_(first), fn_(fn) {}
  template <class D>
  __host__ __device__ Value operator[](D n) const {
    return static_cast<Value>(fn_(at_[n]));
  }
  template <class D>
  __host__ __device__ TransformInputIterator& operator+=(D n) {
    at_ += n;
    return *this;
  }
  __host__ __device__ Offset DistanceFrom(const TransformInputIterator& other) const {
    return static_cast<Offset>(at_ - other.at_);
  }

 private:
  It at_;
  mutable Fn fn_;  // some authors forget const
};

struct Sum {
  template <class T, class U>
  __host__ __device__ auto operator()(const T& a, const U& b) const {
    return a + b;
  }
};
struct Max {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return a < b ? b : a;
  }
};
struct Min {
  template <class T>
  __host__ __device__ T operator()(const T& a, const T& b) const {
    return b < a ? b : a;
  }
};

}  // namespace cub

#endif  // CUDART_VERSION

#endif  // ONEOP_SDK_PORT_CUB_NAMES_H_
