// MemoryCopier: copies a box between tensors, whose last dimension counts bytes.
#ifndef ONEFLOW_CORE_DEVICE_MEMORY_COPIER_H_
#define ONEFLOW_CORE_DEVICE_MEMORY_COPIER_H_

#include <memory>

#include "oneflow/core/common/nd_index.h"
#include "oneop/sdk/cpu/transpose.h"
#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {

struct MemoryCopyNdDesc {
  Shape dst_shape;
  Shape src_shape;
  NdIndex dst_pos;
  NdIndex src_pos;
  Shape extent;
  // Copying joins dimensions itself.
  MemoryCopyNdDesc CreateDimReducedDesc() const { return *this; }
};

class MemoryCopier {
 public:
  void Copy(DeviceCtx*, void* dst, const void* src, const MemoryCopyNdDesc& desc) const {
    CopyElem<char>(nullptr, dst, src, desc);
  }
  template <class T>
  void CopyElem(DeviceCtx*, void* dst, const void* src, const MemoryCopyNdDesc& desc) const {
    int64_t to, from;
    auto loop = ::oneop::sdk::BoxLoop(desc.extent.NumAxes(), desc.dst_shape.ptr(),
                                      desc.dst_pos.ptr(), desc.src_shape.ptr(), desc.src_pos.ptr(),
                                      desc.extent.ptr(), &to, &from);
    ::oneop::sdk::CopyElements(&loop, static_cast<T*>(dst) + to, static_cast<const T*>(src) + from);
  }
};
inline MemoryCopier* NewDefaultMemoryCopier(DeviceType type) {
  CHECK_EQ(type, kCPU);
  return new MemoryCopier();
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_DEVICE_MEMORY_COPIER_H_
