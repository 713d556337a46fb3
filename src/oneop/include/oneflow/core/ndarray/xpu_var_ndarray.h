// XpuVarNdarray: a shape with the elements of a contiguous tensor.
#ifndef ONEFLOW_CORE_NDARRAY_XPU_VAR_NDARRAY_H_
#define ONEFLOW_CORE_NDARRAY_XPU_VAR_NDARRAY_H_

#include "oneflow/core/common/shape.h"
#include "oneop/sdk/port.h"

namespace oneflow ONEOP_HIDDEN {

using XpuShape = Shape;

template <class T>
class XpuVarNdarray {
 public:
  XpuVarNdarray(const Shape& shape, T* data) : shape_(shape), data_(data) {}
  XpuVarNdarray(const ShapeView& shape, T* data) : shape_(shape), data_(data) {}
  // Of a shape with ones in front, so that it has `ndim` dimensions.
  XpuVarNdarray(const Shape& shape, T* data, int64_t ndim)
      : shape_(::oneflow::CreateLeftExtendedShape(shape, ndim)), data_(data) {}
  XpuVarNdarray(const ShapeView& shape, T* data, int64_t ndim)
      : shape_(::oneflow::CreateLeftExtendedShape(shape, ndim)), data_(data) {}
  // A tensor that is not written may be one that could be.
  template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
  XpuVarNdarray(const XpuVarNdarray<U>& other)  // NOLINT: implicit
      : shape_(other.shape()), data_(other.ptr()) {}

  const Shape& shape() const { return shape_; }
  T* ptr() const { return data_; }
  T* host_ptr() const { return data_; }
  T* host_mut_ptr() const { return data_; }

 private:
  Shape shape_;
  T* data_;
};

template <class T>
struct XpuVarNdarrayBuilder {
  XpuVarNdarray<T> operator()(const Shape& shape, T* data) const { return {shape, data}; }
  XpuVarNdarray<T> operator()(const ShapeView& shape, T* data) const { return {shape, data}; }
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_NDARRAY_XPU_VAR_NDARRAY_H_
