// BatchAxisContext, in which ops of 2020 say along which axis a batch lies. Nothing here depends on
// it; programs of that time read it of a tensor.
#ifndef ONEFLOW_CORE_FRAMEWORK_BATCH_AXIS_CONTEXT_H_
#define ONEFLOW_CORE_FRAMEWORK_BATCH_AXIS_CONTEXT_H_

#include "oneflow/core/framework/sbp_context.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

// An axis that may be absent.
class OptInt64 {
 public:
  OptInt64() = default;
  explicit OptInt64(int64_t value) : has_(true), value_(value) {}
  bool has_value() const { return has_; }
  int64_t value() const { return value_; }
  void set_value(int64_t value) {
    has_ = true;
    value_ = value;
  }
  void clear_value() { *this = OptInt64(); }
  friend bool operator==(const OptInt64& a, const OptInt64& b) {
    return a.has_ == b.has_ && a.value_ == b.value_;
  }
  friend bool operator!=(const OptInt64& a, const OptInt64& b) { return !(a == b); }

 private:
  bool has_ = false;
  int64_t value_ = 0;
};

namespace user_op {

// What contexts of functions that nobody calls share.
class UnusedContext : public ::oneop::sdk::Context {
 public:
  using Context::Context;
  const TensorDesc& LogicalTensorDesc4InputArgNameAndIndex(std::string_view n, int32_t i) const {
    return KeptDesc(LogicalTensor(::oneop::sdk::NeedTensor(frame_, n, i, ::oneop::sdk::kInput)));
  }
  const TensorDesc* TensorDesc4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return FindDesc(n, i);
  }
  const Shape& Shape4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return KeptDesc(LogicalTensor(::oneop::sdk::NeedTensor(frame_, n, i))).shape();
  }
  DataType Dtype4ArgNameAndIndex(std::string_view n, int32_t i) const {
    return KeptDesc(LogicalTensor(::oneop::sdk::NeedTensor(frame_, n, i))).data_type();
  }
  const Shape& BlobShape4InputArgNameAndIndex(std::string_view n, int32_t i) const {
    return LogicalTensorDesc4InputArgNameAndIndex(n, i).shape();
  }
  const Shape& parallel_hierarchy() const {
    return Keep<Shape>(&frame_->parallel_num, Shape({frame_->parallel_num}));
  }

 protected:
  // Something of a tensor that the author reads and writes.
  template <class T>
  T* Of(std::string_view name, int32_t index, int salt) const {
    const int32_t number = ::oneop::sdk::NeedTensor(frame_, name, index);
    const auto* key = reinterpret_cast<const char*>(::oneop::sdk::TensorAt(frame_, number)) + salt;
    return &Keep<T>(key);
  }
};

class BatchAxisContext : public UnusedContext {
 public:
  using UnusedContext::UnusedContext;
  OptInt64* BatchAxis4ArgNameAndIndex(std::string_view name, int32_t index) const {
    return Of<OptInt64>(name, index, 1);
  }
  // From the numbers of the ABI, and back: of all inputs, or of all outputs.
  void OneopRead(const std::vector<std::pair<std::string, int32_t>>& args, const int64_t* axes) {
    for (const auto& arg : args) {
      const int64_t axis = axes[::oneop::sdk::NeedTensor(frame_, arg.first, arg.second)];
      *BatchAxis4ArgNameAndIndex(arg.first, arg.second) = axis < 0 ? OptInt64() : OptInt64(axis);
    }
  }
  void OneopWrite(const std::vector<std::pair<std::string, int32_t>>& args, int64_t* axes) const {
    for (const auto& arg : args) {
      const OptInt64* axis = BatchAxis4ArgNameAndIndex(arg.first, arg.second);
      axes[::oneop::sdk::NeedTensor(frame_, arg.first, arg.second)] =
          axis->has_value() ? axis->value() : -1;
    }
  }
};
struct BatchAxisInferFnUtil {
  static Maybe<void> DefaultAsClearHasValue(BatchAxisContext* ctx) {
    for (const auto& out : ctx->outputs()) {
      ctx->BatchAxis4ArgNameAndIndex(out.first, out.second)->clear_value();
    }
    return Maybe<void>::Ok();
  }
  // Every output is like the inputs that have one, which agree.
  static Maybe<void> NaiveInferBatchAxis(BatchAxisContext* ctx) {
    OptInt64 axis;
    for (const auto& in : ctx->inputs()) {
      const OptInt64* own = ctx->BatchAxis4ArgNameAndIndex(in.first, in.second);
      if (axis.has_value() && own->has_value() && *own != axis) {
        return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
               << "BatchAxisInferFnUtil::NaiveInferBatchAxis: the inputs must have the same "
               << "batch axis; \"" << in.first << "\" has " << own->value()
               << ", an input before it has " << axis.value();
      }
      axis = axis.has_value() ? axis : *own;
    }
    for (const auto& out : ctx->outputs()) {
      *ctx->BatchAxis4ArgNameAndIndex(out.first, out.second) = axis;
    }
    return Maybe<void>::Ok();
  }
};

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_BATCH_AXIS_CONTEXT_H_
