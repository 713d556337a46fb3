// What the kernels of the gallery share: rows of half and bfloat16 as floats, and sums over rows.
//
// op.h's .rows converts by itself. A kernel of views that also writes something that all rows share
// (the gradient of a weight) has to do it, and does it here.
#ifndef ONEOP_GALLERY_NUMBERS_H_
#define ONEOP_GALLERY_NUMBERS_H_

#include <algorithm>
#include <vector>

#include "oneop/op.h"

namespace gallery {

// In what elements of T are computed: float for half and bfloat16, else T.
template <class T>
using Compute = oneop::op::ComputeType<T>;
template <class T>
using NumberOf = oneop::Number<Compute<T>>;
template <class T>
constexpr bool kConverts = oneop::op::Storage<T>::kConverts;

// Elements of T as numbers, `length` at a time. Each thread has its own.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t length)
      : length_(length), room_(kConverts<T> ? static_cast<size_t>(length) : 0) {}

  oneop::Row<const NumberOf<T>> Read(const T* from) { return Read(from, length_); }
  oneop::Row<const NumberOf<T>> Read(const T* from, int64_t count) {
    if constexpr (kConverts<T>) {
      oneop::op::Storage<T>::Load(from, room_.data(), count);
      return {reinterpret_cast<const NumberOf<T>*>(room_.data()), count};
    } else {
      return {reinterpret_cast<const NumberOf<T>*>(from), count};
    }
  }
  // Where results go; they reach `to` with Store(to).
  oneop::Row<NumberOf<T>> Write(T* to) { return Write(to, length_); }
  oneop::Row<NumberOf<T>> Write(T* to, int64_t count) {
    return {reinterpret_cast<NumberOf<T>*>(kConverts<T> ? static_cast<void*>(room_.data()) : to),
            count};
  }
  void Store(T* to) { Store(to, length_); }
  void Store(T* to, int64_t count) {
    if constexpr (kConverts<T>) {
      oneop::op::Storage<T>::Store(room_.data(), to, count);
    }
  }

 private:
  int64_t length_;
  std::vector<float> room_;
};

// A row over memory that is in a type of numbers already.
template <class C>
oneop::Row<oneop::Number<C>> RowOf(C* data, int64_t length) {
  return {reinterpret_cast<oneop::Number<C>*>(data), length};
}

// The work is cut into the same parts whatever the number of threads is, so that sums over rows
// have the same bits on every machine: part k has rows [rows * k / parts, rows * (k + 1) / parts).
constexpr int64_t kMostParts = 16;

inline int64_t PartsFor(int64_t rows, int64_t length) {
  const int64_t worthwhile = rows * length / 8192 + 1;
  return std::max<int64_t>(1, std::min({kMostParts, worthwhile, rows}));
}

// fn(part, first row, end) for each part, on all threads.
template <class F>
void ForEachPart(oneop::Call& call, int64_t rows, int64_t parts, const F& fn) {
  call.parallel_for(0, parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part != end; ++part) {
      fn(part, rows * part / parts, rows * (part + 1) / parts);
    }
  });
}

// to = the sum of `parts` rows of `length`, one after the other.
template <class T>
void SumParts(const Compute<T>* partial, int64_t parts, int64_t length, T* to) {
  std::vector<Compute<T>> total(static_cast<size_t>(length));
  for (int64_t part = 0; part != parts; ++part) {
    for (int64_t i = 0; i != length; ++i) {
      total[static_cast<size_t>(i)] += partial[part * length + i];
    }
  }
  Buffer<T> buffer(length);
  oneop::map(buffer.Write(to), [](auto v) { return v; }, RowOf(total.data(), length));
  buffer.Store(to);
}

// An error for the caller: IndexError in Python.
[[noreturn]] inline void RefuseIndex(std::string_view text) {
  oneop::sdk::ThrowText(ONEOP_ERROR_INDEX, {text});
}

inline int64_t RowsOf(int64_t numel, int64_t length) { return length == 0 ? 0 : numel / length; }

}  // namespace gallery

#endif  // ONEOP_GALLERY_NUMBERS_H_
