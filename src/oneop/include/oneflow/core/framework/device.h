// Symbol, Device and Stream, as op files name them in SetDeviceAndStreamInferFn.
#ifndef ONEFLOW_CORE_FRAMEWORK_DEVICE_H_
#define ONEFLOW_CORE_FRAMEWORK_DEVICE_H_

#include "oneop/sdk/context.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

// A shared constant. Here simply a copy.
template <class T>
class Symbol {
 public:
  Symbol() = default;
  Symbol(const T& value) : value_(value) {}  // NOLINT: implicit, as OneFlow
  const T& operator*() const { return value_; }
  const T* operator->() const { return &value_; }
  explicit operator bool() const { return true; }
  friend bool operator==(const Symbol& a, const Symbol& b) { return a.value_ == b.value_; }

 private:
  T value_{};
};
template <class T>
Symbol<T> SymbolOf(const T& value) {
  return Symbol<T>(value);
}

class Device {
 public:
  Device() = default;
  Device(DeviceType type, int64_t index) : type_(type), index_(index) {}
  DeviceType enum_type() const { return type_; }
  template <class = void>
  const std::string& type() const {
    static const std::string kNames[] = {"cpu", "cuda", "meta", "other"};
    return kNames[type_ == kCPU ? 0 : type_ == kCUDA ? 1 : type_ == kMeta ? 2 : 3];
  }
  template <class = void>
  Maybe<std::string> of_type() const {
    return std::string(DeviceTag4DeviceType(type_));
  }
  int64_t device_id() const { return index_; }
  template <class = void>
  static Maybe<Symbol<Device>> New(std::string_view type, int64_t index = 0) {
    return SymbolOf(Device(type == "cpu" ? kCPU : kCUDA, index));
  }
  // "cpu", "cuda" or "cuda:1".
  template <class = void>
  static Maybe<Symbol<Device>> ParseAndNew(const std::string& text) {
    const size_t colon = text.find(':');
    const std::string type = text.substr(0, colon);
    const std::string digits = colon == std::string::npos ? "0" : text.substr(colon + 1);
    const bool is_number = !digits.empty() && digits.size() < 5 &&
                           digits.find_first_not_of("0123456789") == std::string::npos;
    CHECK_OR_RETURN((type == "cpu" || type == "cuda") && is_number)
        << "\"" << text << "\" is no device: expected cpu, cuda, or cuda with an index, as cuda:1";
    return New(type, std::stoll(digits));
  }
  template <class = void>
  std::string ToString() const {
    return type() + ":" + std::to_string(index_ < 0 ? 0 : index_);
  }
  template <class = void>
  static Maybe<Symbol<Device>> ThreadLocalGetOrNew(std::string_view type, int64_t index) {
    return New(type == "gpu" ? "cuda" : type, index);
  }
  friend bool operator==(const Device& a, const Device& b) {
    return a.type_ == b.type_ && (a.index_ == b.index_ || a.type_ == kCPU);  // there is one cpu
  }

 private:
  DeviceType type_ = kCPU;
  int64_t index_ = 0;
};

enum class StreamType {
  kInvalid = 0,
  kCompute,
  kHost2Device,
  kDevice2Host,
  kCcl,
  kBarrier,
  kCriticalSection,
  kLazyJobLauncher,
  kPinnedCompute,
};

using StreamRole = StreamType;  // as 0.8 calls it

class Stream {
 public:
  Stream() = default;
  Stream(Symbol<Device> device, StreamType type) : device_(device), type_(type) {}
  Symbol<Device> device() const { return device_; }
  StreamType stream_type() const { return type_; }
  template <class = void>
  static Maybe<Symbol<Stream>> New(Symbol<Device> device, StreamType type) {
    return SymbolOf(Stream(device, type));
  }

 private:
  Symbol<Device> device_;
  StreamType type_ = StreamType::kCompute;
};

namespace user_op {

class DeviceAndStreamInferContext : public ::oneop::sdk::Context {
 public:
  using Context::Context;
  Symbol<Device> InputTensorDevice4ArgNameAndIndex(std::string_view name, int32_t index) const {
    const oneop_tensor* tensor = ::oneop::sdk::TensorAt(
        frame_, ::oneop::sdk::NeedTensor(frame_, name, index, ::oneop::sdk::kInput));
    return Device(static_cast<DeviceType>(tensor->device_type), tensor->device_index);
  }
  Symbol<Device>* OutputTensorDevice4ArgNameAndIndex(std::string_view name, int32_t index) {
    const int32_t number = ::oneop::sdk::NeedTensor(frame_, name, index, ::oneop::sdk::kOutput);
    return &Keep<Symbol<Device>>(::oneop::sdk::TensorAt(frame_, number));
  }
};

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_DEVICE_H_
