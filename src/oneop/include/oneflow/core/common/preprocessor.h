// The OF_PP_* macros, which repeat a macro over sequences of tuples.
#ifndef ONEFLOW_CORE_COMMON_PREPROCESSOR_H_
#define ONEFLOW_CORE_COMMON_PREPROCESSOR_H_

// A sequence is `(a)(b)(c)`. A sequence of tuples is `((a, b))((c, d))`, made with
// OF_PP_MAKE_TUPLE_SEQ(a, b). Up to 32 elements a sequence and four sequences a product.

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
#define OF_PP_I_COUNT(...)                                                                        \
  OF_PP_I_COUNT_(__VA_ARGS__, 32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, \
                 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1)
#define OF_PP_I_COUNT_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, \
                       a18, a19, a20, a21, a22, a23, a24, a25, a26, a27, a28, a29, a30, a31, a32,  \
                       n, ...)                                                                     \
  n
#define OF_PP_I_EACH_1(m, d, seq) OF_PP_I_EACH_1_(m, d, OF_PP_I_LIST(seq))
#define OF_PP_I_EACH_1_(m, d, ...) \
  OF_PP_I_CAT1(OF_PP_I_E1_, OF_PP_I_COUNT(__VA_ARGS__))(m, d, __VA_ARGS__)
#define OF_PP_I_E1_1(m, d, x) m(d, x)
#define OF_PP_I_E1_2(m, d, x, ...) m(d, x) OF_PP_I_E1_1(m, d, __VA_ARGS__)
#define OF_PP_I_E1_3(m, d, x, ...) m(d, x) OF_PP_I_E1_2(m, d, __VA_ARGS__)
#define OF_PP_I_E1_4(m, d, x, ...) m(d, x) OF_PP_I_E1_3(m, d, __VA_ARGS__)
#define OF_PP_I_E1_5(m, d, x, ...) m(d, x) OF_PP_I_E1_4(m, d, __VA_ARGS__)
#define OF_PP_I_E1_6(m, d, x, ...) m(d, x) OF_PP_I_E1_5(m, d, __VA_ARGS__)
#define OF_PP_I_E1_7(m, d, x, ...) m(d, x) OF_PP_I_E1_6(m, d, __VA_ARGS__)
#define OF_PP_I_E1_8(m, d, x, ...) m(d, x) OF_PP_I_E1_7(m, d, __VA_ARGS__)
#define OF_PP_I_E1_9(m, d, x, ...) m(d, x) OF_PP_I_E1_8(m, d, __VA_ARGS__)
#define OF_PP_I_E1_10(m, d, x, ...) m(d, x) OF_PP_I_E1_9(m, d, __VA_ARGS__)
#define OF_PP_I_E1_11(m, d, x, ...) m(d, x) OF_PP_I_E1_10(m, d, __VA_ARGS__)
#define OF_PP_I_E1_12(m, d, x, ...) m(d, x) OF_PP_I_E1_11(m, d, __VA_ARGS__)
#define OF_PP_I_E1_13(m, d, x, ...) m(d, x) OF_PP_I_E1_12(m, d, __VA_ARGS__)
#define OF_PP_I_E1_14(m, d, x, ...) m(d, x) OF_PP_I_E1_13(m, d, __VA_ARGS__)
#define OF_PP_I_E1_15(m, d, x, ...) m(d, x) OF_PP_I_E1_14(m, d, __VA_ARGS__)
#define OF_PP_I_E1_16(m, d, x, ...) m(d, x) OF_PP_I_E1_15(m, d, __VA_ARGS__)
#define OF_PP_I_E1_17(m, d, x, ...) m(d, x) OF_PP_I_E1_16(m, d, __VA_ARGS__)
#define OF_PP_I_E1_18(m, d, x, ...) m(d, x) OF_PP_I_E1_17(m, d, __VA_ARGS__)
#define OF_PP_I_E1_19(m, d, x, ...) m(d, x) OF_PP_I_E1_18(m, d, __VA_ARGS__)
#define OF_PP_I_E1_20(m, d, x, ...) m(d, x) OF_PP_I_E1_19(m, d, __VA_ARGS__)
#define OF_PP_I_E1_21(m, d, x, ...) m(d, x) OF_PP_I_E1_20(m, d, __VA_ARGS__)
#define OF_PP_I_E1_22(m, d, x, ...) m(d, x) OF_PP_I_E1_21(m, d, __VA_ARGS__)
#define OF_PP_I_E1_23(m, d, x, ...) m(d, x) OF_PP_I_E1_22(m, d, __VA_ARGS__)
#define OF_PP_I_E1_24(m, d, x, ...) m(d, x) OF_PP_I_E1_23(m, d, __VA_ARGS__)
#define OF_PP_I_E1_25(m, d, x, ...) m(d, x) OF_PP_I_E1_24(m, d, __VA_ARGS__)
#define OF_PP_I_E1_26(m, d, x, ...) m(d, x) OF_PP_I_E1_25(m, d, __VA_ARGS__)
#define OF_PP_I_E1_27(m, d, x, ...) m(d, x) OF_PP_I_E1_26(m, d, __VA_ARGS__)
#define OF_PP_I_E1_28(m, d, x, ...) m(d, x) OF_PP_I_E1_27(m, d, __VA_ARGS__)
#define OF_PP_I_E1_29(m, d, x, ...) m(d, x) OF_PP_I_E1_28(m, d, __VA_ARGS__)
#define OF_PP_I_E1_30(m, d, x, ...) m(d, x) OF_PP_I_E1_29(m, d, __VA_ARGS__)
#define OF_PP_I_E1_31(m, d, x, ...) m(d, x) OF_PP_I_E1_30(m, d, __VA_ARGS__)
#define OF_PP_I_E1_32(m, d, x, ...) m(d, x) OF_PP_I_E1_31(m, d, __VA_ARGS__)
#define OF_PP_I_EACH_2(m, d, seq) OF_PP_I_EACH_2_(m, d, OF_PP_I_LIST(seq))
#define OF_PP_I_EACH_2_(m, d, ...) \
  OF_PP_I_CAT2(OF_PP_I_E2_, OF_PP_I_COUNT(__VA_ARGS__))(m, d, __VA_ARGS__)
