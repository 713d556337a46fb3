// CopyNd: a box out of one tensor into another. Permute: dimensions in another order. ConstantPad:
// a tensor inside a larger one.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_COPY_ND_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_COPY_ND_H_

#include "oneflow/core/ep/include/primitive/memory.h"
#include "oneop/sdk/cpu/transpose.h"

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {

class CopyNd : public Primitive {
 public:
  void Launch(Stream*, DataType type, size_t num_dims, void* to, const int64_t* to_dims,
              const int64_t* to_at, const void* from, const int64_t* from_dims,
              const int64_t* from_at, const int64_t* extent) const {
    const size_t size = GetSizeOfDataType(type);
    int64_t to_offset, from_offset;
    auto loop = ::oneop::sdk::BoxLoop(static_cast<int64_t>(num_dims), to_dims, to_at, from_dims,
                                      from_at, extent, &to_offset, &from_offset);
    ::oneop::sdk::CopyElementsOfSize(
        &loop, size, static_cast<char*>(to) + to_offset * static_cast<int64_t>(size),
        static_cast<const char*>(from) + from_offset * static_cast<int64_t>(size));
  }
};
struct CopyNdFactory : Factory<CopyNd> {
  std::unique_ptr<CopyNd> New(size_t max_num_dims) {
    return max_num_dims <= ONEOP_MAX_DIMS ? std::make_unique<CopyNd>() : nullptr;
  }
};

class Permute : public Primitive {
 public:
  void Launch(Stream*, DataType type, size_t num_dims, const int64_t* dims, const void* from,
              const int* permutation, void* to) {
    auto loop = ::oneop::sdk::PermuteLoop(static_cast<int64_t>(num_dims), dims, permutation);
    ::oneop::sdk::CopyElementsOfSize(&loop, GetSizeOfDataType(type), to, from);
  }
};
struct PermuteFactory : Factory<Permute> {
  std::unique_ptr<Permute> New(size_t max_num_dims) {
    return max_num_dims <= ONEOP_MAX_DIMS ? std::make_unique<Permute>() : nullptr;
  }
};

// A padding below zero cuts off.
class ConstantPad : public Primitive {
 public:
  explicit ConstantPad(DataType type) : type_(type), fill_(type) {}
  void Launch(Stream* stream, size_t num_dims, const int64_t* dims, const void* from,
              const int64_t* before, const int64_t* after, Scalar value, void* to) {
    int64_t to_dims[ONEOP_MAX_DIMS], to_at[ONEOP_MAX_DIMS], from_at[ONEOP_MAX_DIMS];
    int64_t extent[ONEOP_MAX_DIMS];
    int64_t count = 1;
    for (size_t i = 0; i != num_dims; ++i) {
      const auto inside = [](int64_t pad) { return pad < 0 ? -pad : 0; };
      to_dims[i] = dims[i] + before[i] + after[i];
      CHECK_GE(to_dims[i], 0) << "a dimension of " << dims[i] << " elements cannot be padded by "
                              << before[i] << " and " << after[i];
      to_at[i] = before[i] < 0 ? 0 : before[i];
      from_at[i] = inside(before[i]);
      extent[i] = dims[i] - inside(before[i]) - inside(after[i]);
      extent[i] = extent[i] < 0 ? 0 : extent[i];
      count *= to_dims[i];
    }
    fill_.Launch(stream, to, value, static_cast<size_t>(count));
    CopyNd().Launch(stream, type_, num_dims, to, to_dims, to_at, from, dims, from_at, extent);
  }

 private:
  DataType type_;
  Fill fill_;
};
struct ConstantPadFactory : Factory<ConstantPad> {
  std::unique_ptr<ConstantPad> New(DataType type) {
    const bool is_known = ::oneop::sdk::WithNumberType(type, [](auto) {});
    return is_known ? std::make_unique<ConstantPad>(type) : nullptr;
  }
};

}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_COPY_ND_H_
