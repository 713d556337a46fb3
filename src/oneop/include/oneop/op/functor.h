// ONEOP_FUNCTOR: a functor with a name, which CUDA can call as well.
//
//   ONEOP_FUNCTOR(Swish, x, beta) { return x / (1 + exp(-beta * x)); }
//
// nvcc runs neither a generic lambda nor one that stands outside of a function on the GPU, so a .cu
// file writes functors so; a .cpp file may.
#ifndef ONEOP_OP_FUNCTOR_H_
#define ONEOP_OP_FUNCTOR_H_

#include "oneop/op/math/number.h"

#define ONEOP_FN_COUNT_(a, b, c, d, e, f, g, h, n, ...) n
#define ONEOP_FN_COUNT(...) ONEOP_FN_COUNT_(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)

#define ONEOP_FN_TYPES_1 class T0
#define ONEOP_FN_TYPES_2 ONEOP_FN_TYPES_1, class T1
#define ONEOP_FN_TYPES_3 ONEOP_FN_TYPES_2, class T2
#define ONEOP_FN_TYPES_4 ONEOP_FN_TYPES_3, class T3
#define ONEOP_FN_TYPES_5 ONEOP_FN_TYPES_4, class T4
#define ONEOP_FN_TYPES_6 ONEOP_FN_TYPES_5, class T5
#define ONEOP_FN_TYPES_7 ONEOP_FN_TYPES_6, class T6
#define ONEOP_FN_TYPES_8 ONEOP_FN_TYPES_7, class T7

#define ONEOP_FN_ARGS_1(a) T0 a
#define ONEOP_FN_ARGS_2(a, b) T0 a, T1 b
#define ONEOP_FN_ARGS_3(a, b, c) T0 a, T1 b, T2 c
#define ONEOP_FN_ARGS_4(a, b, c, d) T0 a, T1 b, T2 c, T3 d
#define ONEOP_FN_ARGS_5(a, b, c, d, e) T0 a, T1 b, T2 c, T3 d, T4 e
#define ONEOP_FN_ARGS_6(a, b, c, d, e, f) T0 a, T1 b, T2 c, T3 d, T4 e, T5 f
#define ONEOP_FN_ARGS_7(a, b, c, d, e, f, g) T0 a, T1 b, T2 c, T3 d, T4 e, T5 f, T6 g
#define ONEOP_FN_ARGS_8(a, b, c, d, e, f, g, h) T0 a, T1 b, T2 c, T3 d, T4 e, T5 f, T6 g, T7 h

#define ONEOP_FN_DEFINE(Name, count, ...) ONEOP_FN_DEFINE_(Name, count, __VA_ARGS__)
#define ONEOP_FN_DEFINE_(Name, count, ...)                                \
  namespace {                                                             \
  struct Name {                                                           \
    template <ONEOP_FN_TYPES_##count>                                     \
    ONEOP_BOTH auto operator()(ONEOP_FN_ARGS_##count(__VA_ARGS__)) const; \
  };                                                                      \
  }                                                                       \
  template <ONEOP_FN_TYPES_##count>                                       \
  ONEOP_BOTH auto Name::operator()(ONEOP_FN_ARGS_##count(__VA_ARGS__)) const
#define ONEOP_FUNCTOR(Name, ...) ONEOP_FN_DEFINE(Name, ONEOP_FN_COUNT(__VA_ARGS__), __VA_ARGS__)

#endif  // ONEOP_OP_FUNCTOR_H_
