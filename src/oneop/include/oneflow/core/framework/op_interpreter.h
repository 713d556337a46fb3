// OpExprInterpContext: what a call has beside its tensors.
#ifndef ONEFLOW_CORE_FRAMEWORK_OP_INTERPRETER_H_
#define ONEFLOW_CORE_FRAMEWORK_OP_INTERPRETER_H_

#include "oneflow/core/common/optional.h"
#include "oneflow/core/framework/attr_map.h"

namespace oneflow ONEOP_HIDDEN {

class NdSbp;
class ParallelDesc;

namespace user_op {
class OpKernelState;
}

namespace one {

// Attributes, which live as long as the context, and the device of a call without tensors. A state
// is accepted and not used: a kernel makes its own, from the attributes. A placement is refused by
// the call: tensors over several devices are DTensors here.
struct OpExprInterpContext {
  using Placement = Symbol<ParallelDesc>;
  using State = std::shared_ptr<user_op::OpKernelState>;

  OpExprInterpContext(const MutableAttrMap& map)  // NOLINT: implicit, as OneFlow
      : attrs_(&map.OneopStore()) {}
  OpExprInterpContext(const AttrMap& map)  // NOLINT: implicit, as OneFlow
      : kept_(map), attrs_(kept_.OneopStore()) {}
  template <class Map>
  OpExprInterpContext(const Map& map, const Symbol<Device>& on) : OpExprInterpContext(map) {
    device = on;
  }
  template <class Map>
  OpExprInterpContext(const Map& map, const Optional<Symbol<Device>>& on)
      : OpExprInterpContext(map) {
    device = on;
  }
  template <class Map>
  OpExprInterpContext(const Map& map, bool is_inplace) : OpExprInterpContext(map) {
    inplace = is_inplace;
  }
  template <class Map, class S,
            class = std::enable_if_t<std::is_convertible_v<S*, user_op::OpKernelState*>>>
  OpExprInterpContext(const Map& map, const std::shared_ptr<S>& kernel_state)
      : OpExprInterpContext(map) {
    state = kernel_state;
  }
  template <class Map, class S,
            class = std::enable_if_t<std::is_convertible_v<S*, user_op::OpKernelState*>>>
  OpExprInterpContext(const Map& map, const Symbol<Device>& on,
                      const std::shared_ptr<S>& kernel_state)
      : OpExprInterpContext(map, on) {
    state = kernel_state;
  }
  template <class Map, class... Rest>
  OpExprInterpContext(const Map& map, const Placement& placement, const Rest&...)
      : OpExprInterpContext(map) {
    parallel_desc = placement;
  }

  const ::oneop::sdk::AttrStore* OneopAttrs() const { return attrs_; }

  Optional<Symbol<Device>> device;
  Optional<Placement> parallel_desc;
  Optional<bool> inplace;
  State state;

 private:
  AttrMap kept_;
  const ::oneop::sdk::AttrStore* attrs_;
};

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_OP_INTERPRETER_H_
