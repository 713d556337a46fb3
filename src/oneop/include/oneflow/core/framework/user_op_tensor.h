// The tensor that a kernel sees, laid over the ABI's struct.
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_TENSOR_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_TENSOR_H_

#include "oneflow/core/common/device_type.h"
#include "oneflow/core/framework/tensor_desc.h"
#include "oneop/sdk/frame.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Completes a message about a tensor, which does not know its own name, at the edge, which has the
// frame.
ONEOP_COLD inline std::string NameTensor(const oneop_frame* frame, const oneop_tensor* tensor,
                                         std::string_view message) {
  std::string name("scratch");
  for (int32_t i = 0; i != frame->num_inputs + frame->num_outputs; ++i) {
    const oneop_arg* arg = i < frame->num_inputs
                               ? ArgAt(frame, frame->inputs, i)
                               : ArgAt(frame, frame->outputs, i - frame->num_inputs);
    for (int32_t k = 0; k != arg->count; ++k) {
      if (TensorAt(frame, arg->first + k) != tensor) {
        continue;
      }
      name = Join({arg->name, arg->count == 1 ? "" : " ", Digits(k)});
      if (arg->count == 1) {
        name.pop_back();
      }
    }
  }
  return Join({"tensor \"", name, "\" of op \"", frame->op_type_name, "\" ", message});
}

// dptr<T> with the wrong T.
[[noreturn]] ONEOP_COLD inline void ThrowTensorType(const oneop_tensor* tensor,
                                                    const char* function, oneflow::DataType asked) {
  const oneflow::Error error(
      ONEOP_ERROR_TYPE, nullptr, 0,
      Join({"holds ", oneflow::FactsOf(static_cast<oneflow::DataType>(tensor->dtype)).name,
            ", the kernel asks for ", function, "<", oneflow::FactsOf(asked).cpp_name, ">"}));
  error.contents()->tensor = tensor;
  Throw(error);
}

// A kernel changes a shape that is the host's.
[[noreturn]] ONEOP_COLD inline void ThrowFixedShape(const oneop_tensor* tensor) {
  const oneflow::Error error(
      ONEOP_ERROR_VALUE, nullptr, 0,
      "has a fixed shape, which a kernel must not change; for an output whose "
      "size depends on data, inference says set_is_dynamic(true)");
  error.contents()->tensor = tensor;
  Throw(error);
}

// void, char and unsigned char mean bytes, and so does a scratch buffer.
template <class T>
inline void CheckTensorType(const oneop_tensor* tensor, const char* function) {
  using Plain = std::remove_cv_t<T>;
  if constexpr (!(std::is_void_v<Plain> || std::is_same_v<Plain, char> ||
                  std::is_same_v<Plain, unsigned char>)) {
    constexpr oneflow::DataType asked = oneflow::GetDataType<Plain>::value;
    if (!ONEOP_LIKELY(tensor->dtype == asked || tensor->dtype == ONEOP_DTYPE_CHAR)) {
      ThrowTensorType(tensor, function, asked);
    }
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

class MemoryCase {
 public:
  explicit MemoryCase(DeviceType type = kCPU) : device_type_(type) {}
  DeviceType device_type() const { return device_type_; }
  bool has_host_mem() const { return device_type_ == kCPU; }
  bool has_device_cuda_mem() const { return device_type_ == kCUDA; }

 private:
  DeviceType device_type_;
};

namespace user_op {

// The shape of a kernel's tensor. Only that of an output which inference has called dynamic is the
// kernel's to change.
class KernelShapeView : public MutShapeView {
 public:
  explicit KernelShapeView(oneop_tensor* tensor)
      : MutShapeView(tensor->shape, tensor->ndim), tensor_(tensor) {}
  void Set(int64_t axis, int64_t extent) const {
    if (At(axis) == extent) {
      return;
    }
    if (!ONEOP_LIKELY(tensor_->is_dynamic != 0)) {
      ::oneop::sdk::ThrowFixedShape(tensor_);
    }
    MutShapeView::Set(axis, extent);
  }
  void set_shape(const ShapeView& shape) const {
    if (shape.NumAxes() != NumAxes()) {
      ::oneop::sdk::ThrowAxis(shape.NumAxes(), NumAxes());
    }
    for (int64_t i = 0; i != NumAxes(); ++i) {
      Set(i, shape.At(i));
    }
  }
  const KernelShapeView* operator->() const { return this; }

 private:
  oneop_tensor* tensor_;
};

// Never constructed: a pointer to one is a pointer to the host's struct, so that looking up a
// tensor costs nothing.
class Tensor {
 public:
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  ShapeView shape() const { return ShapeView(raw_.shape, raw_.ndim); }
  ShapeView shape_view() const { return shape(); }
  KernelShapeView mut_shape() { return KernelShapeView(&raw_); }
  KernelShapeView mut_shape_view() { return mut_shape(); }
  Stride stride() const { return Stride(raw_.stride, raw_.stride + raw_.ndim); }
  DataType data_type() const { return static_cast<DataType>(raw_.dtype); }
  MemoryFormat memory_format() const { return kContiguous; }
  MemoryCase mem_case() const { return MemoryCase(static_cast<DeviceType>(raw_.device_type)); }
  int64_t elem_cnt() const { return raw_.elem_cnt; }
  bool is_dynamic() const { return raw_.is_dynamic != 0; }
  size_t ByteSizeOfBlobBody() const {
    return static_cast<size_t>(raw_.elem_cnt) * GetSizeOfDataType(data_type());
  }

  const void* raw_dptr() const { return raw_.data; }
  void* mut_raw_dptr() { return raw_.data; }
  template <class T = void>
  const T* dptr() const {
    ::oneop::sdk::CheckTensorType<T>(&raw_, "dptr");
    return static_cast<const T*>(raw_.data);
  }
  template <class T = void>
  T* mut_dptr() {
    ::oneop::sdk::CheckTensorType<T>(&raw_, "mut_dptr");
    return static_cast<T*>(raw_.data);
  }

  static Tensor* OneopFrom(oneop_tensor* raw) { return reinterpret_cast<Tensor*>(raw); }

 private:
  Tensor() = default;
  oneop_tensor raw_;
};

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_TENSOR_H_