#define OF_PP_I_E2_1(m, d, x) m(d, x)
#define OF_PP_I_E2_2(m, d, x, ...) m(d, x) OF_PP_I_E2_1(m, d, __VA_ARGS__)
#define OF_PP_I_E2_3(m, d, x, ...) m(d, x) OF_PP_I_E2_2(m, d, __VA_ARGS__)
#define OF_PP_I_E2_4(m, d, x, ...) m(d, x) OF_PP_I_E2_3(m, d, __VA_ARGS__)
#define OF_PP_I_E2_5(m, d, x, ...) m(d, x) OF_PP_I_E2_4(m, d, __VA_ARGS__)
#define OF_PP_I_E2_6(m, d, x, ...) m(d, x) OF_PP_I_E2_5(m, d, __VA_ARGS__)
#define OF_PP_I_E2_7(m, d, x, ...) m(d, x) OF_PP_I_E2_6(m, d, __VA_ARGS__)
#define OF_PP_I_E2_8(m, d, x, ...) m(d, x) OF_PP_I_E2_7(m, d, __VA_ARGS__)
#define OF_PP_I_E2_9(m, d, x, ...) m(d, x) OF_PP_I_E2_8(m, d, __VA_ARGS__)
#define OF_PP_I_E2_10(m, d, x, ...) m(d, x) OF_PP_I_E2_9(m, d, __VA_ARGS__)
#define OF_PP_I_E2_11(m, d, x, ...) m(d, x) OF_PP_I_E2_10(m, d, __VA_ARGS__)
#define OF_PP_I_E2_12(m, d, x, ...) m(d, x) OF_PP_I_E2_11(m, d, __VA_ARGS__)
#define OF_PP_I_E2_13(m, d, x, ...) m(d, x) OF_PP_I_E2_12(m, d, __VA_ARGS__)
#define OF_PP_I_E2_14(m, d, x, ...) m(d, x) OF_PP_I_E2_13(m, d, __VA_ARGS__)
#define OF_PP_I_E2_15(m, d, x, ...) m(d, x) OF_PP_I_E2_14(m, d, __VA_ARGS__)
#define OF_PP_I_E2_16(m, d, x, ...) m(d, x) OF_PP_I_E2_15(m, d, __VA_ARGS__)
#define OF_PP_I_E2_17(m, d, x, ...) m(d, x) OF_PP_I_E2_16(m, d, __VA_ARGS__)
#define OF_PP_I_E2_18(m, d, x, ...) m(d, x) OF_PP_I_E2_17(m, d, __VA_ARGS__)
#define OF_PP_I_E2_19(m, d, x, ...) m(d, x) OF_PP_I_E2_18(m, d, __VA_ARGS__)
#define OF_PP_I_E2_20(m, d, x, ...) m(d, x) OF_PP_I_E2_19(m, d, __VA_ARGS__)
#define OF_PP_I_E2_21(m, d, x, ...) m(d, x) OF_PP_I_E2_20(m, d, __VA_ARGS__)
#define OF_PP_I_E2_22(m, d, x, ...) m(d, x) OF_PP_I_E2_21(m, d, __VA_ARGS__)
#define OF_PP_I_E2_23(m, d, x, ...) m(d, x) OF_PP_I_E2_22(m, d, __VA_ARGS__)
#define OF_PP_I_E2_24(m, d, x, ...) m(d, x) OF_PP_I_E2_23(m, d, __VA_ARGS__)
#define OF_PP_I_E2_25(m, d, x, ...) m(d, x) OF_PP_I_E2_24(m, d, __VA_ARGS__)
#define OF_PP_I_E2_26(m, d, x, ...) m(d, x) OF_PP_I_E2_25(m, d, __VA_ARGS__)
#define OF_PP_I_E2_27(m, d, x, ...) m(d, x) OF_PP_I_E2_26(m, d, __VA_ARGS__)
#define OF_PP_I_E2_28(m, d, x, ...) m(d, x) OF_PP_I_E2_27(m, d, __VA_ARGS__)
#define OF_PP_I_E2_29(m, d, x, ...) m(d, x) OF_PP_I_E2_28(m, d, __VA_ARGS__)
#define OF_PP_I_E2_30(m, d, x, ...) m(d, x) OF_PP_I_E2_29(m, d, __VA_ARGS__)
#define OF_PP_I_E2_31(m, d, x, ...) m(d, x) OF_PP_I_E2_30(m, d, __VA_ARGS__)
#define OF_PP_I_E2_32(m, d, x, ...) m(d, x) OF_PP_I_E2_31(m, d, __VA_ARGS__)
#define OF_PP_I_EACH_3(m, d, seq) OF_PP_I_EACH_3_(m, d, OF_PP_I_LIST(seq))
#define OF_PP_I_EACH_3_(m, d, ...) \
  OF_PP_I_CAT3(OF_PP_I_E3_, OF_PP_I_COUNT(__VA_ARGS__))(m, d, __VA_ARGS__)
