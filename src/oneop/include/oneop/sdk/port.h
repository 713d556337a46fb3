// What OneFlow's framework.h brings in beside the user-op API, for sources that rely on it:
// standard headers and OneFlow's own utilities. Not part of framework.h, because it would double
// the time to parse it; `-DONEOP_PORT=<generation>` adds it (0, 2020, 2022 or 2024; config.h).
#ifndef ONEOP_SDK_PORT_H_
#define ONEOP_SDK_PORT_H_

#include "oneflow/core/common/complex.h"
#include "oneflow/core/common/container_util.h"
#include "oneflow/core/common/env_var/env_var.h"
#include "oneflow/core/common/hash_container.h"
#include "oneflow/core/common/nd_index_offset_helper.h"
#include "oneflow/core/common/optional.h"
#include "oneflow/core/common/protobuf.h"
#include "oneflow/core/common/scalar.h"
#include "oneflow/core/common/singleton.h"
#include "oneflow/core/common/small_vector.h"
#include "oneflow/core/common/switch_func.h"
#include "oneflow/core/ep/include/primitive/memory.h"
#include "oneflow/core/framework/dtype.h"
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/id_util.h"
#include "oneflow/core/framework/random_generator_impl.h"
#include "oneflow/core/framework/unused_contexts.h"
#include "oneflow/core/job/sbp_parallel.h"
#include "oneflow/core/kernel/kernel_util.h"
#include "oneflow/core/register/blob.h"
#include "oneop/sdk/port_basics.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// A function that may return nothing instead of Maybe<void>.
template <class... A>
class LenientFn {
 public:
  template <class F, class = std::enable_if_t<!std::is_same_v<std::decay_t<F>, LenientFn>>>
  LenientFn(F fn)  // NOLINT: implicit, as std::function
      : fn_([fn](A... args) { return CallAs<oneflow::Maybe<void>>(fn, args...); }) {}
  oneflow::Maybe<void> operator()(A... args) const { return fn_(args...); }

 private:
  std::function<oneflow::Maybe<void>(A...)> fn_;
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

constexpr int kShapeMaxAxisSize = ONEOP_MAX_DIMS;
#define SHAPE_MAX_AXIS_SIZE ONEOP_MAX_DIMS

inline Maybe<DeviceType> DeviceType4DeviceTag(const std::string& tag) {
  return hob::DeviceTypeOfTag(tag);
}

namespace user_op {

// Functions as the registration of an op or kernel takes them.
using TensorDescInferFn = std::function<Maybe<void>(InferContext*)>;
using DataTypeInferFn = TensorDescInferFn;
using GetSbpFn = std::function<Maybe<void>(SbpContext*)>;
using NdSbpInferFn = std::function<Maybe<void>(InferNdSbpFnContext*)>;
using CheckAttrFn = std::function<Maybe<void>(const UserOpDefWrapper&, const UserOpConfWrapper&)>;
using InputArgModifyFn =
    std::function<Maybe<void>(const GetInputArgModifier&, const UserOpConfWrapper&)>;
using OutputArgModifyFn =
    std::function<Maybe<void>(const GetOutputArgModifier&, const UserOpConfWrapper&)>;
using InferTmpSizeFn = std::function<size_t(InferContext*)>;
using OpKernelCreateFn = std::function<const OpKernel*()>;
using InplaceProposalFn = std::function<Maybe<void>(const InferContext&, AddInplaceArgPair)>;
using IsMatchedHob = hob::Expr;
using GenBackwardOpConfFn = ::oneop::sdk::LenientFn<const UserOpWrapper&, const AddOpFn&>;
using BackwardOpConfGenFn = ::oneop::sdk::LenientFn<BackwardOpConfContext*>;
constexpr const char kUserSourceOpTickInputArgName[] = "UserSourceOpTickInput";
using DeviceAndStreamInferFn = std::function<Maybe<Symbol<Stream>>(DeviceAndStreamInferContext*)>;

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_PORT_H_
