// Which part of a tensor a device holds, from its SBP.
#ifndef ONEFLOW_CORE_JOB_ND_SBP_UTIL_H_
#define ONEFLOW_CORE_JOB_ND_SBP_UTIL_H_

#include "oneflow/core/job/sbp_parallel.h"
#include "oneflow/core/register/tensor_slice_view.h"
#include "oneop/sdk/context.h"

namespace oneflow ONEOP_HIDDEN {

inline bool NdSbpIsAllBroadcast(const NdSbp& nd_sbp) {
  for (const SbpParallel& sbp : nd_sbp) {
    if (!sbp.has_broadcast_parallel()) {
      return false;
    }
  }
  return true;
}
inline bool NdSbpIsAllPartialSum(const NdSbp& nd_sbp) {
  for (const SbpParallel& sbp : nd_sbp) {
    if (!sbp.has_partial_sum_parallel()) {
      return false;
    }
  }
  return true;
}
inline bool NdSbpIsAllSplit(const NdSbp& nd_sbp, int64_t axis) {
  for (const SbpParallel& sbp : nd_sbp) {
    if (!sbp.has_split_parallel() || sbp.split_parallel().axis() != axis) {
      return false;
    }
  }
  return true;
}
inline bool NdSbpHasPartialParallel(const NdSbp& nd_sbp) {
  for (const SbpParallel& sbp : nd_sbp) {
    if (sbp.has_partial_sum_parallel()) {
      return true;
    }
  }
  return false;
}
inline bool NdSbpHasBroadcastParallel(const NdSbp& nd_sbp) {
  for (const SbpParallel& sbp : nd_sbp) {
    if (sbp.has_broadcast_parallel()) {
      return true;
    }
  }
  return false;
}

// The part of the device at this position of the mesh: each dimension of the mesh that splits an
// axis cuts what the dimensions before it left.
inline TensorSliceView GetTensorSliceView4ParallelRank(const Shape& hierarchy, const NdSbp& nd_sbp,
                                                       const Shape& logical_shape,
                                                       const std::vector<int64_t>& rank) {
  std::vector<Range> ranges;
  for (int64_t extent : logical_shape) {
    ranges.emplace_back(0, extent);
  }
  for (int64_t i = 0; i != hierarchy.NumAxes(); ++i) {
    const SbpParallel& sbp = nd_sbp.sbp_parallel(static_cast<int>(i));
    if (!sbp.has_split_parallel()) {
      continue;
    }
    Range& range = ranges.at(static_cast<size_t>(sbp.split_parallel().axis()));
    const Range part =
        BalancedSplitter(range.size(), hierarchy.At(i)).At(rank.at(static_cast<size_t>(i)));
    range = Range(range.begin() + part.begin(), range.begin() + part.end());
  }
  return TensorSliceView(ranges);
}
inline TensorSliceView GetTensorSliceView4ParallelId(const Shape& hierarchy, const NdSbp& nd_sbp,
                                                     const Shape& logical_shape, int64_t id) {
  std::vector<int64_t> rank(static_cast<size_t>(hierarchy.NumAxes()));
  for (int64_t i = hierarchy.NumAxes(); i-- > 0; id /= hierarchy.At(i)) {
    rank[static_cast<size_t>(i)] = id % hierarchy.At(i);
  }
  return GetTensorSliceView4ParallelRank(hierarchy, nd_sbp, logical_shape, rank);
}
inline std::vector<TensorSliceView> GetTensorSliceView(const Shape& hierarchy, const NdSbp& nd_sbp,
                                                       const Shape& logical_shape) {
  std::vector<TensorSliceView> views;
  for (int64_t id = 0; id != hierarchy.elem_cnt(); ++id) {
    views.push_back(GetTensorSliceView4ParallelId(hierarchy, nd_sbp, logical_shape, id));
  }
  return views;
}

inline Maybe<Shape> GetPhysicalShape(const Shape& logical_shape, const NdSbp& nd_sbp,
                                     const ParallelDesc& desc, int64_t parallel_id) {
  return Shape(
      GetTensorSliceView4ParallelId(*desc.hierarchy(), nd_sbp, logical_shape, parallel_id).shape());
}
inline Maybe<Shape> GetPhysicalShape(const Shape& logical_shape, const NdSbp& nd_sbp,
                                     const ParallelDesc& desc, const ParallelContext& context) {
  return GetPhysicalShape(logical_shape, nd_sbp, desc, context.parallel_id());
}

// The whole, where every device has as much.
inline Maybe<Shape> GetLogicalShape(const Shape& physical_shape, const NdSbp& nd_sbp,
                                    const ParallelDesc& desc) {
  Shape logical(physical_shape);
  const auto hierarchy = desc.hierarchy();
  for (int64_t i = 0; i != hierarchy->NumAxes(); ++i) {
    const SbpParallel& sbp = nd_sbp.sbp_parallel(static_cast<int>(i));
    if (sbp.has_split_parallel()) {
      const int64_t axis = sbp.split_parallel().axis();
      logical.Set(axis, logical.At(axis) * hierarchy->At(i));
    }
  }
  return logical;
}

// Whether every device gets a part that is not empty.
inline Maybe<bool> FilterNdSbpByLogicalShape(const NdSbp& nd_sbp, Shape& logical_shape,
                                             const Shape& hierarchy) {
  for (int64_t i = 0; i != hierarchy.NumAxes(); ++i) {
    const SbpParallel& sbp = nd_sbp.sbp_parallel(static_cast<int>(i));
    if (!sbp.has_split_parallel()) {
      continue;
    }
    const int64_t axis = sbp.split_parallel().axis();
    if (axis >= logical_shape.NumAxes() || logical_shape.At(axis) % hierarchy.At(i) != 0) {
      return true;
    }
    logical_shape.Set(axis, logical_shape.At(axis) / hierarchy.At(i));
  }
  return false;
}
// Keeps the first of those that agree on these tensors.
inline void DeduplicateNdSbpSignatureList(std::vector<NdSbpSignature>* list,
                                          const std::vector<std::string>& names) {
  std::vector<NdSbpSignature> kept;
  for (NdSbpSignature& signature : *list) {
    bool is_new = true;
    for (const NdSbpSignature& other : kept) {
      bool is_same = true;
      for (const std::string& name : names) {
        is_same =
            is_same && signature.bn_in_op2nd_sbp().at(name) == other.bn_in_op2nd_sbp().at(name);
      }
      is_new = is_new && !is_same;
    }
    if (is_new) {
      kept.push_back(std::move(signature));
    }
  }
  list->swap(kept);
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_JOB_ND_SBP_UTIL_H_
