// Loops and functions that are written once for CPU and CUDA.
#ifndef ONEFLOW_CORE_NDARRAY_XPU_UTIL_H_
#define ONEFLOW_CORE_NDARRAY_XPU_UTIL_H_

#include "oneflow/core/common/util.h"
#include "oneflow/core/device/cuda_util.h"
#include "oneop/sdk/cpu/limits.h"
#include "oneop/sdk/port.h"

#if defined(__CUDACC__)
#define XPU_1D_KERNEL_LOOP(i, n) CUDA_1D_KERNEL_LOOP_T(int64_t, i, n)
#define XPU_1D_KERNEL_LOOP_BEGIN(i, n) CUDA_1D_KERNEL_LOOP_T(int64_t, i, n) {
#define XPU_1D_KERNEL_LOOP_END() }
#define XPU_BLOAD_THREAD_2D_KERNEL_LOOP(i, j, m, n)     \
  for (int64_t i = blockIdx.x; i < (m); i += gridDim.x) \
    for (int64_t j = threadIdx.x; j < (n); j += blockDim.x)
#define OF_GLOBAL_FUNC __global__
#else
#define XPU_1D_KERNEL_LOOP(i, n) FOR_RANGE(int64_t, i, 0, n)
#define XPU_1D_KERNEL_LOOP_BEGIN(i, n) \
  ::oneflow::MultiThreadLoop(static_cast<size_t>(n), [&](size_t i) {
#define XPU_1D_KERNEL_LOOP_END() \
  });
#define XPU_BLOAD_THREAD_2D_KERNEL_LOOP(i, j, m, n) \
  FOR_RANGE(int64_t, i, 0, m)                       \
  FOR_RANGE(int64_t, j, 0, n)
#define OF_GLOBAL_FUNC
#endif

// 0, 1, ... n as a sequence of tuples.
#define GET_SEQ(n) OF_PP_CAT(ONEOP_SEQ_TO_, n)
#define ONEOP_SEQ_TO_0 OF_PP_MAKE_TUPLE_SEQ(0)
#define ONEOP_SEQ_TO_1 ONEOP_SEQ_TO_0 OF_PP_MAKE_TUPLE_SEQ(1)
#define ONEOP_SEQ_TO_2 ONEOP_SEQ_TO_1 OF_PP_MAKE_TUPLE_SEQ(2)
#define ONEOP_SEQ_TO_3 ONEOP_SEQ_TO_2 OF_PP_MAKE_TUPLE_SEQ(3)
#define ONEOP_SEQ_TO_4 ONEOP_SEQ_TO_3 OF_PP_MAKE_TUPLE_SEQ(4)
#define ONEOP_SEQ_TO_5 ONEOP_SEQ_TO_4 OF_PP_MAKE_TUPLE_SEQ(5)
#define ONEOP_SEQ_TO_6 ONEOP_SEQ_TO_5 OF_PP_MAKE_TUPLE_SEQ(6)
#define ONEOP_SEQ_TO_7 ONEOP_SEQ_TO_6 OF_PP_MAKE_TUPLE_SEQ(7)

#endif  // ONEFLOW_CORE_NDARRAY_XPU_UTIL_H_
