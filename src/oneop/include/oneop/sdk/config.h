// The macros that every SDK header needs first.
#ifndef ONEOP_SDK_CONFIG_H_
#define ONEOP_SDK_CONFIG_H_

#include "oneop/abi.h"

#define ONEOP_SDK_VERSION "oneop 0.1.0"

// Put on every namespace block of the SDK, so that two op libraries in one process never share an
// SDK object, whatever flags they were compiled with. A class of the author's that derives from a
// hidden one may be more visible than it: that is harmless (nothing but `oneop_plugin` is ever
// looked up), and GCC need not mention it for each kernel.
#if defined(__GNUC__)
#define ONEOP_HIDDEN __attribute__((visibility("hidden")))
#define ONEOP_COLD __attribute__((cold, noinline))
#if defined(__clang__)
#define ONEOP_NOINLINE __attribute__((noinline))
#else
#define ONEOP_NOINLINE __attribute__((noinline, noclone))
#endif
#define ONEOP_LIKELY(x) __builtin_expect(!!(x), 1)
#pragma GCC diagnostic ignored "-Wattributes"
#else
#error "the oneop SDK needs GCC, clang, or nvcc with one of them"
#endif

#if defined(__CUDACC__)
#pragma nv_diag_suppress 611  // a kernel overrides one of the Compute functions, never all
#endif

// Functions of the SDK that are no templates are compiled once for a compiler and its flags, in
// sdk_functions.cpp and op_functions.cpp, and not in every source of every library: they were half
// of what the compiler did for a library of one op. `oneop.build` defines the macros below and
// links those objects. GCC's `#pragma interface` then keeps the inline functions of the header it
// stands in, to be inlined, but emits none of them. Without the macros (clang, nvcc, a build by
// hand) the headers are enough.
#if defined(ONEOP_SDK_APART)
#define ONEOP_INTERFACE _Pragma("interface")
#else
#define ONEOP_INTERFACE
#endif
#if defined(ONEOP_OP_APART)  // headers of oneop/op.h
#define ONEOP_OP_INTERFACE _Pragma("interface")
#else
#define ONEOP_OP_INTERFACE
#endif

// The generation of OneFlow's API that a source is written against, where it matters: 2020 (0.1 to
// 0.4), 2022 (to 0.8) or 2024. With 0, the default, what the generations return in different ways
// is a proxy that serves them all; `auto*` and `auto&` alone see the difference.
#if defined(ONEOP_PORT)
#define ONEOP_GENERATION ONEOP_PORT
#else
#define ONEOP_GENERATION 0
#endif

#define ONEOP_CAT_(a, b) a##b
#define ONEOP_CAT(a, b) ONEOP_CAT_(a, b)

#if defined(__CUDACC__)
#define OF_DEVICE_FUNC __device__ __host__ __forceinline__
#else
#define OF_DEVICE_FUNC inline
#endif

#endif  // ONEOP_SDK_CONFIG_H_
