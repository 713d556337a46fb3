// The OF_PP_* macros, which repeat a macro over sequences of tuples.
#ifndef ONEFLOW_CORE_COMMON_PREPROCESSOR_H_
#define ONEFLOW_CORE_COMMON_PREPROCESSOR_H_

// A sequence is `(a)(b)(c)`. A sequence of tuples is `((a, b))((c, d))`, made with
// OF_PP_MAKE_TUPLE_SEQ(a, b). Up to 128 elements a sequence and five sequences a product.

#define OF_PP_STRINGIZE(...) OF_PP_I_STRINGIZE(__VA_ARGS__)
#define OF_PP_I_STRINGIZE(...) #__VA_ARGS__
#define OF_PP_CAT(a, b) OF_PP_I_CAT(a, b)
#define OF_PP_I_CAT(a, b) a##b
#define OF_PP_JOIN OF_PP_CAT
#define OF_PP_FORCE(...) __VA_ARGS__
#define OF_PP_PAIR_FIRST(pair) OF_PP_I_FIRST pair
#define OF_PP_PAIR_SECOND(pair) OF_PP_I_SECOND pair
#define OF_PP_PAIR_THIRD(triple) OF_PP_I_THIRD triple
#define OF_PP_I_FIRST(a, ...) a
#define OF_PP_I_SECOND(a, b, ...) b
#define OF_PP_I_THIRD(a, b, c, ...) c
#define OF_PP_MAKE_TUPLE(...) (__VA_ARGS__)
#define OF_PP_MAKE_TUPLE_SEQ(...) ((__VA_ARGS__))
#define OF_PP_SEQ_HEAD(seq) OF_PP_I_UNPACK_FIRST((OF_PP_I_LIST(seq)))
#define OF_PP_SEQ_SIZE(seq) OF_PP_I_COUNT(OF_PP_I_LIST(seq))
#define OF_PP_TUPLE_SIZE(tuple) OF_PP_I_COUNT tuple

// macro(element) for each
#define OF_PP_FOR_EACH_ATOMIC(macro, seq) OF_PP_I_EACH_1(OF_PP_I_ATOMIC, macro, seq)
#define OF_PP_I_ATOMIC(macro, element) macro(element)
// macro(a, b) for each tuple (a, b)
#define OF_PP_FOR_EACH_TUPLE(macro, seq) OF_PP_I_EACH_1(OF_PP_I_TUPLE, macro, seq)
#define OF_PP_OUTTER_FOR_EACH_TUPLE(macro, seq) OF_PP_I_EACH_2(OF_PP_I_TUPLE, macro, seq)
#define OF_PP_I_TUPLE(macro, tuple) macro tuple
// macro(data, element) for each
#define OF_PP_FOR_EACH_WITH(macro, data, seq) OF_PP_I_EACH_1(macro, data, seq)

// macro(element), for each, as a sequence again; and element n of a tuple.
#define OF_PP_SEQ_MAP(macro, seq) OF_PP_I_EACH_1(OF_PP_I_MAPPED, macro, seq)
#define OF_PP_I_MAPPED(macro, element) (macro(element))
#define OF_PP_TUPLE_ELEM(n, tuple) OF_PP_I_CAT0(OF_PP_I_ELEM_, n) tuple
#define OF_PP_I_ELEM_0(a, ...) a
#define OF_PP_I_ELEM_1(a, b, ...) b
#define OF_PP_I_ELEM_2(a, b, c, ...) c
#define OF_PP_I_ELEM_3(a, b, c, d, ...) d

// macro(x, y, ...) for each x of the first sequence, each y of the second, ...
#define OF_PP_SEQ_PRODUCT_FOR_EACH_TUPLE(macro, ...) \
  OF_PP_I_CAT0(OF_PP_I_PRODUCT_, OF_PP_I_COUNT(__VA_ARGS__))(macro, __VA_ARGS__)
#define OF_PP_I_PRODUCT_1(macro, s1) OF_PP_I_EACH_1(OF_PP_I_ATOMIC, macro, s1)
#define OF_PP_I_PRODUCT_2(macro, s1, s2) OF_PP_I_EACH_1(OF_PP_I_P2, (macro, s2), s1)
#define OF_PP_I_P2(data, x) OF_PP_I_P2_(OF_PP_FORCE data, x)
#define OF_PP_I_P2_(...) OF_PP_I_P2__(__VA_ARGS__)
#define OF_PP_I_P2__(macro, s2, x) OF_PP_I_EACH_2(OF_PP_I_CALL, (macro, x), s2)
#define OF_PP_I_PRODUCT_3(macro, s1, s2, s3) OF_PP_I_EACH_1(OF_PP_I_P3, (macro, s2, s3), s1)
#define OF_PP_I_P3(data, x) OF_PP_I_P3_(OF_PP_FORCE data, x)
#define OF_PP_I_P3_(...) OF_PP_I_P3__(__VA_ARGS__)
#define OF_PP_I_P3__(macro, s2, s3, x) OF_PP_I_EACH_2(OF_PP_I_Q3, (macro, s3, x), s2)
#define OF_PP_I_Q3(data, y) OF_PP_I_Q3_(OF_PP_FORCE data, y)
#define OF_PP_I_Q3_(...) OF_PP_I_Q3__(__VA_ARGS__)
#define OF_PP_I_Q3__(macro, s3, x, y) OF_PP_I_EACH_3(OF_PP_I_CALL, (macro, x, y), s3)
#define OF_PP_I_PRODUCT_4(macro, s1, s2, s3, s4) OF_PP_I_EACH_1(OF_PP_I_P4, (macro, s2, s3, s4), s1)
#define OF_PP_I_P4(data, x) OF_PP_I_P4_(OF_PP_FORCE data, x)
#define OF_PP_I_P4_(...) OF_PP_I_P4__(__VA_ARGS__)
#define OF_PP_I_P4__(macro, s2, s3, s4, x) OF_PP_I_EACH_2(OF_PP_I_Q4, (macro, s3, s4, x), s2)
#define OF_PP_I_Q4(data, y) OF_PP_I_Q4_(OF_PP_FORCE data, y)
#define OF_PP_I_Q4_(...) OF_PP_I_Q4__(__VA_ARGS__)
#define OF_PP_I_Q4__(macro, s3, s4, x, y) OF_PP_I_EACH_3(OF_PP_I_R4, (macro, s4, x, y), s3)
#define OF_PP_I_R4(data, z) OF_PP_I_R4_(OF_PP_FORCE data, z)
#define OF_PP_I_R4_(...) OF_PP_I_R4__(__VA_ARGS__)
#define OF_PP_I_R4__(macro, s4, x, y, z) OF_PP_I_EACH_4(OF_PP_I_CALL, (macro, x, y, z), s4)
#define OF_PP_I_PRODUCT_5(macro, s1, s2, s3, s4, s5) \
  OF_PP_I_EACH_1(OF_PP_I_P5, (macro, s2, s3, s4, s5), s1)
