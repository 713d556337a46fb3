// Signatures of an op by the names of its tensors, and SBP as text.
#ifndef ONEFLOW_CORE_JOB_SBP_PARALLEL_H_
#define ONEFLOW_CORE_JOB_SBP_PARALLEL_H_

#include <string>
#include <utility>
#include <vector>

#include "oneflow/core/common/hash_container.h"
#include "oneflow/core/common/maybe.h"
#include "oneflow/core/framework/device.h"
#include "oneflow/core/framework/sbp.h"

namespace oneflow ONEOP_HIDDEN {

// <argument>_<index>: how signatures name a tensor.
inline std::string GenRepeatedBn(const std::string& name, int32_t index) {
  return name + "_" + std::to_string(index);
}
inline std::pair<std::string, int32_t> GenUnRepeatedBn(const std::string& bn) {
  const size_t cut = bn.rfind('_');
  CHECK(cut != std::string::npos && cut + 1 < bn.size()) << bn << " names no tensor of an op";
  return {bn.substr(0, cut), std::atoi(bn.c_str() + cut + 1)};
}

class SbpSignature {
 public:
  using Map = HashMap<std::string, SbpParallel>;
  const Map& bn_in_op2sbp_parallel() const { return sbp_; }
  Map* mutable_bn_in_op2sbp_parallel() { return &sbp_; }
  int bn_in_op2sbp_parallel_size() const { return static_cast<int>(sbp_.size()); }
  void Clear() { sbp_.clear(); }
  friend bool operator==(const SbpSignature& a, const SbpSignature& b) { return a.sbp_ == b.sbp_; }
  friend bool operator!=(const SbpSignature& a, const SbpSignature& b) { return !(a == b); }

 private:
  Map sbp_;
};

class SbpSignatureList {
 public:
  const std::vector<SbpSignature>& sbp_signature() const { return list_; }
  std::vector<SbpSignature>* mutable_sbp_signature() { return &list_; }
  const SbpSignature& sbp_signature(int i) const { return list_.at(static_cast<size_t>(i)); }
  int sbp_signature_size() const { return static_cast<int>(list_.size()); }
  SbpSignature* add_sbp_signature() { return &list_.emplace_back(); }

 private:
  std::vector<SbpSignature> list_;
};

class NdSbpSignature {
 public:
  using Map = HashMap<std::string, NdSbp>;
  const Map& bn_in_op2nd_sbp() const { return sbp_; }
  Map* mutable_bn_in_op2nd_sbp() { return &sbp_; }
  int bn_in_op2nd_sbp_size() const { return static_cast<int>(sbp_.size()); }
  // as 0.4 calls them
  const Map& bn_in_op2parallel_distribution() const { return sbp_; }
  Map* mutable_bn_in_op2parallel_distribution() { return &sbp_; }
  int bn_in_op2parallel_distribution_size() const { return bn_in_op2nd_sbp_size(); }
  void Clear() { sbp_.clear(); }
  friend bool operator==(const NdSbpSignature& a, const NdSbpSignature& b) {
    return a.sbp_ == b.sbp_;
  }
  friend bool operator!=(const NdSbpSignature& a, const NdSbpSignature& b) { return !(a == b); }

 private:
  Map sbp_;
};
using ParallelDistribution = NdSbp;
using ParallelDistributionSignature = NdSbpSignature;

// --- "S(0)", "B", "P" ---

inline bool ParseSbpParallelFromString(const std::string& text, SbpParallel* sbp) {
  if (text == "B") {
    sbp->mutable_broadcast_parallel();
  } else if (text == "P") {
    sbp->mutable_partial_sum_parallel();
  } else {
    if (text.size() < 4 || text.compare(0, 2, "S(") != 0 || text.back() != ')') {
      return false;
    }
    const std::string digits = text.substr(2, text.size() - 3);
    if (digits.find_first_not_of("0123456789") != std::string::npos) {
      return false;
    }
    sbp->mutable_split_parallel()->set_axis(std::atoll(digits.c_str()));
  }
  return true;
}
inline bool IsValidSbpParallelString(const std::string& text) {
  SbpParallel sbp;
  return ParseSbpParallelFromString(text, &sbp);
}
inline std::string SbpParallelToString(const SbpParallel& sbp) { return sbp.ToString(); }
inline std::string SbpToString(const SbpParallel& sbp) { return sbp.ToString(); }

inline bool ParseNdSbpFromStringList(const std::vector<std::string>& list, NdSbp* nd_sbp) {
  for (const std::string& text : list) {
    if (!ParseSbpParallelFromString(text, nd_sbp->add_sbp_parallel())) {
      return false;
    }
  }
  return true;
}
inline std::vector<std::string> NdSbpToStringList(const NdSbp& nd_sbp) {
  std::vector<std::string> list;
  for (const SbpParallel& sbp : nd_sbp) {
    list.push_back(sbp.ToString());
  }
  return list;
}
// One SBP for each dimension of the mesh.
inline Maybe<std::vector<Symbol<SbpParallel>>> GetSbpList(const Symbol<NdSbp>& nd_sbp) {
  std::vector<Symbol<SbpParallel>> list;
  for (const SbpParallel& sbp : *nd_sbp) {
    list.push_back(SymbolOf(sbp));
  }
  return list;
}
namespace private_details {
inline Maybe<std::vector<Symbol<SbpParallel>>> RawGetSbpList(const Symbol<NdSbp>& nd_sbp) {
  return GetSbpList(nd_sbp);
}
}  // namespace private_details
// Who takes part, as text: the device and how many there are.
inline Maybe<std::string> PlacementToString(const ParallelDesc& desc) {
  return std::string(desc.device_tag()) + ":" + std::to_string(desc.parallel_num());
}
// A placement that is no call's is one device, which there is.
inline Maybe<void> CheckDeviceIdsIsValid(const Symbol<ParallelDesc>&) { return Maybe<void>::Ok(); }
inline std::string NdSbpToString(const NdSbp& nd_sbp) {
  std::string text = "(";
  for (const std::string& one : NdSbpToStringList(nd_sbp)) {
    text.append(text.size() == 1 ? "" : ", ").append(one);
  }
  return text + ")";
}

inline Maybe<Symbol<SbpParallel>> MakeSplitSbpParallel(int axis) {
  SbpParallel sbp;
  sbp.mutable_split_parallel()->set_axis(axis);
  return SymbolOf(sbp);
}
inline Maybe<Symbol<SbpParallel>> MakeBroadcastSbpParallel() {
  SbpParallel sbp;
  sbp.mutable_broadcast_parallel();
  return SymbolOf(sbp);
}
inline Maybe<Symbol<SbpParallel>> MakePartialSumSbpParallel() {
  SbpParallel sbp;
  sbp.mutable_partial_sum_parallel();
  return SymbolOf(sbp);
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_JOB_SBP_PARALLEL_H_
