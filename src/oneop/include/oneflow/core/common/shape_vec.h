// DimVector, a vector of extents that never allocates.
#ifndef ONEFLOW_CORE_COMMON_SHAPE_VEC_H_
#define ONEFLOW_CORE_COMMON_SHAPE_VEC_H_

#include <cstdint>
#include <cstring>
#include <initializer_list>

#include "oneflow/core/common/error.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

[[noreturn]] ONEOP_COLD inline void ThrowAxis(int64_t axis, int64_t ndim) {
  ThrowText(ONEOP_ERROR_INDEX,
            {"axis ", Digits(axis), " of a shape with ", Digits(ndim), " dimensions"});
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

class DimVector {
 public:
  using value_type = int64_t;
  using iterator = int64_t*;
  using const_iterator = const int64_t*;

  DimVector() {}
  explicit DimVector(size_t count, int64_t value = 0) { resize(count, value); }
  DimVector(std::initializer_list<int64_t> values) { assign(values.begin(), values.end()); }
  template <class It, class = decltype(*std::declval<It>())>
  DimVector(It begin, It end) {
    assign(begin, end);
  }
  template <class Range, class = std::enable_if_t<!std::is_same_v<std::decay_t<Range>, DimVector>>,
            class = decltype(std::declval<const Range&>().begin())>
  explicit DimVector(const Range& range) {
    assign(range.begin(), range.end());
  }
  DimVector(const int64_t* begin, const int64_t* end) { Copy(begin, end - begin); }
  DimVector(const DimVector& other) { Copy(other.data_, other.size_); }
  DimVector& operator=(const DimVector& other) {
    Copy(other.data_, other.size_);
    return *this;
  }

  void assign(const int64_t* begin, const int64_t* end) { Copy(begin, end - begin); }
  void assign(size_t count, int64_t value) {
    size_ = 0;
    resize(count, value);
  }
  template <class It, class = decltype(*std::declval<It>())>
  void assign(It begin, It end) {
    size_ = 0;
    for (; begin != end; ++begin) {
      push_back(static_cast<int64_t>(*begin));
    }
  }
  void push_back(int64_t value) {
    Need(size_ + 1);
    data_[size_++] = value;
  }
  void emplace_back(int64_t value) { push_back(value); }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void reserve(size_t count) { Need(count); }
  void resize(size_t count, int64_t value = 0) {
    Need(count);
    for (size_t i = size_; i < count; ++i) {
      data_[i] = value;
    }
    size_ = static_cast<int32_t>(count);
  }
  iterator insert(const_iterator at, int64_t value) { return insert(at, &value, &value + 1); }
  iterator insert(const_iterator at, size_t count, int64_t value) {
    const DimVector values(count, value);
    return insert(at, values.begin(), values.end());
  }
  template <class It, class = decltype(*std::declval<It>())>
  iterator insert(const_iterator at, It begin, It end) {
    const int64_t index = at - data_;
    const DimVector tail(at, cend());
    size_ = static_cast<int32_t>(index);
    for (; begin != end; ++begin) {
      push_back(static_cast<int64_t>(*begin));
    }
    for (int64_t value : tail) {
      push_back(value);
    }
    return data_ + index;
  }
  iterator erase(const_iterator at) { return erase(at, at + 1); }
  iterator erase(const_iterator first, const_iterator last) {
    iterator out = data_ + (first - data_);
    for (; last != cend(); ++last) {
      *out++ = *last;
    }
    const iterator next = data_ + (first - data_);
    size_ = static_cast<int32_t>(out - data_);
    return next;
  }

  size_t size() const { return static_cast<size_t>(size_); }
  bool empty() const { return size_ == 0; }
  int64_t* data() { return data_; }
  const int64_t* data() const { return data_; }
  iterator begin() { return data_; }
  iterator end() { return data_ + size_; }
  const_iterator begin() const { return data_; }
  const_iterator end() const { return data_ + size_; }
  const_iterator cbegin() const { return data_; }
  const_iterator cend() const { return data_ + size_; }
  int64_t& operator[](int64_t i) { return data_[i]; }
  const int64_t& operator[](int64_t i) const { return data_[i]; }
  int64_t& at(int64_t i) { return data_[Checked(i)]; }
  const int64_t& at(int64_t i) const { return data_[Checked(i)]; }
  int64_t& front() { return data_[0]; }
  int64_t& back() { return data_[size_ - 1]; }
  const int64_t& front() const { return data_[0]; }
  const int64_t& back() const { return data_[size_ - 1]; }

  friend bool operator==(const DimVector& a, const DimVector& b) {
    if (a.size_ != b.size_) {
      return false;
    }
    for (int32_t i = 0; i != a.size_; ++i) {
      if (a.data_[i] != b.data_[i]) {
        return false;
      }
    }
    return true;
  }
  friend bool operator!=(const DimVector& a, const DimVector& b) { return !(a == b); }

 private:
  ONEOP_NOINLINE void Copy(const int64_t* data, int64_t count) {
    Need(static_cast<size_t>(count));
    size_ = static_cast<int32_t>(count);
    if (count != 0) {
      std::memmove(data_, data, sizeof(int64_t) * static_cast<size_t>(count));
    }
  }
  static void Need(size_t count) {
    if (ONEOP_LIKELY(count <= ONEOP_MAX_DIMS)) {
      return;
    }
    using ::oneop::sdk::Digits;
    ::oneop::sdk::ThrowText(ONEOP_ERROR_VALUE,
                            {"a shape has ", Digits(static_cast<int64_t>(count)),
                             " dimensions, there may be ", Digits(ONEOP_MAX_DIMS)});
  }
  int64_t Checked(int64_t i) const {
    if (ONEOP_LIKELY(i >= 0 && i < size_)) {
      return i;
    }
    ::oneop::sdk::ThrowAxis(i, size_);
  }

  int32_t size_ = 0;
  int64_t data_[ONEOP_MAX_DIMS];
};

using AxisVector = DimVector;

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_SHAPE_VEC_H_