#define OF_PP_I_P5(data, x) OF_PP_I_P5_(OF_PP_FORCE data, x)
#define OF_PP_I_P5_(...) OF_PP_I_P5__(__VA_ARGS__)
#define OF_PP_I_P5__(macro, s2, s3, s4, s5, x) \
  OF_PP_I_EACH_2(OF_PP_I_Q5, (macro, s3, s4, s5, x), s2)
#define OF_PP_I_Q5(data, y) OF_PP_I_Q5_(OF_PP_FORCE data, y)
#define OF_PP_I_Q5_(...) OF_PP_I_Q5__(__VA_ARGS__)
#define OF_PP_I_Q5__(macro, s3, s4, s5, x, y) OF_PP_I_EACH_3(OF_PP_I_R5, (macro, s4, s5, x, y), s3)
#define OF_PP_I_R5(data, z) OF_PP_I_R5_(OF_PP_FORCE data, z)
#define OF_PP_I_R5_(...) OF_PP_I_R5__(__VA_ARGS__)
#define OF_PP_I_R5__(macro, s4, s5, x, y, z) OF_PP_I_EACH_4(OF_PP_I_S5, (macro, s5, x, y, z), s4)
#define OF_PP_I_S5(data, v) OF_PP_I_S5_(OF_PP_FORCE data, v)
#define OF_PP_I_S5_(...) OF_PP_I_S5__(__VA_ARGS__)
#define OF_PP_I_S5__(macro, s5, x, y, z, v) OF_PP_I_EACH_5(OF_PP_I_CALL, (macro, x, y, z, v), s5)
#define OF_PP_I_CALL(data, last) OF_PP_I_CALL_(OF_PP_FORCE data, last)
#define OF_PP_I_CALL_(...) OF_PP_I_CALL__(__VA_ARGS__)
#define OF_PP_I_CALL__(macro, ...) macro(__VA_ARGS__)

// `(a)(b)` -> `a, b`: two macros call each other along the sequence, and `_END` removes the one
// left over.
#define OF_PP_I_LIST(seq) OF_PP_I_DROP(OF_PP_I_END(OF_PP_I_LIST_A seq))
#define OF_PP_I_END(...) OF_PP_I_END_(__VA_ARGS__)
#define OF_PP_I_END_(...) __VA_ARGS__##_END
#define OF_PP_I_LIST_A(...) , __VA_ARGS__ OF_PP_I_LIST_B
#define OF_PP_I_LIST_B(...) , __VA_ARGS__ OF_PP_I_LIST_A
#define OF_PP_I_LIST_A_END
#define OF_PP_I_LIST_B_END
#define OF_PP_I_DROP(...) OF_PP_I_DROP_(__VA_ARGS__)
#define OF_PP_I_DROP_(empty, ...) __VA_ARGS__
#define OF_PP_I_UNPACK_FIRST(list) OF_PP_I_FIRST list

// One family of loops for each depth of nesting: a macro cannot be expanded inside itself. The
// author's macro may use OF_PP_CAT, so these have their own.
#define OF_PP_I_CAT0(a, b) OF_PP_I_CAT0_(a, b)
#define OF_PP_I_CAT0_(a, b) a##b
#define OF_PP_I_CAT1(a, b) OF_PP_I_CAT1_(a, b)
#define OF_PP_I_CAT1_(a, b) a##b
#define OF_PP_I_CAT2(a, b) OF_PP_I_CAT2_(a, b)
#define OF_PP_I_CAT2_(a, b) a##b
#define OF_PP_I_CAT3(a, b) OF_PP_I_CAT3_(a, b)
#define OF_PP_I_CAT3_(a, b) a##b
#define OF_PP_I_CAT4(a, b) OF_PP_I_CAT4_(a, b)
#define OF_PP_I_CAT4_(a, b) a##b
#define OF_PP_I_CAT5(a, b) OF_PP_I_CAT5_(a, b)
#define OF_PP_I_CAT5_(a, b) a##b

#include "oneop/sdk/preprocessor_loops.h"

#endif  // ONEFLOW_CORE_COMMON_PREPROCESSOR_H_
