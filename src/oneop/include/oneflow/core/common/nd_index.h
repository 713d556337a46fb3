// NdIndex: the position of an element, one number for each axis.
#ifndef ONEFLOW_CORE_COMMON_ND_INDEX_H_
#define ONEFLOW_CORE_COMMON_ND_INDEX_H_

#include <vector>

#include "oneflow/core/common/shape.h"

namespace oneflow ONEOP_HIDDEN {

class NdIndex : public ::oneop::sdk::ShapeReader<NdIndex> {
 public:
  NdIndex() = default;
  NdIndex(std::initializer_list<int64_t> index) : index_(index) {}
  explicit NdIndex(const DimVector& index) : index_(index) {}
  explicit NdIndex(const std::vector<int64_t>& index) : index_(index.begin(), index.end()) {}
  const DimVector& dim_vec() const { return index_; }
  void Set(int64_t axis, int64_t position) { index_.at(axis) = position; }

  int64_t OneopNdim() const { return static_cast<int64_t>(index_.size()); }
  const int64_t* OneopDims() const { return index_.data(); }

 private:
  DimVector index_;
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_ND_INDEX_H_
