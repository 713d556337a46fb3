// Between the index of an element and its offset in a contiguous tensor.
#ifndef ONEFLOW_CORE_COMMON_ND_INDEX_OFFSET_HELPER_H_
#define ONEFLOW_CORE_COMMON_ND_INDEX_OFFSET_HELPER_H_

#include "oneop/sdk/config.h"

namespace oneflow ONEOP_HIDDEN {

// At most N dimensions of integer type T; works on the host and in CUDA kernels.
template <class T, int N>
class NdIndexOffsetHelper {
 public:
  NdIndexOffsetHelper() = default;
  template <class... Dims>
  OF_DEVICE_FUNC explicit NdIndexOffsetHelper(T dim0, Dims... dims) {
    const T all[] = {dim0, static_cast<T>(dims)...};
    Init(all, 1 + static_cast<int>(sizeof...(dims)));
  }
  OF_DEVICE_FUNC explicit NdIndexOffsetHelper(const T* dims) { Init(dims, N); }
  template <class U>
  OF_DEVICE_FUNC explicit NdIndexOffsetHelper(const U* dims) {
    Init(dims, N);
  }
  OF_DEVICE_FUNC NdIndexOffsetHelper(const T* dims, int n) { Init(dims, n); }
  template <class U>
  OF_DEVICE_FUNC NdIndexOffsetHelper(const U* dims, int n) {
    Init(dims, n);
  }
  ~NdIndexOffsetHelper() = default;

  OF_DEVICE_FUNC T NdIndexToOffset(const T* index) const { return NdIndexToOffset(index, N); }
  OF_DEVICE_FUNC T NdIndexToOffset(const T* index, int n) const {
    T offset = 0;
    for (int i = 0; i < n && i < N; ++i) {
      offset += index[i] * stride_[i];
    }
    return offset;
  }
  template <class... Rest>
  OF_DEVICE_FUNC T NdIndexToOffset(T first, Rest... rest) const {
    const T index[] = {first, static_cast<T>(rest)...};
    return NdIndexToOffset(index, 1 + static_cast<int>(sizeof...(rest)));
  }
  OF_DEVICE_FUNC void OffsetToNdIndex(T offset, T* index) const {
    OffsetToNdIndex(offset, index, N);
  }
  OF_DEVICE_FUNC void OffsetToNdIndex(T offset, T* index, int n) const {
    for (int i = 0; i < n && i < N; ++i) {
      index[i] = offset / stride_[i];
      offset -= index[i] * stride_[i];
    }
  }
  template <class... Rest>
  OF_DEVICE_FUNC void OffsetToNdIndex(T offset, T& first, Rest&... rest) const {
    T index[1 + sizeof...(rest)];
    OffsetToNdIndex(offset, index, 1 + static_cast<int>(sizeof...(rest)));
    T* out[] = {&first, &rest...};
    for (int i = 0; i != 1 + static_cast<int>(sizeof...(rest)); ++i) {
      *out[i] = index[i];
    }
  }
  OF_DEVICE_FUNC constexpr int Size() const { return N; }

 protected:
  template <class U>
  OF_DEVICE_FUNC void Init(const U* dims, int n) {
    for (int i = n; i < N; ++i) {
      stride_[i] = 1;
    }
    T step = 1;
    for (int i = n - 1; i >= 0; --i) {
      stride_[i] = step;
      step *= static_cast<T>(dims[i]);
    }
    // A dimension of no elements has no index, but dividing by its stride must not end the process.
    for (int i = 0; i < n; ++i) {
      if (stride_[i] == 0) {
        stride_[i] = 1;
      }
    }
  }

  T stride_[N];
};

// The same for a tensor with other strides. A stride of 0 has no index of its own: it is 0.
template <class T, int N>
class NdIndexStrideOffsetHelper : public NdIndexOffsetHelper<T, N> {
 public:
  NdIndexStrideOffsetHelper() = default;
  template <class U>
  OF_DEVICE_FUNC explicit NdIndexStrideOffsetHelper(const U* strides)
      : NdIndexStrideOffsetHelper(strides, N) {}
  template <class U>
  OF_DEVICE_FUNC NdIndexStrideOffsetHelper(const U* strides, int n) {
    for (int i = 0; i < N; ++i) {
      this->stride_[i] = i < n ? static_cast<T>(strides[i]) : 1;
    }
  }
  OF_DEVICE_FUNC void OffsetToNdIndex(T offset, T* index) const {
    OffsetToNdIndex(offset, index, N);
  }
  OF_DEVICE_FUNC void OffsetToNdIndex(T offset, T* index, int n) const {
    for (int i = 0; i < n && i < N; ++i) {
      index[i] = this->stride_[i] == 0 ? 0 : offset / this->stride_[i];
      offset -= index[i] * this->stride_[i];
    }
  }
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_ND_INDEX_OFFSET_HELPER_H_
