// BalancedSplitter, equal parts whose first ones take the remainder.
#ifndef ONEFLOW_CORE_COMMON_BALANCED_SPLITTER_H_
#define ONEFLOW_CORE_COMMON_BALANCED_SPLITTER_H_

#include "oneflow/core/common/check.h"

namespace oneflow ONEOP_HIDDEN {

class Range {
 public:
  Range() = default;
  Range(int64_t begin, int64_t end) : begin_(begin), end_(end) {}
  int64_t begin() const { return begin_; }
  int64_t end() const { return end_; }
  int64_t size() const { return end_ - begin_; }
  friend bool operator==(const Range& a, const Range& b) {
    return a.begin_ == b.begin_ && a.end_ == b.end_;
  }
  friend bool operator!=(const Range& a, const Range& b) { return !(a == b); }

 private:
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

class BalancedSplitter {
 public:
  BalancedSplitter(int64_t total, int64_t parts) : parts_(parts) {
    CHECK_GT(parts, 0);
    each_ = total / parts;
    larger_ = total % parts;
  }
  Range At(int64_t part) const {
    CHECK_GE(part, 0);
    CHECK_LT(part, parts_);
    const int64_t begin = part * each_ + (part < larger_ ? part : larger_);
    return Range(begin, begin + each_ + (part < larger_ ? 1 : 0));
  }
  Range At(int64_t first, int64_t last) const { return Range(At(first).begin(), At(last).end()); }

 private:
  int64_t parts_;
  int64_t each_;
  int64_t larger_;
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_BALANCED_SPLITTER_H_
