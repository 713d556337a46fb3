// oneflow/core/framework/user_op_tensor.h: the tensor that a kernel sees, laid over the ABI's struct.
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_TENSOR_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_TENSOR_H_

#include "oneflow/core/common/device_type.h"
#include "oneflow/core/framework/tensor_desc.h"
#include "oneop/sdk/frame.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// dptr<T> with the wrong T. The tensor does not know its name; the edge, which has the frame, does.
class TensorTypeMismatch : public std::exception {
 public:
  TensorTypeMismatch(const oneop_tensor* tensor, const char* function, oneflow::DataType asked)
      : tensor_(tensor), function_(function), asked_(asked) {}
  const char* what() const noexcept override { return "dptr<T> with another type than the tensor's"; }

  ONEOP_COLD std::string Describe(const oneop_frame* frame) const {
    std::string text("a tensor");
    if (frame != nullptr) {
      if (!AppendName(&text, frame, frame->inputs, frame->num_inputs)) {
        AppendName(&text, frame, frame->outputs, frame->num_outputs);
      }
      text.append(" of op \"").append(frame->op_type_name).append("\"");
    }
    text.append(" holds ").append(OneopEnumName(static_cast<oneflow::DataType>(tensor_->dtype)));
    text.append(", the kernel asks for ").append(function_).append("<").append(CppName());
    return text.append(">");
  }

 private:
  bool AppendName(std::string* text, const oneop_frame* frame, const oneop_arg* args,
                  int32_t count) const {
    for (int32_t i = 0; i != count; ++i) {
      const oneop_arg* arg = ArgAt(frame, args, i);
      for (int32_t k = 0; k != arg->count; ++k) {
        if (TensorAt(frame, arg->first + k) != tensor_) { continue; }
        text->assign("tensor \"").append(arg->name).append("\"");
        if (arg->count > 1) {
          text->append(" number ");
          AppendInt(text, k);
        }
        return true;
      }
    }
    return false;
  }
  const char* CppName() const {
    switch (asked_) {
      case oneflow::kFloat: return "float";
      case oneflow::kDouble: return "double";
      case oneflow::kInt8: return "int8_t";
      case oneflow::kInt16: return "int16_t";
      case oneflow::kInt32: return "int32_t";
      case oneflow::kInt64: return "int64_t";
      case oneflow::kUInt8: return "uint8_t";
      case oneflow::kUInt16: return "uint16_t";
      case oneflow::kUInt32: return "uint32_t";
      case oneflow::kUInt64: return "uint64_t";
      case oneflow::kBool: return "bool";
      case oneflow::kFloat16: return "float16";
      case oneflow::kBFloat16: return "bfloat16";
      default: return OneopEnumName(asked_);
    }
  }

  const oneop_tensor* tensor_;
  const char* function_;
  oneflow::DataType asked_;
};

[[noreturn]] ONEOP_COLD inline void ThrowTensorType(const oneop_tensor* tensor,
                                                    const char* function, oneflow::DataType asked) {
  throw TensorTypeMismatch(tensor, function, asked);
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
}  // namespace oneop

namespace oneflow ONEOP_HIDDEN {

class MemoryCase {
 public:
  explicit MemoryCase(DeviceType type = kCPU) : device_type_(type) {}
  DeviceType device_type() const { return device_type_; }
  bool has_host_mem() const { return device_type_ == kCPU; }

 private:
  DeviceType device_type_;
};

namespace user_op {

// Never constructed: a pointer to one is a pointer to the host's struct, so that looking up a tensor costs nothing.
class Tensor {
 public:
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;

  ShapeView shape() const { return ShapeView(raw_.shape, raw_.ndim); }
  ShapeView shape_view() const { return shape(); }
  MutShapeView mut_shape() { return MutShapeView(raw_.shape, raw_.ndim); }
  MutShapeView mut_shape_view() { return mut_shape(); }
  Stride stride() const { return Stride(raw_.stride, raw_.stride + raw_.ndim); }
  DataType data_type() const { return static_cast<DataType>(raw_.dtype); }
  MemoryFormat memory_format() const { return kContiguous; }
  MemoryCase mem_case() const { return MemoryCase(static_cast<DeviceType>(raw_.device_type)); }
  int64_t elem_cnt() const { return raw_.elem_cnt; }
  bool is_dynamic() const { return raw_.is_dynamic != 0; }

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
}  // namespace oneflow

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_TENSOR_H_
