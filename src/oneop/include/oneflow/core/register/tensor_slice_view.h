// TensorSliceView: a part of a tensor, as one range for each axis.
#ifndef ONEFLOW_CORE_REGISTER_TENSOR_SLICE_VIEW_H_
#define ONEFLOW_CORE_REGISTER_TENSOR_SLICE_VIEW_H_

#include <vector>

#include "oneflow/core/common/nd_index.h"
#include "oneflow/core/common/range.h"
#include "oneflow/core/common/shape.h"

namespace oneflow ONEOP_HIDDEN {

class TensorSliceView {
 public:
  TensorSliceView() = default;
  TensorSliceView(std::initializer_list<Range> ranges) : ranges_(ranges) { Update(); }
  explicit TensorSliceView(const std::vector<Range>& ranges) : ranges_(ranges) { Update(); }
  explicit TensorSliceView(const Shape& shape) {
    for (int64_t extent : shape) {
      ranges_.emplace_back(0, extent);
    }
    Update();
  }

  bool IsEmpty() const { return ranges_.empty(); }
  size_t NumAxes() const { return ranges_.size(); }
  const Range& At(int64_t axis) const { return ranges_.at(static_cast<size_t>(axis)); }
  const Shape& shape() const { return shape_; }
  const std::vector<Range>& range_vec() const { return ranges_; }

  // What both contain; empty where that is nothing.
  TensorSliceView Intersect(const TensorSliceView& other) const {
    CHECK_EQ(NumAxes(), other.NumAxes());
    std::vector<Range> ranges;
    for (size_t i = 0; i != NumAxes(); ++i) {
      const Range &a = ranges_[i], &b = other.ranges_[i];
      const int64_t begin = a.begin() < b.begin() ? b.begin() : a.begin();
      const int64_t end = a.end() < b.end() ? a.end() : b.end();
      if (begin >= end) {
        return TensorSliceView();
      }
      ranges.emplace_back(begin, end);
    }
    return TensorSliceView(ranges);
  }
  bool Contains(const TensorSliceView& other) const {
    return other.IsEmpty() || Intersect(other) == other;
  }
  // Where this one begins, seen from the other.
  NdIndex OffsetTo(const TensorSliceView& other) const {
    CHECK_EQ(NumAxes(), other.NumAxes());
    DimVector offsets;
    for (size_t i = 0; i != NumAxes(); ++i) {
      offsets.push_back(ranges_[i].begin() - other.ranges_[i].begin());
    }
    return NdIndex(offsets);
  }
  friend bool operator==(const TensorSliceView& a, const TensorSliceView& b) {
    return a.ranges_ == b.ranges_;
  }
  friend bool operator!=(const TensorSliceView& a, const TensorSliceView& b) { return !(a == b); }

 private:
  void Update() {
    DimVector dims;
    for (const Range& range : ranges_) {
      dims.push_back(range.size());
    }
    shape_ = Shape(dims);
  }
  std::vector<Range> ranges_;
  Shape shape_;
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_REGISTER_TENSOR_SLICE_VIEW_H_
