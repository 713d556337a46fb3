// StaticZerosTensor: zeros that take no memory, one element that is repeated. With -DONEOP_PORT
// alone: functors of OneFlow ask whether a tensor is one.
#ifndef ONEOP_SDK_PORT_STATIC_ZEROS_H_
#define ONEOP_SDK_PORT_STATIC_ZEROS_H_

#include "oneop/sdk/functor.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {

class StaticZerosTensor final : public Tensor {
 public:
  using Tensor::Tensor;
  static Maybe<StaticZerosTensor> MakeTensor(const std::shared_ptr<const Shape>& shape,
                                             DataType dtype, const Symbol<Device>& device) {
    using Pointer = std::shared_ptr<Tensor>;
    try {
      const auto zero =
          ::oneop::sdk::CallFunction<Pointer>("aten::zeros", Shape(), dtype, NullOpt, device);
      const auto zeros = ::oneop::sdk::CallFunction<Pointer>("aten::expand", zero, *shape);
      oneop_handle handle = zeros->oneop_handle_ptr();
      ::oneop::sdk::Retain(handle);
      return std::make_shared<StaticZerosTensor>(handle);
    } catch (const Exception& exception) {
      return exception.error();
    }
  }
};

namespace functional {

template <class = void>
bool IsStaticZerosTensor(const std::shared_ptr<Tensor>& x) {
  return dynamic_cast<const StaticZerosTensor*>(x.get()) != nullptr;
}

}  // namespace functional
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_PORT_STATIC_ZEROS_H_
