// Call and Attrs: what a kernel can ask for beside its views.
#ifndef ONEOP_OP_CALL_H_
#define ONEOP_OP_CALL_H_

#include "oneop/op/record.h"
#include "oneop/op/view.h"
#include "oneop/sdk/guard.h"
#include "oneop/sdk/parallel.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

template <class T>
struct AttrReader {
  static T Read(const oneop_frame* frame, const oneop_attr& attr) {
    if constexpr (kIsDefined<sdk::AttrTraits<T>>) {
      if (!sdk::IsAttrOf<T>(attr)) {
        sdk::ThrowAttrType(frame->op_type_name, &attr, sdk::AttrTraits<T>::kType);
      }
      return sdk::AttrTraits<T>::Get(attr);
    } else {
      static_assert(kIsDefined<sdk::AttrTraits<T>>,
                    "no attribute is read as this type; for std::complex<double> write "
                    "#include \"oneflow/core/common/complex.h\"");
    }
  }
};

inline bool IsInteger(int32_t type) {
  return type == ONEOP_ATTR_INT32 || type == ONEOP_ATTR_INT64 || type == ONEOP_ATTR_BOOL;
}
inline bool IsReal(int32_t type) { return type == ONEOP_ATTR_FLOAT || type == ONEOP_ATTR_DOUBLE; }

// Nothing is cut off: an integer that T cannot hold, and a float that would become infinite, are
// errors. A float is rounded, and so is an integer that is asked for as one.
[[noreturn]] ONEOP_COLD inline void ThrowNarrow(const oneop_attr& attr, std::string_view bits) {
  std::string value;
  if (IsInteger(attr.type)) {
    sdk::AppendInt(&value, attr.value.i);
  } else {
    sdk::AppendDouble(&value, attr.value.f);
  }
  sdk::ThrowText(ONEOP_ERROR_VALUE,
                 {"attribute \"", attr.name, "\" is ", value,
                  ", which does not fit the type that the code asks for, ", bits});
}
template <class T>
T IntegerAs(const oneop_attr& attr) {
  const T value = static_cast<T>(attr.value.i);
  if constexpr (std::is_integral_v<T>) {
    const bool fits =
        static_cast<int64_t>(value) == attr.value.i && (value < T(1)) == (attr.value.i < 1);
    if (!ONEOP_LIKELY(fits || (std::is_same_v<T, bool> && attr.type == ONEOP_ATTR_BOOL))) {
      ThrowNarrow(attr, sdk::Join({std::is_same_v<T, bool> ? "a bool"
                                   : std::is_signed_v<T>   ? "an int of "
                                                           : "an unsigned int of ",
                                   std::is_same_v<T, bool> ? std::string_view()
                                                           : sdk::Digits(8 * sizeof(T)),
                                   std::is_same_v<T, bool> ? "" : " bits"}));
    }
  }
  return value;
}
template <class T>
T RealAs(const oneop_attr& attr) {
  const double held = HeldValue(attr);
  const T value = static_cast<T>(held);
  if (!ONEOP_LIKELY(__builtin_isinf(static_cast<double>(value)) == __builtin_isinf(held))) {
    ThrowNarrow(attr, "a float of 32 bits");
  }
  return value;
}

}  // namespace op

// The attributes of a call: attrs.get<float>("alpha"). A number may be asked for as any type that
// holds numbers of its kind: float and double, or int, int64_t and bool. An optional one is asked
// for as std::optional<T>.
class Attrs {
 public:
  explicit Attrs(const oneop_frame* frame) : frame_(frame) {}

  template <class T>
  T get(std::string_view name) const {
    const oneop_attr* attr = sdk::FindAttr(frame_, name);
    if (attr == nullptr) {
      sdk::ThrowNoAttr(frame_, name);
    }
    if constexpr (sdk::IsOptional<T>::value) {
      return attr->type == ONEOP_ATTR_NONE ? T() : T(get<typename T::value_type>(name));
    } else if constexpr (std::is_arithmetic_v<T>) {
      if (op::IsInteger(attr->type)) {
        return op::IntegerAs<T>(*attr);
      }
      if (std::is_floating_point_v<T> && op::IsReal(attr->type)) {
        return op::RealAs<T>(*attr);
      }
      sdk::ThrowAttrType(frame_->op_type_name, attr,
                         std::is_floating_point_v<T> ? ::oneflow::kAtDouble : ::oneflow::kAtInt64);
    } else {
      return op::AttrReader<T>::Read(frame_, *attr);
    }
  }

 private:
  const oneop_frame* frame_;
};