#define OF_PP_I_E3_1(m, d, x) m(d, x)
#define OF_PP_I_E3_2(m, d, x, ...) m(d, x) OF_PP_I_E3_1(m, d, __VA_ARGS__)
#define OF_PP_I_E3_3(m, d, x, ...) m(d, x) OF_PP_I_E3_2(m, d, __VA_ARGS__)
#define OF_PP_I_E3_4(m, d, x, ...) m(d, x) OF_PP_I_E3_3(m, d, __VA_ARGS__)
#define OF_PP_I_E3_5(m, d, x, ...) m(d, x) OF_PP_I_E3_4(m, d, __VA_ARGS__)
#define OF_PP_I_E3_6(m, d, x, ...) m(d, x) OF_PP_I_E3_5(m, d, __VA_ARGS__)
#define OF_PP_I_E3_7(m, d, x, ...) m(d, x) OF_PP_I_E3_6(m, d, __VA_ARGS__)
#define OF_PP_I_E3_8(m, d, x, ...) m(d, x) OF_PP_I_E3_7(m, d, __VA_ARGS__)
#define OF_PP_I_E3_9(m, d, x, ...) m(d, x) OF_PP_I_E3_8(m, d, __VA_ARGS__)
#define OF_PP_I_E3_10(m, d, x, ...) m(d, x) OF_PP_I_E3_9(m, d, __VA_ARGS__)
#define OF_PP_I_E3_11(m, d, x, ...) m(d, x) OF_PP_I_E3_10(m, d, __VA_ARGS__)
#define OF_PP_I_E3_12(m, d, x, ...) m(d, x) OF_PP_I_E3_11(m, d, __VA_ARGS__)
#define OF_PP_I_E3_13(m, d, x, ...) m(d, x) OF_PP_I_E3_12(m, d, __VA_ARGS__)
#define OF_PP_I_E3_14(m, d, x, ...) m(d, x) OF_PP_I_E3_13(m, d, __VA_ARGS__)
#define OF_PP_I_E3_15(m, d, x, ...) m(d, x) OF_PP_I_E3_14(m, d, __VA_ARGS__)
#define OF_PP_I_E3_16(m, d, x, ...) m(d, x) OF_PP_I_E3_15(m, d, __VA_ARGS__)
#define OF_PP_I_E3_17(m, d, x, ...) m(d, x) OF_PP_I_E3_16(m, d, __VA_ARGS__)
#define OF_PP_I_E3_18(m, d, x, ...) m(d, x) OF_PP_I_E3_17(m, d, __VA_ARGS__)
#define OF_PP_I_E3_19(m, d, x, ...) m(d, x) OF_PP_I_E3_18(m, d, __VA_ARGS__)
#define OF_PP_I_E3_20(m, d, x, ...) m(d, x) OF_PP_I_E3_19(m, d, __VA_ARGS__)
#define OF_PP_I_E3_21(m, d, x, ...) m(d, x) OF_PP_I_E3_20(m, d, __VA_ARGS__)
#define OF_PP_I_E3_22(m, d, x, ...) m(d, x) OF_PP_I_E3_21(m, d, __VA_ARGS__)
#define OF_PP_I_E3_23(m, d, x, ...) m(d, x) OF_PP_I_E3_22(m, d, __VA_ARGS__)
#define OF_PP_I_E3_24(m, d, x, ...) m(d, x) OF_PP_I_E3_23(m, d, __VA_ARGS__)
#define OF_PP_I_E3_25(m, d, x, ...) m(d, x) OF_PP_I_E3_24(m, d, __VA_ARGS__)
#define OF_PP_I_E3_26(m, d, x, ...) m(d, x) OF_PP_I_E3_25(m, d, __VA_ARGS__)
#define OF_PP_I_E3_27(m, d, x, ...) m(d, x) OF_PP_I_E3_26(m, d, __VA_ARGS__)
#define OF_PP_I_E3_28(m, d, x, ...) m(d, x) OF_PP_I_E3_27(m, d, __VA_ARGS__)
#define OF_PP_I_E3_29(m, d, x, ...) m(d, x) OF_PP_I_E3_28(m, d, __VA_ARGS__)
#define OF_PP_I_E3_30(m, d, x, ...) m(d, x) OF_PP_I_E3_29(m, d, __VA_ARGS__)
#define OF_PP_I_E3_31(m, d, x, ...) m(d, x) OF_PP_I_E3_30(m, d, __VA_ARGS__)
#define OF_PP_I_E3_32(m, d, x, ...) m(d, x) OF_PP_I_E3_31(m, d, __VA_ARGS__)
#define OF_PP_I_EACH_4(m, d, seq) OF_PP_I_EACH_4_(m, d, OF_PP_I_LIST(seq))
#define OF_PP_I_EACH_4_(m, d, ...) \
  OF_PP_I_CAT4(OF_PP_I_E4_, OF_PP_I_COUNT(__VA_ARGS__))(m, d, __VA_ARGS__)
