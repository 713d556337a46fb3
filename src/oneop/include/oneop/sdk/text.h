// Turning values into text for messages, without <sstream>.
#ifndef ONEOP_SDK_TEXT_H_
#define ONEOP_SDK_TEXT_H_

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "oneop/sdk/config.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

ONEOP_COLD inline void AppendInt(std::string* out, long long value) {
  char digits[24];
  out->append(digits, std::snprintf(digits, sizeof digits, "%lld", value));
}
ONEOP_COLD inline void AppendUnsigned(std::string* out, unsigned long long value) {
  char digits[24];
  out->append(digits, std::snprintf(digits, sizeof digits, "%llu", value));
}
ONEOP_COLD inline void AppendDouble(std::string* out, double value) {
  char digits[40];
  out->append(digits, std::snprintf(digits, sizeof digits, "%g", value));
}
ONEOP_COLD inline void AppendPointer(std::string* out, const void* value) {
  char digits[24];
  out->append(digits, std::snprintf(digits, sizeof digits, "%p", value));
}
ONEOP_COLD inline void AppendText(std::string* out, std::string_view text) {
  out->append(text.data(), text.size());
}

// The pieces, one after the other. Cheaper to compile than a chain of appends.
ONEOP_COLD inline std::string Join(std::initializer_list<std::string_view> pieces) {
  std::string text;
  for (std::string_view piece : pieces) {
    text.append(piece.data(), piece.size());
  }
  return text;
}

// Digits that live as long as the expression they are used in.
class Digits {
 public:
  ONEOP_COLD explicit Digits(int64_t value)
      : length_(std::snprintf(text_, sizeof text_, "%lld", static_cast<long long>(value))) {}
  operator std::string_view() const { return {text_, static_cast<size_t>(length_)}; }

 private:
  char text_[24];
  int length_;
};

// Which of several ways to print a type exists.
template <class T, class = void>
struct HasToString : std::false_type {};
template <class T>
struct HasToString<T, std::void_t<decltype(std::string(std::declval<const T&>().ToString()))>>
    : std::true_type {};
template <class T, class = void>
struct HasEnumName : std::false_type {};
template <class T>
struct HasEnumName<T, std::void_t<decltype(OneopEnumName(std::declval<T>()))>> : std::true_type {};
template <class T, class = void>
struct IsRange : std::false_type {};
template <class T>
struct IsRange<
    T, std::void_t<decltype(std::declval<const T&>().begin() != std::declval<const T&>().end())>>
    : std::true_type {};
template <class T, class = void>
struct IsProxy : std::false_type {};
template <class T>
struct IsProxy<T, std::void_t<typename T::OneopProxied>> : std::true_type {};

template <class T, class = void>
struct IsSmartPointer : std::false_type {};
template <class T>
struct IsSmartPointer<T, std::void_t<typename T::element_type, decltype(*std::declval<T>().get())>>
    : std::true_type {};

// The author's file must include <sstream> only if it prints a type that nothing below knows.
template <class T>
struct StreamFor {
  using type = std::ostringstream;
};

template <class T>
void AppendValue(std::string* out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    AppendText(out, value ? "true" : "false");
  } else if constexpr (std::is_same_v<T, char>) {
    out->push_back(value);
  } else if constexpr (std::is_same_v<T, std::nullptr_t>) {
    AppendText(out, "nullptr");
  } else if constexpr (std::is_floating_point_v<T>) {
    AppendDouble(out, static_cast<double>(value));
  } else if constexpr (HasEnumName<T>::value) {
    AppendText(out, OneopEnumName(value));
  } else if constexpr (std::is_enum_v<T>) {
    AppendValue(out, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) {
      AppendInt(out, value);
    } else {
      AppendUnsigned(out, value);
    }
  } else if constexpr (std::is_pointer_v<T> && std::is_convertible_v<const T&, std::string_view>) {
    AppendText(out, value == nullptr ? std::string_view("(null)") : std::string_view(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    AppendText(out, value);
  } else if constexpr (IsProxy<T>::value) {
    AppendValue(out, static_cast<const typename T::OneopProxied&>(value));
  } else if constexpr (std::is_pointer_v<T>) {
    AppendPointer(out, const_cast<const void*>(reinterpret_cast<const volatile void*>(value)));
  } else if constexpr (HasToString<T>::value) {
    AppendText(out, value.ToString());
  } else if constexpr (std::is_class_v<T> && std::is_convertible_v<const T&, double>) {
    AppendDouble(out, value);  // half precision, an element of vector<bool>
  } else if constexpr (IsSmartPointer<T>::value) {
    if (value == nullptr) {
      AppendText(out, "(null)");
    } else {
      AppendValue(out, *value);
    }
  } else if constexpr (IsRange<T>::value) {
    const char* separator = "[";
    for (const auto& element : value) {
      AppendText(out, separator);
      AppendValue(out, element);
      separator = ", ";
    }
    AppendText(out, *separator == '[' ? "[]" : "]");
  } else {
    typename StreamFor<T>::type stream;
    stream << value;
    AppendText(out, stream.str());
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_TEXT_H_
