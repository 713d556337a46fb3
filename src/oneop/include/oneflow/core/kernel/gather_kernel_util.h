// Gathering rows by index, and summing rows into segments.
#ifndef ONEFLOW_CORE_KERNEL_GATHER_KERNEL_UTIL_H_
#define ONEFLOW_CORE_KERNEL_GATHER_KERNEL_UTIL_H_

#include <vector>

#include "oneop/sdk/port.h"

#define GATHER_DATA_TYPE_SEQ ARITHMETIC_DATA_TYPE_SEQ
#define UNSORTED_SEGMENT_SUM_DATA_TYPE_SEQ \
  FLOATING_DATA_TYPE_SEQ OF_PP_MAKE_TUPLE_SEQ(int32_t, DataType::kInt32)

namespace oneflow ONEOP_HIDDEN {

// `in` is (outer, rows, inner); an index outside of [offset, offset + rows) gives zeros.
template <DeviceType device_type, class T, class K>
struct GatherKernelUtilImpl {
  static_assert(device_type == kCPU, "GatherKernelUtilImpl is for the CPU");
  static void Forward(DeviceCtx*, const K* indices, int64_t num_indices, const T* in,
                      const Shape& in_shape, T* out, int64_t offset) {
    const int64_t outer = in_shape.At(0), rows = in_shape.At(1), inner = in_shape.At(2);
    ::oneop::parallel_for(
        0, outer * num_indices, 1 + ::oneop::sdk::kElementsAThread / (inner + 1),
        [=](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            const int64_t row = static_cast<int64_t>(indices[i % num_indices]) - offset;
            const bool is_inside = row >= 0 && row < rows;
            const T* from = in + (i / num_indices * rows + (is_inside ? row : 0)) * inner;
            for (int64_t k = 0; k < inner; ++k) {
              out[i * inner + k] = is_inside ? from[k] : T(0);
            }
          }
        });
  }
};

// `out` is (outer, segments, inner) and holds what the sums are added to.
template <DeviceType device_type, class T, class K>
struct UnsortedSegmentSumKernelUtil {
  static_assert(device_type == kCPU, "UnsortedSegmentSumKernelUtil is for the CPU");
  static void UnsortedSegmentSum(DeviceCtx*, const K* ids, const T* data, int64_t num_ids,
                                 int64_t num_segments, int64_t outer, int64_t inner, int64_t offset,
                                 T* out) {
    ::oneop::parallel_for(0, outer, 1, [=](int64_t begin, int64_t end) {
      for (int64_t o = begin; o < end; ++o) {
        for (int64_t i = 0; i < num_ids; ++i) {
          const int64_t segment = static_cast<int64_t>(ids[i]) - offset;
          if (segment < 0 || segment >= num_segments) {
            continue;
          }
          T* to = out + (o * num_segments + segment) * inner;
          const T* from = data + (o * num_ids + i) * inner;
          for (int64_t k = 0; k < inner; ++k) {
            to[k] += from[k];
          }
        }
      }
    });
  }
};

// As the two above, with indices of their own for each row of the batch. Shapes are (batch,
// indices, inner) of the output.
template <DeviceType device_type, class T, class K>
struct BatchGatherKernelUtilImpl {
  static_assert(device_type == kCPU, "BatchGatherKernelUtilImpl is for the CPU");
  static void Forward(DeviceCtx* ctx, const T* in, const K* indices, const Shape& shape,
                      int64_t rows, T* out) {
    const int64_t count = shape.At(1), inner = shape.At(2);
    for (int64_t b = 0; b < shape.At(0); ++b) {
      GatherKernelUtilImpl<device_type, T, K>::Forward(
          ctx, indices + b * count, count, in + b * rows * inner, Shape({1, rows, inner}),
          out + b * count * inner, 0);
    }
  }
  static void Backward(DeviceCtx* ctx, const T* out_diff, const K* indices, const Shape& shape,
                       int64_t rows, T* in_diff) {
    const int64_t count = shape.At(1), inner = shape.At(2);
    for (int64_t b = 0; b < shape.At(0); ++b) {
      UnsortedSegmentSumKernelUtil<device_type, T, K>::UnsortedSegmentSum(
          ctx, indices + b * count, out_diff + b * count * inner, count, rows, 1, inner, 0,
          in_diff + b * rows * inner);
    }
  }
};

// Rows with one index are summed: `indices_out` has each index once, in the order of appearance.
template <DeviceType device_type, class K, class T, class IDX>
struct IndexedSlicesReduceSumKernelUtil {
  static_assert(device_type == kCPU, "IndexedSlicesReduceSumKernelUtil is for the CPU");
  static void ReduceSum(DeviceCtx*, int64_t n, int64_t m, const K* indices, const T* values,
                        IDX* num_unique, K* indices_out, T* values_out, void*, int64_t) {
    HashMap<K, int64_t> places;
    std::fill(values_out, values_out + n * m, T(0));
    for (int64_t i = 0; i < n; ++i) {
      const auto found = places.emplace(indices[i], static_cast<int64_t>(places.size()));
      const int64_t place = found.first->second;
      indices_out[place] = indices[i];
      for (int64_t k = 0; k < m; ++k) {
        values_out[place * m + k] += values[i * m + k];
      }
    }
    *num_unique = static_cast<IDX>(places.size());
  }
  static void GetReduceSumWorkspaceSizeInBytes(DeviceCtx*, int64_t, int64_t, int64_t* bytes) {
    *bytes = 1;
  }
};

template <class T>
struct SquareSumParam {
  const T* ptr;
  int64_t count;
};
template <DeviceType device_type, class T>
struct SquareSumKernelUtil {
  static_assert(device_type == kCPU, "SquareSumKernelUtil is for the CPU");
  static void SquareSum(DeviceCtx*, int64_t n, const T* x, T* y) {
    *y = cblas_dot<T>(static_cast<int>(n), x, 1, x, 1);
  }
  static void MultiSquareSum(DeviceCtx* ctx, const std::vector<SquareSumParam<T>>& params, T* y) {
    *y = T(0);
    for (const auto& param : params) {
      T sum;
      SquareSum(ctx, param.count, param.ptr, &sum);
      *y += sum;
    }
  }
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_KERNEL_GATHER_KERNEL_UTIL_H_