// One call of a kernel.
class Call {
 public:
  explicit Call(oneop_frame* frame) : frame_(frame) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  // Typed access by name. Not defined() where an optional input was not given.
  template <class T, int N = kAnyRank>
  View<const T, N> input(std::string_view name, int32_t index = 0) const {
    return At<const T, N>(name, index, sdk::kInput);
  }
  template <class T, int N = kAnyRank>
  View<T, N> output(std::string_view name, int32_t index = 0) const {
    return At<T, N>(name, index, sdk::kOutput);
  }
  // An input that the schema marks as changed in place, Tensor(a!).
  template <class T, int N = kAnyRank>
  View<T, N> changed(std::string_view name, int32_t index = 0) const {
    return At<T, N>(name, index, sdk::kInput);
  }
  template <class T>
  T attr(std::string_view name) const {
    return Attrs(frame_).get<T>(name);
  }
  Attrs attrs() const { return Attrs(frame_); }

  // What the program asks of kernels: oneop.require, torch.use_deterministic_algorithms.
  bool requires_deterministic() const { return sdk::Requires(frame_, ONEOP_REQUIRE_DETERMINISTIC); }
  bool requires_batch_invariant() const {
    return sdk::Requires(frame_, ONEOP_REQUIRE_BATCH_INVARIANT);
  }

  // What the size of an output along an axis that .dynamic names came to; at most what inference
  // said, which it is until then. The elements of the output lie densely in the shape that follows,
  // so for an axis after the first call this before they are written.
  void set_size(std::string_view name, int32_t axis, int64_t size, int32_t index = 0) const {
    oneop_tensor* tensor =
        sdk::TensorAt(frame_, sdk::NeedTensor(frame_, name, index, sdk::kOutput));
    const bool may = axis >= 0 && axis < tensor->ndim &&
                     (static_cast<uint32_t>(tensor->is_dynamic) >> axis & 1) != 0;
    if (!ONEOP_LIKELY(may)) {
      sdk::ThrowText(ONEOP_ERROR_VALUE,
                     {"set_size: the size of output \"", name, "\" along axis ", sdk::Digits(axis),
                      " is fixed; declare it with .dynamic(output, axis)"});
    }
    if (!ONEOP_LIKELY(size >= 0 && size <= tensor->shape[axis])) {
      sdk::ThrowText(ONEOP_ERROR_VALUE, {"set_size: output \"", name, "\" has room for ",
                                         sdk::Digits(tensor->shape[axis]), " along axis ",
                                         sdk::Digits(axis), ", found ", sdk::Digits(size)});
    }
    tensor->shape[axis] = size;
  }

  // Memory on the device of the call that lives until the kernel returns; its content is undefined.
  // Threads of parallel_for may ask for it too; the memory is given back when the kernel returns,
  // not when their body does.
  template <class T>
  T* scratch(int64_t count) const {
    int64_t bytes = 0;
    if (count < 0 || __builtin_mul_overflow(count, static_cast<int64_t>(sizeof(T)), &bytes)) {
      sdk::ThrowText(ONEOP_ERROR_VALUE,
                     {"the kernel asks for scratch memory of ", sdk::Digits(count), " elements of ",
                      sdk::Digits(sizeof(T)), " bytes"});
    }
    Failure failure;
    void* memory = frame_->host->scratch(frame_, bytes, &failure.status);
    if (memory == nullptr && count > 0) {
      sdk::ThrowText(ONEOP_ERROR_RUNTIME, {"no scratch memory: ", failure.text});
    }
    return static_cast<T*>(memory);
  }
  // fn(begin, end) over pieces of [begin, end) of at least `grain` elements, on torch's threads.
  template <class F>
  void parallel_for(int64_t begin, int64_t end, int64_t grain, const F& fn) const {
    sdk::ParallelFor(frame_->host, begin, end, grain, fn);
  }
  bool is_cuda() const { return frame_->device_type == ONEOP_DEVICE_CUDA; }
  int32_t device_index() const { return frame_->device_index; }
  void* stream() const { return frame_->stream; }
#if defined(__CUDACC__)
  cudaStream_t cuda_stream() const { return static_cast<cudaStream_t>(frame_->stream); }
#endif
  oneop_frame* oneop_frame_ptr() const { return frame_; }

 private:
  // The host reports into it.
  struct Failure {
    oneop_status status{sizeof(oneop_status), ONEOP_OK, &Report};  // first: Report casts
    std::string text;
    static void Report(oneop_status* status, int32_t kind, const char* message, int64_t length,
                       const char*, int32_t) {
      status->kind = kind;
      reinterpret_cast<Failure*>(status)->text.assign(message, static_cast<size_t>(length));
    }
  };
  template <class T, int N>
  View<T, N> At(std::string_view name, int32_t index, int side) const {
    const oneop_arg* arg = sdk::FindArg(frame_, name, side);
    if (arg != nullptr && arg->count == 0) {
      return View<T, N>(nullptr, arg->name);
    }
    const oneop_tensor* tensor = sdk::TensorAt(frame_, sdk::NeedTensor(frame_, name, index, side));
    op::CheckDtype(*tensor, ::oneflow::GetDataType<std::remove_const_t<T>>::value,
                   side == sdk::kInput ? "input" : "output", arg->name);
    return View<T, N>(tensor, arg->name);
  }

  oneop_frame* frame_;
};

}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_CALL_H_
