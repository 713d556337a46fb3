// Names of the functions of one number.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_UNARY_OP_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_UNARY_OP_H_

#include "oneop/sdk/config.h"

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {

enum class UnaryOp {
  kIdentity,
  kElu,
  kCelu,
  kRelu,
  kGelu,
  kHardSwish,
  kHardSigmoid,
  kHardShrink,
  kHardTanh,
  kLeakyRelu,
  kMish,
  kSelu,
  kSilu,
  kSoftShrink,
  kSoftSign,
  kSoftPlus,
  kTanh,
  kThreshold,
  kFastGelu,
  kQuickGelu,
  kSquareReLU,
  kAbs,
  kAcos,
  kAcosh,
  kAsin,
  kAsinh,
  kAtan,
  kAtanh,
  kCeil,
  kCos,
  kCosh,
  kDigamma,
  kTrigamma,
  kErf,
  kErfc,
  kExp,
  kExp2,
  kExpm1,
  kFloor,
  kLgamma,
  kLog,
  kLog2,
  kLog10,
  kLog1p,
  kLogSigmoid,
  kNegative,
  kReciprocal,
  kReciprocalNoNan,
  kRint,
  kRound,
  kRsqrt,
  kSigmoid,
  kSign,
  kSin,
  kSinh,
  kSqrt,
  kSquare,
  kTan,
  kTrunc,
  kNotEqualZero,
  kLogicalNot,
  kCast,
  kIsInf,
  kIsNan,
  kIsFinite,
  kNanAssign,
  kBitwiseNot,
  kConj,
  kReal,
  kImag,
  kRealGrad,
  kImagGrad,
};

}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_UNARY_OP_H_
