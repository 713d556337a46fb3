// NdSbp as lists and text.
#ifndef ONEFLOW_CORE_FRAMEWORK_ND_SBP_H_
#define ONEFLOW_CORE_FRAMEWORK_ND_SBP_H_

#include "oneflow/core/job/nd_sbp_util.h"
#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {

inline Maybe<std::vector<std::string>> GetNdSbpStrList(
    const std::vector<Symbol<SbpParallel>>& list) {
  std::vector<std::string> texts;
  for (const auto& sbp : list) {
    texts.push_back(sbp->ToString());
  }
  return texts;
}
inline Maybe<std::vector<std::string>> GetNdSbpStrList(const Symbol<NdSbp>& nd_sbp) {
  return NdSbpToStringList(*nd_sbp);
}
inline Maybe<Symbol<NdSbp>> GetNdSbp(const std::vector<Symbol<SbpParallel>>& list) {
  NdSbp nd_sbp;
  for (const auto& sbp : list) {
    *nd_sbp.add_sbp_parallel() = *sbp;
  }
  return SymbolOf(nd_sbp);
}
inline std::string NdSbpToString(const Symbol<NdSbp>& nd_sbp) { return NdSbpToString(*nd_sbp); }
inline std::string SbpToString(const Symbol<SbpParallel>& sbp) { return sbp->ToString(); }

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_ND_SBP_H_