#define OF_PP_I_E4_1(m, d, x) m(d, x)
#define OF_PP_I_E4_2(m, d, x, ...) m(d, x) OF_PP_I_E4_1(m, d, __VA_ARGS__)
#define OF_PP_I_E4_3(m, d, x, ...) m(d, x) OF_PP_I_E4_2(m, d, __VA_ARGS__)
#define OF_PP_I_E4_4(m, d, x, ...) m(d, x) OF_PP_I_E4_3(m, d, __VA_ARGS__)
#define OF_PP_I_E4_5(m, d, x, ...) m(d, x) OF_PP_I_E4_4(m, d, __VA_ARGS__)
#define OF_PP_I_E4_6(m, d, x, ...) m(d, x) OF_PP_I_E4_5(m, d, __VA_ARGS__)
#define OF_PP_I_E4_7(m, d, x, ...) m(d, x) OF_PP_I_E4_6(m, d, __VA_ARGS__)
#define OF_PP_I_E4_8(m, d, x, ...) m(d, x) OF_PP_I_E4_7(m, d, __VA_ARGS__)
#define OF_PP_I_E4_9(m, d, x, ...) m(d, x) OF_PP_I_E4_8(m, d, __VA_ARGS__)
#define OF_PP_I_E4_10(m, d, x, ...) m(d, x) OF_PP_I_E4_9(m, d, __VA_ARGS__)
#define OF_PP_I_E4_11(m, d, x, ...) m(d, x) OF_PP_I_E4_10(m, d, __VA_ARGS__)
#define OF_PP_I_E4_12(m, d, x, ...) m(d, x) OF_PP_I_E4_11(m, d, __VA_ARGS__)
#define OF_PP_I_E4_13(m, d, x, ...) m(d, x) OF_PP_I_E4_12(m, d, __VA_ARGS__)
#define OF_PP_I_E4_14(m, d, x, ...) m(d, x) OF_PP_I_E4_13(m, d, __VA_ARGS__)
#define OF_PP_I_E4_15(m, d, x, ...) m(d, x) OF_PP_I_E4_14(m, d, __VA_ARGS__)
#define OF_PP_I_E4_16(m, d, x, ...) m(d, x) OF_PP_I_E4_15(m, d, __VA_ARGS__)
#define OF_PP_I_E4_17(m, d, x, ...) m(d, x) OF_PP_I_E4_16(m, d, __VA_ARGS__)
#define OF_PP_I_E4_18(m, d, x, ...) m(d, x) OF_PP_I_E4_17(m, d, __VA_ARGS__)
#define OF_PP_I_E4_19(m, d, x, ...) m(d, x) OF_PP_I_E4_18(m, d, __VA_ARGS__)
#define OF_PP_I_E4_20(m, d, x, ...) m(d, x) OF_PP_I_E4_19(m, d, __VA_ARGS__)
#define OF_PP_I_E4_21(m, d, x, ...) m(d, x) OF_PP_I_E4_20(m, d, __VA_ARGS__)
#define OF_PP_I_E4_22(m, d, x, ...) m(d, x) OF_PP_I_E4_21(m, d, __VA_ARGS__)
#define OF_PP_I_E4_23(m, d, x, ...) m(d, x) OF_PP_I_E4_22(m, d, __VA_ARGS__)
#define OF_PP_I_E4_24(m, d, x, ...) m(d, x) OF_PP_I_E4_23(m, d, __VA_ARGS__)
#define OF_PP_I_E4_25(m, d, x, ...) m(d, x) OF_PP_I_E4_24(m, d, __VA_ARGS__)
#define OF_PP_I_E4_26(m, d, x, ...) m(d, x) OF_PP_I_E4_25(m, d, __VA_ARGS__)
#define OF_PP_I_E4_27(m, d, x, ...) m(d, x) OF_PP_I_E4_26(m, d, __VA_ARGS__)
#define OF_PP_I_E4_28(m, d, x, ...) m(d, x) OF_PP_I_E4_27(m, d, __VA_ARGS__)
#define OF_PP_I_E4_29(m, d, x, ...) m(d, x) OF_PP_I_E4_28(m, d, __VA_ARGS__)
#define OF_PP_I_E4_30(m, d, x, ...) m(d, x) OF_PP_I_E4_29(m, d, __VA_ARGS__)
#define OF_PP_I_E4_31(m, d, x, ...) m(d, x) OF_PP_I_E4_30(m, d, __VA_ARGS__)
#define OF_PP_I_E4_32(m, d, x, ...) m(d, x) OF_PP_I_E4_31(m, d, __VA_ARGS__)

#endif  // ONEFLOW_CORE_COMMON_PREPROCESSOR_H_
