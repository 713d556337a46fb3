// What OneFlow's framework.h brings in beside the user-op API, for sources that rely on it:
// standard headers and OneFlow's own utilities. Not part of framework.h, because it would double
// the time to parse it; `-DONEOP_PORT` (`oneop build --port`) adds it.
#ifndef ONEOP_SDK_PORT_H_
#define ONEOP_SDK_PORT_H_

#include <algorithm>
#include <array>
#include <cassert>
#include <cfenv>
#include <cfloat>
#include <climits>
#include <functional>
#include <iostream>
#include <limits>
#include <list>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include "oneflow/core/common/container_util.h"
#include "oneflow/core/common/hash_container.h"
#include "oneflow/core/common/nd_index_offset_helper.h"
#include "oneflow/core/common/protobuf.h"
#include "oneflow/core/common/scalar.h"
#include "oneflow/core/common/singleton.h"
#include "oneflow/core/framework/dtype.h"
#include "oneflow/core/framework/framework.h"
#include "oneflow/core/framework/unused_contexts.h"
#include "oneflow/core/job/sbp_parallel.h"
#include "oneflow/core/kernel/kernel_util.h"
#include "oneflow/core/register/blob.h"

namespace oneflow ONEOP_HIDDEN {
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
using GenBackwardOpConfFn = std::function<Maybe<void>(const UserOpWrapper&, const AddOpFn&)>;
using BackwardOpConfGenFn = std::function<Maybe<void>(BackwardOpConfContext*)>;
using IsMatchedHob = hob::Expr;
using DeviceAndStreamInferFn = std::function<Maybe<Symbol<Stream>>(DeviceAndStreamInferContext*)>;

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_PORT_H_
