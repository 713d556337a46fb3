// Shape, stride, data type and flags of a tensor, without its data.
#ifndef ONEFLOW_CORE_FRAMEWORK_TENSOR_DESC_H_
#define ONEFLOW_CORE_FRAMEWORK_TENSOR_DESC_H_

#include "oneflow/core/common/data_type.h"
#include "oneop/sdk/ref.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

enum MemoryFormat : int32_t { kContiguous = 0, kChannelsLast = 1, kMemoryFormatCount = 2 };

namespace user_op {

class TensorDesc {
 public:
  TensorDesc() = default;
  ONEOP_COLD explicit TensorDesc(const oneop_tensor& tensor)
      : shape_(tensor.shape, tensor.shape + tensor.ndim),
        data_type_(static_cast<DataType>(tensor.dtype)),
        is_dynamic_(tensor.is_dynamic != 0) {
    if (tensor.stride != nullptr) {
      stride_ = Stride(tensor.stride, tensor.stride + tensor.ndim);
    }
  }
  TensorDesc(const TensorDesc& other) = default;
  // The strides of an output are contiguous unless the author sets them; copying a desc is not
  // setting them.
  TensorDesc& operator=(const TensorDesc& other) {
    shape_ = other.shape_;
    data_type_ = other.data_type_;
    is_dynamic_ = other.is_dynamic_;
    memory_format_ = other.memory_format_;
    return *this;
  }

  const Shape& shape() const { return shape_; }
  const Stride& stride() const { return stride_; }
  DataType data_type() const { return data_type_; }
  bool is_dynamic() const { return is_dynamic_; }
  MemoryFormat memory_format() const { return memory_format_; }
  bool is_tensor_list() const { return false; }

  void set_shape(const Shape& shape) { shape_ = shape; }
  void set_stride(const Stride& stride) { *mut_stride() = stride; }
  void set_data_type(DataType type) { data_type_ = type; }
  void set_is_dynamic(bool is_dynamic) { is_dynamic_ = is_dynamic; }
  void set_memory_format(MemoryFormat format) { memory_format_ = format; }
  void set_is_tensor_list(bool) {}

  Shape* mut_shape() { return &shape_; }
  Stride* mut_stride() {
    stride_is_set_ = true;
    return &stride_;
  }
  DataType* mut_data_type() { return &data_type_; }
  bool* mut_is_dynamic() { return &is_dynamic_; }

  // Writes an inferred desc into the host's tensor, which has room for ONEOP_MAX_DIMS extents.
  ONEOP_COLD void OneopStore(oneop_tensor* tensor) const {
    const bool as_set = stride_is_set_ && stride_.NumAxes() == shape_.NumAxes();
    const Stride stride = as_set ? stride_ : Stride(shape_);
    tensor->ndim = static_cast<int32_t>(shape_.NumAxes());
    for (int32_t i = 0; i != tensor->ndim; ++i) {
      tensor->shape[i] = shape_.ptr()[i];
      if (tensor->stride != nullptr) {
        tensor->stride[i] = stride.ptr()[i];
      }
    }
    tensor->elem_cnt = shape_.elem_cnt();
    tensor->dtype = data_type_;
    tensor->is_dynamic = is_dynamic_;
  }

  friend bool operator==(const TensorDesc& a, const TensorDesc& b) {
    return a.shape_ == b.shape_ && a.data_type_ == b.data_type_ && a.is_dynamic_ == b.is_dynamic_;
  }
  friend bool operator!=(const TensorDesc& a, const TensorDesc& b) { return !(a == b); }

 private:
  Shape shape_;
  Stride stride_;
  DataType data_type_ = kInvalidDataType;
  MemoryFormat memory_format_ = kContiguous;
  bool is_dynamic_ = false;
  bool stride_is_set_ = false;
};

using NaiveTensorDesc = TensorDesc;

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

namespace oneop ONEOP_HIDDEN {
namespace sdk {

class TensorDescRef : public RefBase<oneflow::user_op::TensorDesc> {
 public:
  using RefBase::RefBase;
  const TensorDescRef& operator=(const oneflow::user_op::TensorDesc& value) const {
    *target_ = value;
    return *this;
  }
  const oneflow::Shape& shape() const { return target_->shape(); }
  const oneflow::Stride& stride() const { return target_->stride(); }
  oneflow::DataType data_type() const { return target_->data_type(); }
  bool is_dynamic() const { return target_->is_dynamic(); }
  oneflow::MemoryFormat memory_format() const { return target_->memory_format(); }
  bool is_tensor_list() const { return false; }
};

// The stride of an output: a pointer where it is written (0.8), a reference where it is read.
class OutputStrideRef : public ShapeReader<OutputStrideRef> {
 public:
  explicit OutputStrideRef(oneflow::user_op::TensorDesc* desc) : desc_(desc) {}
  oneflow::Stride& operator*() const { return *desc_->mut_stride(); }
  oneflow::Stride* operator->() const { return desc_->mut_stride(); }
  operator oneflow::Stride*() const { return desc_->mut_stride(); }
  operator const oneflow::Stride&() const { return desc_->stride(); }
  int64_t OneopNdim() const { return desc_->stride().OneopNdim(); }
  const int64_t* OneopDims() const { return desc_->stride().OneopDims(); }

 private:
  oneflow::user_op::TensorDesc* desc_;
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_TENSOR_DESC_H_
