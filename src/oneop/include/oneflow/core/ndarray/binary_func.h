// Functions of two numbers, as types, for NdarrayUtil and NdarrayReduce.
#ifndef ONEFLOW_CORE_NDARRAY_BINARY_FUNC_H_
#define ONEFLOW_CORE_NDARRAY_BINARY_FUNC_H_

#include <cmath>

#include "oneflow/core/ndarray/xpu_util.h"
#include "oneop/sdk/cpu/arithmetic.h"
#include "oneop/sdk/cpu/special.h"

#define ARITHMETIC_BINARY_FUNC_NAME_SEQ (Add)(Sub)(Mul)(Div)(Min)(Max)(FloorMod)(FMod)(Pow)
#define LOGICAL_BINARY_FUNC_NAME_SEQ (EQ)(NE)(GT)(GE)(LT)(LE)(AND)(OR)(XOR)
#define REDUCE_BINARY_FUNC_NAME_SEQ (Sum)(Max)(Min)(Prod)(Any)(All)
#define ARITHMETIC_REDUCE_BINARY_FUNC_NAME_SEQ (Sum)(Max)(Min)(Prod)
#define LOGICAL_REDUCE_BINARY_FUNC_NAME_SEQ (Any)(All)
#define ARITHMETIC_BINARY_FUNC_SEQ \
  (BinaryFuncAdd)(BinaryFuncSub)(  \
      BinaryFuncMul)(BinaryFuncDiv)(BinaryFuncMin)(BinaryFuncMax)(BinaryFuncFloorMod)(BinaryFuncFMod)(BinaryFuncPow)
#define LOGICAL_BINARY_FUNC_SEQ \
  (BinaryFuncEQ)(BinaryFuncNE)( \
      BinaryFuncGT)(BinaryFuncGE)(BinaryFuncLT)(BinaryFuncLE)(BinaryFuncAND)(BinaryFuncOR)(BinaryFuncXOR)
#define ARITHMETIC_REDUCE_BINARY_FUNC_SEQ \
  (BinaryFuncSum)(BinaryFuncMax)(BinaryFuncMin)(BinaryFuncProd)
#define LOGICAL_REDUCE_BINARY_FUNC_SEQ (BinaryFuncAny)(BinaryFuncAll)
#define REDUCE_BINARY_FUNC_SEQ ARITHMETIC_REDUCE_BINARY_FUNC_SEQ LOGICAL_REDUCE_BINARY_FUNC_SEQ
#define REDUCE_COMPLEX_BINARY_FUNC_SEQ (BinaryFuncSum)
#define NANSUM_REDUCE_BINARY_FUNC_SEQ (BinaryFuncNanSum)

namespace oneflow ONEOP_HIDDEN {

// `kUnit` is what a reduction begins with.
#define ONEOP_BINARY_FUNC(Name, Result, expression)             \
  template <class Const>                                        \
  struct BinaryFunc##Name {                                     \
    using T = std::remove_const_t<Const>;                       \
    static OF_DEVICE_FUNC Result Invoke(const T x, const T y) { \
      return static_cast<Result>(expression);                   \
    }                                                           \
  };
ONEOP_BINARY_FUNC(Add, T, x + y)
ONEOP_BINARY_FUNC(Sum, T, x + y)
ONEOP_BINARY_FUNC(Sub, T, x - y)
ONEOP_BINARY_FUNC(Mul, T, x* y)
ONEOP_BINARY_FUNC(Prod, T, x* y)
ONEOP_BINARY_FUNC(Div, T, ::oneop::sdk::Quotient<T>(x, y))
ONEOP_BINARY_FUNC(Min, T, ::oneop::sdk::Smaller<T>(x, y))
ONEOP_BINARY_FUNC(Max, T, ::oneop::sdk::Larger<T>(x, y))
ONEOP_BINARY_FUNC(FloorMod, T, ::oneop::sdk::FloorRemainder<T>(x, y))
ONEOP_BINARY_FUNC(FloorDiv, T, ::oneop::sdk::FloorQuotient<T>(x, y))
ONEOP_BINARY_FUNC(FMod, T, ::oneop::sdk::Remainder<T>(x, y))
ONEOP_BINARY_FUNC(Pow, T, ::oneop::sdk::Power<T>(x, y))
ONEOP_BINARY_FUNC(NanSum, T, (x != x ? T(0) : x) + (y != y ? T(0) : y))
ONEOP_BINARY_FUNC(BitwiseAnd, T, x& y)
ONEOP_BINARY_FUNC(BitwiseOr, T, x | y)
ONEOP_BINARY_FUNC(BitwiseXor, T, x ^ y)
ONEOP_BINARY_FUNC(Zeta, T,
                  ::oneop::sdk::HurwitzZeta(static_cast<double>(x), static_cast<double>(y)))
ONEOP_BINARY_FUNC(EQ, bool, x == y)
ONEOP_BINARY_FUNC(NE, bool, x != y)
ONEOP_BINARY_FUNC(GT, bool, x > y)
ONEOP_BINARY_FUNC(GE, bool, x >= y)
ONEOP_BINARY_FUNC(LT, bool, x < y)
ONEOP_BINARY_FUNC(LE, bool, x <= y)
ONEOP_BINARY_FUNC(AND, bool, static_cast<bool>(x) && static_cast<bool>(y))
ONEOP_BINARY_FUNC(OR, bool, static_cast<bool>(x) || static_cast<bool>(y))
ONEOP_BINARY_FUNC(XOR, bool, static_cast<bool>(x) != static_cast<bool>(y))
ONEOP_BINARY_FUNC(Any, bool, static_cast<bool>(x) || static_cast<bool>(y))
ONEOP_BINARY_FUNC(All, bool, static_cast<bool>(x) && static_cast<bool>(y))
#undef ONEOP_BINARY_FUNC

// Comparison of close numbers, where a NaN is equal to another or not. Names alone, as in OneFlow:
// by them an op says how it may be split; with its tolerances it is BinaryOp::kIsClose.
template <class T>
struct BinaryFuncIEN;
template <class T>
struct BinaryFuncINN;

template <template <class> class BinaryFunc, class T>
struct BinaryFuncTrait {
  using return_type =
      std::remove_const_t<decltype(BinaryFunc<T>::Invoke(std::declval<T>(), std::declval<T>()))>;
};

// What a reduction of no elements gives.
template <class T, template <class> class BinaryFunc>
struct UnitOfBinaryFunc {
  static OF_DEVICE_FUNC T Val() {
    if constexpr (std::is_same_v<BinaryFunc<T>, BinaryFuncMax<T>>) {
      return ::oneop::sdk::LowerBound<T>();
    } else if constexpr (std::is_same_v<BinaryFunc<T>, BinaryFuncMin<T>>) {
      return ::oneop::sdk::UpperBound<T>();
    } else if constexpr (std::is_same_v<BinaryFunc<T>, BinaryFuncProd<T>> ||
                         std::is_same_v<BinaryFunc<T>, BinaryFuncAll<T>>) {
      return GetOneVal<T>();
    } else {
      return GetZeroVal<T>();
    }
  }
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_NDARRAY_BINARY_FUNC_H_
