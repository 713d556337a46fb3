// DEFINE_STATIC_SWITCH_FUNC: one function for all types and ranks of some sequences, chosen when it
// is called: `SwitchF(SwitchCase(ndim, dtype), args...)`.
#ifndef ONEFLOW_CORE_COMMON_SWITCH_FUNC_H_
#define ONEFLOW_CORE_COMMON_SWITCH_FUNC_H_

#include <string>
#include <tuple>
#include <utility>

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/device_type.h"

template <class... Values>
auto SwitchCase(Values&&... values) {
  return std::make_tuple(std::forward<Values>(values)...);
}

// A choice: the type of the value it is made by, and pairs of (what the code gets, that value).
#define MAKE_TYPED_CTRV_SEQ(value_type, pairs) (value_type, pairs)
#define MAKE_DATA_TYPE_CTRV_SEQ(types) (::oneflow::DataType, types)
#define MAKE_DEVICE_TYPE_CTRV_SEQ(devices) \
  (::oneflow::DeviceType, OF_PP_FOR_EACH_TUPLE(ONEOP_SWITCH_TWICE, devices))
#define MAKE_NDIM_CTRV_SEQ(ranks) (int32_t, OF_PP_FOR_EACH_TUPLE(ONEOP_SWITCH_TWICE, ranks))
#define MAKE_STRINGIZED_DATA_TYPE_CTRV_SEQ(types) \
  (std::string, OF_PP_FOR_EACH_TUPLE(ONEOP_SWITCH_NAMED, types))
// The ranks for which OneFlow's own sources are compiled.
#define DIM_SEQ ONEOP_DIMS_TO_4 ONEOP_DIMS_FROM_5
#define ONEOP_DIMS_TO_4 \
  OF_PP_MAKE_TUPLE_SEQ(1) OF_PP_MAKE_TUPLE_SEQ(2) OF_PP_MAKE_TUPLE_SEQ(3) OF_PP_MAKE_TUPLE_SEQ(4)
#define ONEOP_DIMS_FROM_5 \
  OF_PP_MAKE_TUPLE_SEQ(5) OF_PP_MAKE_TUPLE_SEQ(6) OF_PP_MAKE_TUPLE_SEQ(7) OF_PP_MAKE_TUPLE_SEQ(8)
#define ONEOP_SWITCH_TWICE(x) OF_PP_MAKE_TUPLE_SEQ(x, x)
#define ONEOP_SWITCH_NAMED(type, code) OF_PP_MAKE_TUPLE_SEQ(type, #type)

#define DEFINE_STATIC_SWITCH_FUNC(result, name, make, ...) \
  ONEOP_CAT(ONEOP_SWITCH_, OF_PP_I_COUNT(__VA_ARGS__))(result, name, make, __VA_ARGS__)
#define ONEOP_SWITCH_FUNC(result, name, values, cases)                                      \
  template <class... Args>                                                                  \
  static result Switch##name(const std::tuple<OF_PP_FORCE values>& which, Args&&... args) { \
    cases;                                                                                  \
    ::oneop::sdk::ThrowText(ONEOP_ERROR_TYPE, {"Switch" #name " has no such case"});        \
  }
#define ONEOP_SWITCH_1(result, name, make, a) \
  ONEOP_SWITCH_FUNC(                          \
      result, name, (OF_PP_PAIR_FIRST(a)),    \
      OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(ONEOP_SWITCH_CASE_1, (make), (name), OF_PP_PAIR_SECOND(a)))
#define ONEOP_SWITCH_2(result, name, make, a, b)                                          \
  ONEOP_SWITCH_FUNC(result, name, (OF_PP_PAIR_FIRST(a), OF_PP_PAIR_FIRST(b)),             \
                    OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(ONEOP_SWITCH_CASE_2, (make), (name), \
                                                     OF_PP_PAIR_SECOND(a), OF_PP_PAIR_SECOND(b)))
#define ONEOP_SWITCH_3(result, name, make, a, b, c)                                               \
  ONEOP_SWITCH_FUNC(                                                                              \
      result, name, (OF_PP_PAIR_FIRST(a), OF_PP_PAIR_FIRST(b), OF_PP_PAIR_FIRST(c)),              \
      OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(ONEOP_SWITCH_CASE_3, ((make, name)), OF_PP_PAIR_SECOND(a), \
                                       OF_PP_PAIR_SECOND(b), OF_PP_PAIR_SECOND(c)))
#define ONEOP_SWITCH_4(result, name, make, a, b, c, d)                                            \
  ONEOP_SWITCH_FUNC(                                                                              \
      result, name,                                                                               \
      (OF_PP_PAIR_FIRST(a), OF_PP_PAIR_FIRST(b), OF_PP_PAIR_FIRST(c), OF_PP_PAIR_FIRST(d)),       \
      OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(ONEOP_SWITCH_CASE_4, ((make, name)), OF_PP_PAIR_SECOND(a), \
                                       OF_PP_PAIR_SECOND(b), OF_PP_PAIR_SECOND(c),                \
                                       OF_PP_PAIR_SECOND(d)))
#define ONEOP_SWITCH_CASE_4(both, a, b, c, d)                                               \
  if (which == SwitchCase(OF_PP_PAIR_SECOND(a), OF_PP_PAIR_SECOND(b), OF_PP_PAIR_SECOND(c), \
                          OF_PP_PAIR_SECOND(d))) {                                          \
    return OF_PP_PAIR_FIRST(both)(OF_PP_PAIR_SECOND(both), OF_PP_PAIR_FIRST(a),             \
                                  OF_PP_PAIR_FIRST(b), OF_PP_PAIR_FIRST(c),                 \
                                  OF_PP_PAIR_FIRST(d))(std::forward<Args>(args)...);        \
  }
#define ONEOP_SWITCH_CASE_1(make, name, a)                               \
  if (which == SwitchCase(OF_PP_PAIR_SECOND(a))) {                       \
    return make(name, OF_PP_PAIR_FIRST(a))(std::forward<Args>(args)...); \
  }
#define ONEOP_SWITCH_CASE_2(make, name, a, b)                                                 \
  if (which == SwitchCase(OF_PP_PAIR_SECOND(a), OF_PP_PAIR_SECOND(b))) {                      \
    return make(name, OF_PP_PAIR_FIRST(a), OF_PP_PAIR_FIRST(b))(std::forward<Args>(args)...); \
  }
#define ONEOP_SWITCH_CASE_3(both, a, b, c)                                                     \
  if (which == SwitchCase(OF_PP_PAIR_SECOND(a), OF_PP_PAIR_SECOND(b), OF_PP_PAIR_SECOND(c))) { \
    return OF_PP_PAIR_FIRST(both)(OF_PP_PAIR_SECOND(both), OF_PP_PAIR_FIRST(a),                \
                                  OF_PP_PAIR_FIRST(b),                                         \
                                  OF_PP_PAIR_FIRST(c))(std::forward<Args>(args)...);           \
  }

#endif  // ONEFLOW_CORE_COMMON_SWITCH_FUNC_H_
