// Split, Broadcast, PartialSum of a tensor over the devices; NdSbp for a mesh of them.
#ifndef ONEFLOW_CORE_FRAMEWORK_SBP_H_
#define ONEFLOW_CORE_FRAMEWORK_SBP_H_

#include <string>

#include "oneflow/core/common/error.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

class SplitParallel {
 public:
  int64_t axis() const { return axis_; }
  void set_axis(int64_t axis) { axis_ = static_cast<int32_t>(axis); }

 private:
  friend class SbpParallel;
  int32_t axis_ = 0;
};
class BroadcastParallel {};
class PartialSumParallel {};

class SbpParallel {
 public:
  SbpParallel() = default;
  explicit SbpParallel(const oneop_sbp& sbp) : kind_(sbp.kind) { split_.axis_ = sbp.axis; }
  oneop_sbp ToAbi() const { return {kind_, kind_ == ONEOP_SBP_SPLIT ? split_.axis_ : 0}; }

  bool has_split_parallel() const { return kind_ == ONEOP_SBP_SPLIT; }
  bool has_broadcast_parallel() const { return kind_ == ONEOP_SBP_BROADCAST; }
  bool has_partial_sum_parallel() const { return kind_ == ONEOP_SBP_PARTIAL_SUM; }
  const SplitParallel& split_parallel() const { return split_; }
  SplitParallel* mutable_split_parallel() {
    kind_ = ONEOP_SBP_SPLIT;
    return &split_;
  }
  BroadcastParallel* mutable_broadcast_parallel() {
    kind_ = ONEOP_SBP_BROADCAST;
    return &broadcast_;
  }
  PartialSumParallel* mutable_partial_sum_parallel() {
    kind_ = ONEOP_SBP_PARTIAL_SUM;
    return &partial_sum_;
  }
  void clear_parallel_type() { kind_ = ONEOP_SBP_UNSET; }
  void Clear() { kind_ = ONEOP_SBP_UNSET; }
  void clear_broadcast_parallel() { Clear(); }
  void clear_split_parallel() { Clear(); }
  void clear_partial_sum_parallel() { Clear(); }
  ONEOP_COLD std::string ToString() const {
    if (kind_ == ONEOP_SBP_BROADCAST) {
      return "B";
    }
    if (kind_ == ONEOP_SBP_PARTIAL_SUM) {
      return "P";
    }
    if (kind_ != ONEOP_SBP_SPLIT) {
      return "?";
    }
    std::string text("S(");
    ::oneop::sdk::AppendInt(&text, split_.axis_);
    return text.append(")");
  }
  std::string DebugString() const { return ToString(); }

  friend bool operator==(const SbpParallel& a, const SbpParallel& b) {
    return a.kind_ == b.kind_ && (a.kind_ != ONEOP_SBP_SPLIT || a.split_.axis() == b.split_.axis());
  }
  friend bool operator!=(const SbpParallel& a, const SbpParallel& b) { return !(a == b); }

 private:
  int32_t kind_ = ONEOP_SBP_UNSET;
  SplitParallel split_;
  BroadcastParallel broadcast_;
  PartialSumParallel partial_sum_;
};

// One SbpParallel for each dimension of the mesh, of which there are a few at most.
class NdSbp {
 public:
  static constexpr int kMaxMeshDims = 8;

  NdSbp() = default;
  NdSbp(const oneop_frame* frame, int32_t tensor) {
    for (int32_t i = 0; i != frame->sbp_dims; ++i) {
      *add_sbp_parallel() = SbpParallel(frame->sbp[int64_t{tensor} * frame->sbp_dims + i]);
    }
    // Where nothing is sharded there is one device, which has everything.
    if (size_ == 0) {
      add_sbp_parallel()->mutable_broadcast_parallel();
    }
  }

  int sbp_parallel_size() const { return size_; }
  const SbpParallel& sbp_parallel(int i) const { return parallel_[Checked(i)]; }
  SbpParallel* mutable_sbp_parallel(int i) { return &parallel_[Checked(i)]; }
  SbpParallel* add_sbp_parallel() {
    ++size_;
    return &parallel_[Checked(size_ - 1)];
  }
  void clear_sbp_parallel() { size_ = 0; }
  void Clear() { size_ = 0; }
  const SbpParallel* begin() const { return parallel_; }
  const SbpParallel* end() const { return parallel_ + size_; }
  SbpParallel* begin() { return parallel_; }
  SbpParallel* end() { return parallel_ + size_; }
  const NdSbp& sbp_parallel() const { return *this; }
  NdSbp* mutable_sbp_parallel() { return this; }

  friend bool operator==(const NdSbp& a, const NdSbp& b) {
    if (a.size_ != b.size_) {
      return false;
    }
    for (int i = 0; i != a.size_; ++i) {
      if (a.parallel_[i] != b.parallel_[i]) {
        return false;
      }
    }
    return true;
  }
  friend bool operator!=(const NdSbp& a, const NdSbp& b) { return !(a == b); }

 private:
  int Checked(int i) const {
    if (i >= 0 && i < size_ && size_ <= kMaxMeshDims) {
      return i;
    }
    ::oneop::sdk::ThrowText(ONEOP_ERROR_INDEX,
                            {"dimension ", ::oneop::sdk::Digits(i), " of a device mesh with ",
                             ::oneop::sdk::Digits(size_)});
  }

  int size_ = 0;
  SbpParallel parallel_[kMaxMeshDims];
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_SBP_H_
