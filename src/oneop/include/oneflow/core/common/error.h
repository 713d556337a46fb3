// An error with kind, text and place, and the exception that carries it.
#ifndef ONEFLOW_CORE_COMMON_ERROR_H_
#define ONEFLOW_CORE_COMMON_ERROR_H_

#include <exception>
#include <iosfwd>
#include <string>
#include <string_view>

#include "oneop/sdk/text.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

// Shares its contents when copied. `Error()` is "no error".
class Error {
 public:
  struct Contents {
    int32_t references;
    int32_t kind;
    const char* file;
    int32_t line;
    const oneop_tensor* tensor;  // that the message is about; the edge knows its name
    std::string message;         // what the author streamed
    std::string fallback;        // the failed condition; stands alone if nothing was streamed
  };

  Error() {
  }  // not defaulted: where this header is precompiled, g++ would define it in each library
  ONEOP_COLD Error(int32_t kind, const char* file, int32_t line, std::string_view fallback = {})
      : contents_(new Contents{1, kind, file, line, nullptr, {}, std::string(fallback)}) {}
  Error(const Error& other) : contents_(other.contents_) {
    if (contents_ != nullptr) {
      __atomic_add_fetch(&contents_->references, 1, __ATOMIC_RELAXED);
    }
  }
  Error(Error&& other) noexcept : contents_(other.contents_) { other.contents_ = nullptr; }
  Error& operator=(Error other) noexcept {
    std::swap(contents_, other.contents_);
    return *this;
  }
  ~Error() {
    if (contents_ != nullptr) {
      Release();
    }
  }

  bool ok() const { return contents_ == nullptr; }
  int32_t kind() const { return contents_->kind; }
  Contents* contents() const { return contents_; }

  // Puts the message together, as the host gets it; from then on nothing is streamed any more.
  ONEOP_COLD const char* Text() const {
    std::string* message = &contents_->message;
    std::string* fallback = &contents_->fallback;
    if (message->empty()) {
      message->swap(*fallback);
    } else if (!fallback->empty()) {
      message->append(" (").append(*fallback).append(")");
    }
    fallback->clear();
    return message->c_str();
  }
  std::string msg() const { return Text(); }
  const Error* operator->() const { return this; }

  template <class T>
  Error& operator<<(const T& value) & {
    Stream(value);
    return *this;
  }
  template <class T>
  Error&& operator<<(const T& value) && {
    Stream(value);
    return static_cast<Error&&>(*this);
  }
  using Manipulator = std::ostream& (*)(std::ostream&);
  Error& operator<<(Manipulator) & { return *this << '\n'; }
  Error&& operator<<(Manipulator) && { return static_cast<Error&&>(*this) << '\n'; }

  // A JUST hands the error on.
  ONEOP_COLD Error&& From(const char* expression, const char* file, int32_t line) && {
    using ::oneop::sdk::Digits;
    Text();
    contents_->message +=
        ::oneop::sdk::Join({"\n  from ", file, ":", Digits(line), ": ", expression});
    return static_cast<Error&&>(*this);
  }

#define ONEOP_ERROR_KIND(name, kind)                                                        \
  static Error name(const char* file = __builtin_FILE(), int32_t line = __builtin_LINE()) { \
    return Error(kind, file, line);                                                         \
  }
  ONEOP_ERROR_KIND(CheckFailed, ONEOP_ERROR_CHECK)
  ONEOP_ERROR_KIND(CheckFailedError, ONEOP_ERROR_CHECK)
  ONEOP_ERROR_KIND(RuntimeError, ONEOP_ERROR_RUNTIME)
  ONEOP_ERROR_KIND(TypeError, ONEOP_ERROR_TYPE)
  ONEOP_ERROR_KIND(IndexError, ONEOP_ERROR_INDEX)
  ONEOP_ERROR_KIND(InvalidValueError, ONEOP_ERROR_VALUE)
  ONEOP_ERROR_KIND(ValueError, ONEOP_ERROR_VALUE)
  ONEOP_ERROR_KIND(ValueNotFoundError, ONEOP_ERROR_VALUE)
  ONEOP_ERROR_KIND(UnimplementedError, ONEOP_ERROR_NOT_IMPLEMENTED)
  ONEOP_ERROR_KIND(Unimplemented, ONEOP_ERROR_NOT_IMPLEMENTED)
  ONEOP_ERROR_KIND(TodoError, ONEOP_ERROR_NOT_IMPLEMENTED)
  ONEOP_ERROR_KIND(Todo, ONEOP_ERROR_NOT_IMPLEMENTED)
  ONEOP_ERROR_KIND(OpKernelNotFoundError, ONEOP_ERROR_NOT_IMPLEMENTED)
  ONEOP_ERROR_KIND(MultipleOpKernelsMatchedError, ONEOP_ERROR_RUNTIME)
  ONEOP_ERROR_KIND(GradientFunctionNotFoundError, ONEOP_ERROR_NOT_IMPLEMENTED)
  ONEOP_ERROR_KIND(InputDeviceNotMatchError, ONEOP_ERROR_RUNTIME)
  ONEOP_ERROR_KIND(DeviceTagNotFoundError, ONEOP_ERROR_VALUE)
  ONEOP_ERROR_KIND(BoxingNotSupportedError, ONEOP_ERROR_RUNTIME)
  ONEOP_ERROR_KIND(OutOfMemoryError, ONEOP_ERROR_RUNTIME)
#undef ONEOP_ERROR_KIND

 private:
  template <class T>
  void Stream(const T& value) {
    if constexpr (std::is_same_v<T, Error>) {  // `CHECK_OR_RETURN(x) << Error::TypeError() << ...`
      contents_->kind = value.kind();
      contents_->message.append(value.contents_->message);
    } else {
      ::oneop::sdk::AppendValue(&contents_->message, value);
    }
  }
  ONEOP_COLD void Release() {
    if (__atomic_sub_fetch(&contents_->references, 1, __ATOMIC_ACQ_REL) == 0) {
      delete contents_;
    }
  }

  Contents* contents_ = nullptr;
};

// What CHECK, LOG(FATAL) and the SDK itself throw. It never leaves the library: the callbacks turn
// it into a status.
class Exception : public std::exception {
 public:
  explicit Exception(const Error& error) : error_(error) {}
  const char* what() const noexcept override { return error_.Text(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
};

}  // namespace oneflow ONEOP_HIDDEN

namespace oneop ONEOP_HIDDEN {
namespace sdk {

[[noreturn]] ONEOP_COLD inline void Throw(const oneflow::Error& error) {
  throw oneflow::Exception(error);
}

[[noreturn]] ONEOP_COLD inline void ThrowText(int32_t kind,
                                              std::initializer_list<std::string_view> pieces) {
  Throw(oneflow::Error(kind, nullptr, 0, Join(pieces)));
}

// `Thrower() & error << ...` throws after the whole message has been streamed.
struct Thrower {
  [[noreturn]] void operator&(const oneflow::Error& error) const { Throw(error); }
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_ERROR_H_
