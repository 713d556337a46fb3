// Tensors of the host as authors hold them: one::Tensor and TensorTuple. No data can be read here,
// only what a tensor is.
#ifndef ONEOP_SDK_HANDLE_H_
#define ONEOP_SDK_HANDLE_H_

#include <memory>
#include <vector>

#include "oneflow/core/common/maybe.h"
#include "oneflow/core/framework/device.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

inline const oneop_host* Host() {
  if (library.host == nullptr || library.host->size < sizeof(oneop_host)) {
    ThrowText(ONEOP_ERROR_RUNTIME, {"this host cannot call functions"});
  }
  return library.host;
}

// Where a function of the host's puts its error; thrown as an exception of ours.
struct HostStatus {
  oneop_status status;
  std::string text;
  HostStatus() : status{sizeof(oneop_status), ONEOP_OK, &Report} {}
  ONEOP_COLD static void Report(oneop_status* status, int32_t kind, const char* message,
                                int64_t length, const char*, int32_t) {
    status->kind = kind;
    reinterpret_cast<HostStatus*>(status)->text.assign(message, static_cast<size_t>(length));
  }
  void Check(int32_t code) {
    if (!ONEOP_LIKELY(code == ONEOP_OK && status.kind == ONEOP_OK)) {
      Throw(oneflow::Error(status.kind != ONEOP_OK ? status.kind : code, nullptr, 0, text));
    }
  }
};

inline bool IsSymbol(oneop_handle handle) { return (reinterpret_cast<uintptr_t>(handle) & 1) != 0; }
inline oneop_symbol* SymbolOf(oneop_handle handle) {
  return reinterpret_cast<oneop_symbol*>(reinterpret_cast<uintptr_t>(handle) - 1);
}
inline void Retain(oneop_handle handle) {
  if (IsSymbol(handle)) {
    ++SymbolOf(handle)->references;
  } else {
    Host()->retain(handle);
  }
}
inline void Release(oneop_handle handle) {
  if (!IsSymbol(handle)) {
    library.host->release(handle);
  } else if (--SymbolOf(handle)->references == 0) {
    SymbolOf(handle)->destroy(SymbolOf(handle));
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

class DType {
 public:
  DType() = default;
  explicit DType(DataType type) : type_(type) {}
  DataType data_type() const { return type_; }
  bool is_floating_point() const { return IsFloatingDataType(type_); }
  friend bool operator==(const DType& a, const DType& b) { return a.type_ == b.type_; }

 private:
  DataType type_ = kInvalidDataType;
};

namespace one {

class Tensor {
 public:
  // Takes over a handle that the caller owns.
  explicit Tensor(oneop_handle owned) : handle_(owned) {}
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() {
    if (owns_) {
      ::oneop::sdk::Release(handle_);
    }
  }

  static std::shared_ptr<Tensor> OneopBorrow(oneop_handle handle) {
    ::oneop::sdk::Retain(handle);
    return std::make_shared<Tensor>(handle);
  }
  // For as long as the caller holds the tensor. Whoever lends asks OneopKeep of what is still in
  // use then. A reference of its own would be dear: the host may have to lock for it.
  static std::shared_ptr<Tensor> OneopLend(oneop_handle handle) {
    auto lent = std::make_shared<Tensor>(handle);
    lent->owns_ = false;
    return lent;
  }
  void OneopKeep() {
    ::oneop::sdk::Retain(handle_);
    owns_ = true;
  }
  oneop_handle oneop_handle_ptr() const { return handle_; }

  std::shared_ptr<const Shape> shape() const {
    const oneop_tensor view = View();
    return std::make_shared<const Shape>(view.shape, view.shape + view.ndim);
  }
  std::shared_ptr<const Stride> stride() const {
    const oneop_tensor view = View();
    return std::make_shared<const Stride>(view.stride, view.stride + view.ndim);
  }
  Symbol<DType> dtype() const { return DType(static_cast<DataType>(View().dtype)); }
  Maybe<Symbol<Device>> device() const {
    const oneop_tensor view = View();
    return ::oneflow::SymbolOf(
        Device(static_cast<DeviceType>(view.device_type), view.device_index));
  }
  int64_t ndim() const { return View().ndim; }
  int64_t nelement() const { return View().elem_cnt; }
  int64_t dim(int64_t i) const { return shape()->At(i); }
  bool is_contiguous() const {
    const oneop_tensor view = View();
    return Stride(Shape(view.shape, view.shape + view.ndim)) ==
           Stride(view.stride, view.stride + view.ndim);
  }
  bool requires_grad() const {
    return ::oneop::sdk::IsSymbol(handle_) ? ::oneop::sdk::SymbolOf(handle_)->requires_grad != 0
                                           : ::oneop::sdk::Host()->requires_grad(handle_) != 0;
  }
  bool is_local() const { return true; }
  bool is_global() const { return false; }

 private:
  ONEOP_COLD oneop_tensor View() const {
    oneop_tensor view{};
    ::oneop::sdk::HostStatus status;
    if (::oneop::sdk::IsSymbol(handle_)) {
      oneop_symbol* symbol = ::oneop::sdk::SymbolOf(handle_);
      const oneop_tensor* meta = symbol->meta(symbol, &status.status);
      status.Check(meta == nullptr ? ONEOP_ERROR_RUNTIME : ONEOP_OK);
      return *meta;
    }
    status.Check(::oneop::sdk::Host()->view(handle_, &view, &status.status));
    return view;
  }

  oneop_handle handle_;
  bool owns_ = true;
};

class TensorTuple : public std::vector<std::shared_ptr<Tensor>> {
 public:
  using std::vector<std::shared_ptr<Tensor>>::vector;
};

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_HANDLE_H_
