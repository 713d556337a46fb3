// Ready-made computations on a device, each made by a factory. Here: for the CPU, on the host's
// threads. What is not provided for some types is null, as OneFlow's.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_PRIMITIVE_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_PRIMITIVE_H_

#include <memory>
#include <utility>

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/scalar.h"
#include "oneflow/core/ep/include/stream.h"

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {

class Primitive {
 public:
  Primitive() = default;
  Primitive(const Primitive&) = delete;
  Primitive& operator=(const Primitive&) = delete;
  virtual ~Primitive() = default;
};

template <class T>
class Factory {
 public:
  using PrimitiveType = T;
};

template <class FactoryType, class... A>
std::unique_ptr<typename FactoryType::PrimitiveType> NewPrimitive(DeviceType device, A&&... args) {
  if (device != kCPU) {
    return nullptr;
  }
  return FactoryType().New(std::forward<A>(args)...);
}

}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#include "oneop/sdk/port.h"  // which includes headers that need the above

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_PRIMITIVE_H_
