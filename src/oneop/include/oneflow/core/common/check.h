// CHECK, LOG, CHECK_*_OR_RETURN. Nothing here ends the process: a failed CHECK throws.
#ifndef ONEFLOW_CORE_COMMON_CHECK_H_
#define ONEFLOW_CORE_COMMON_CHECK_H_

#include "oneflow/core/common/error.h"
#include "oneop/sdk/library.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// One line for the host's log, sent at the end of the statement.
class LogLine {
 public:
  LogLine(int32_t level, const char* file, int32_t line)
      : level_(level), file_(file), line_(line) {}
  ~LogLine() {
    const oneop_host* host = library.host;
    if (host == nullptr || host->log == nullptr) {
      return;
    }
    host->log(level_, text_.data(), static_cast<int64_t>(text_.size()), file_, line_);
  }
  template <class T>
  LogLine& operator<<(const T& value) {
    AppendValue(&text_, value);
    return *this;
  }
  LogLine& operator<<(std::ostream& (*)(std::ostream&)) { return *this; }

 private:
  int32_t level_;
  const char* file_;
  int32_t line_;
  std::string text_;
};

struct Silence {
  template <class T>
  Silence& operator<<(const T&) {
    return *this;
  }
};

ONEOP_COLD inline oneflow::Error CheckFailedValues(const char* condition, const std::string& left,
                                                   const std::string& right, const char* file,
                                                   int32_t line) {
  std::string text("Check failed: ");
  text.append(condition).append(" (").append(left).append(" vs. ").append(right).append(")");
  return oneflow::Error(ONEOP_ERROR_CHECK, file, line, text);
}

template <class A, class B>
ONEOP_COLD oneflow::Error CheckFailedOn(const A& a, const B& b, const char* condition,
                                        const char* file, int32_t line) {
  std::string left, right;
  AppendValue(&left, a);
  AppendValue(&right, b);
  return CheckFailedValues(condition, left, right, file, line);
}

// Whether values of these types are integers where they are compared: integers and unscoped enums.
template <class A, class B>
constexpr bool kAreIntegers =
    std::is_convertible_v<A, int64_t> && std::is_convertible_v<B, int64_t> &&
    (std::is_integral_v<A> || std::is_enum_v<A>) && (std::is_integral_v<B> || std::is_enum_v<B>);

// Return `a` as the language converts it to be compared with a B. glog's CHECK_EQ compares signed
// with unsigned too. -Wsign-compare says nothing of a conversion that is written out; a pragma
// against it would be lost where this header is precompiled. Operators of an enum's own are called
// with what they are for.
template <bool has_own_operator, class A, class B>
constexpr decltype(auto) AsComparedWith(const A& a, const B& b) {
  if constexpr (kAreIntegers<A, B> && !has_own_operator) {
    return static_cast<std::common_type_t<decltype(+a), decltype(+b)>>(a);
  } else {
    return (a);
  }
}

// `operator==(a, b)`, written as a call, finds no built-in operator.
#define ONEOP_CHECK_FUNCTION(name, op)                                                          \
  template <class A, class B, class = void>                                                     \
  constexpr bool kHasOwn##name = false;                                                         \
  template <class A, class B>                                                                   \
  constexpr bool kHasOwn##name<                                                                 \
      A, B,                                                                                     \
      std::void_t<decltype(operator op(std::declval<const A&>(), std::declval<const B&>()))>> = \
      true;                                                                                     \
  template <class A, class B>                                                                   \
  inline oneflow::Error name(const A& a, const B& b, const char* condition, const char* file,   \
                             int32_t line) {                                                    \
    constexpr bool has_own = kHasOwn##name<A, B>;                                               \
    if (ONEOP_LIKELY(AsComparedWith<has_own>(a, b) op AsComparedWith<has_own>(b, a))) {         \
      return oneflow::Error();                                                                  \
    }                                                                                           \
    return CheckFailedOn(a, b, condition, file, line);                                          \
  }
ONEOP_CHECK_FUNCTION(CheckEq, ==)
ONEOP_CHECK_FUNCTION(CheckNe, !=)
ONEOP_CHECK_FUNCTION(CheckLt, <)
ONEOP_CHECK_FUNCTION(CheckLe, <=)
ONEOP_CHECK_FUNCTION(CheckGt, >)
ONEOP_CHECK_FUNCTION(CheckGe, >=)
#undef ONEOP_CHECK_FUNCTION

template <class T>
T&& CheckNotNull(T&& pointer, const char* condition, const char* file, int32_t line) {
  if (ONEOP_LIKELY(pointer != nullptr)) {
    return static_cast<T&&>(pointer);
  }
  Throw(oneflow::Error(ONEOP_ERROR_CHECK, file, line, condition));
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

// `switch` keeps an `else` of the author's from binding to our `if`.
#define ONEOP_UNLESS(condition)    \
  switch (0)                       \
  case 0:                          \
  default:                         \
    if (ONEOP_LIKELY(condition)) { \
    } else

#define ONEOP_UNLESS_OK(error)                                    \
  switch (0)                                                      \
  case 0:                                                         \
  default:                                                        \
    if (::oneflow::Error oneop_error = error; oneop_error.ok()) { \
    } else

#define ONEOP_CHECK_ERROR(text) ::oneflow::Error(ONEOP_ERROR_CHECK, __FILE__, __LINE__, text)
#define ONEOP_CHECK_OP(name, op, a, b) \
  ONEOP_UNLESS_OK(::oneop::sdk::name((a), (b), #a " " #op " " #b, __FILE__, __LINE__))

// --- Checks that throw ---

#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_LT
#undef CHECK_LE
#undef CHECK_GT
#undef CHECK_GE
#undef CHECK_NOTNULL
#undef LOG
#undef VLOG
#define CHECK(...)                                   \
  ONEOP_UNLESS(__VA_ARGS__)::oneop::sdk::Thrower() & \
      ONEOP_CHECK_ERROR("Check failed: " #__VA_ARGS__)
#define ONEOP_CHECK_OP_THROW(name, op, a, b)              \
  ONEOP_CHECK_OP(name, op, a, b)::oneop::sdk::Thrower() & \
      static_cast<::oneflow::Error&&>(oneop_error)
#define CHECK_EQ(a, b) ONEOP_CHECK_OP_THROW(CheckEq, ==, a, b)
#define CHECK_NE(a, b) ONEOP_CHECK_OP_THROW(CheckNe, !=, a, b)
#define CHECK_LT(a, b) ONEOP_CHECK_OP_THROW(CheckLt, <, a, b)
#define CHECK_LE(a, b) ONEOP_CHECK_OP_THROW(CheckLe, <=, a, b)
#define CHECK_GT(a, b) ONEOP_CHECK_OP_THROW(CheckGt, >, a, b)
#define CHECK_GE(a, b) ONEOP_CHECK_OP_THROW(CheckGe, >=, a, b)
#define CHECK_STREQ(a, b) CHECK_EQ(::std::string_view(a), ::std::string_view(b))
#define CHECK_STRNE(a, b) CHECK_NE(::std::string_view(a), ::std::string_view(b))
#define CHECK_NOTNULL(...)                                                                       \
  ::oneop::sdk::CheckNotNull((__VA_ARGS__), "Check failed: '" #__VA_ARGS__ "' must not be null", \
                             __FILE__, __LINE__)
#define CHECK_OR_THROW CHECK
#define CHECK_EQ_OR_THROW CHECK_EQ
#define CHECK_NE_OR_THROW CHECK_NE
#define CHECK_LT_OR_THROW CHECK_LT
#define CHECK_LE_OR_THROW CHECK_LE
#define CHECK_GT_OR_THROW CHECK_GT
#define CHECK_GE_OR_THROW CHECK_GE
#define CHECK_NOTNULL_OR_THROW CHECK_NOTNULL
#define PCHECK CHECK
#ifdef NDEBUG
#define ONEOP_DEBUG_ONLY \
  if (true) {            \
  } else
#else
#define ONEOP_DEBUG_ONLY
#endif
#define DCHECK(...) ONEOP_DEBUG_ONLY CHECK(__VA_ARGS__)
#define DCHECK_EQ(a, b) ONEOP_DEBUG_ONLY CHECK_EQ(a, b)
#define DCHECK_NE(a, b) ONEOP_DEBUG_ONLY CHECK_NE(a, b)
#define DCHECK_LT(a, b) ONEOP_DEBUG_ONLY CHECK_LT(a, b)
#define DCHECK_LE(a, b) ONEOP_DEBUG_ONLY CHECK_LE(a, b)
#define DCHECK_GT(a, b) ONEOP_DEBUG_ONLY CHECK_GT(a, b)
#define DCHECK_GE(a, b) ONEOP_DEBUG_ONLY CHECK_GE(a, b)

#define THROW(kind) ::oneop::sdk::Thrower() & ::oneflow::Error::kind()
#define UNIMPLEMENTED() \
  ::oneop::sdk::Thrower() & ::oneflow::Error::UnimplementedError() << "UNIMPLEMENTED "
#define TODO() ::oneop::sdk::Thrower() & ::oneflow::Error::TodoError() << "TODO "

// --- Logging ---

#define ONEOP_LOG_INFO ::oneop::sdk::LogLine(1, __FILE__, __LINE__)
#define ONEOP_LOG_WARNING ::oneop::sdk::LogLine(2, __FILE__, __LINE__)
#define ONEOP_LOG_ERROR ::oneop::sdk::LogLine(3, __FILE__, __LINE__)
#define ONEOP_LOG_FATAL \
  ::oneop::sdk::Thrower() & ::oneflow::Error(ONEOP_ERROR_RUNTIME, __FILE__, __LINE__)
#define LOG(severity) ONEOP_LOG_##severity
#define VLOG(level) ::oneop::sdk::LogLine(0, __FILE__, __LINE__)
#define DLOG(severity) \
  if (true) {          \
  } else               \
    ::oneop::sdk::Silence()
#define LOG_IF(severity, condition) \
  if (!(condition)) {               \
  } else                            \
    LOG(severity)

// --- Checks that return the error ---
// They end in a text, to which authors may add one without <<.

#define CHECK_OR_RETURN(...) \
  ONEOP_UNLESS(__VA_ARGS__) return ONEOP_CHECK_ERROR("Check failed: " #__VA_ARGS__) << ""
#define ONEOP_CHECK_OP_RETURN(name, op, a, b) \
  ONEOP_CHECK_OP(name, op, a, b) return static_cast<::oneflow::Error&&>(oneop_error) << ""
#define CHECK_EQ_OR_RETURN(a, b) ONEOP_CHECK_OP_RETURN(CheckEq, ==, a, b)
#define CHECK_NE_OR_RETURN(a, b) ONEOP_CHECK_OP_RETURN(CheckNe, !=, a, b)
#define CHECK_LT_OR_RETURN(a, b) ONEOP_CHECK_OP_RETURN(CheckLt, <, a, b)
#define CHECK_LE_OR_RETURN(a, b) ONEOP_CHECK_OP_RETURN(CheckLe, <=, a, b)
#define CHECK_GT_OR_RETURN(a, b) ONEOP_CHECK_OP_RETURN(CheckGt, >, a, b)
#define CHECK_GE_OR_RETURN(a, b) ONEOP_CHECK_OP_RETURN(CheckGe, >=, a, b)
#define CHECK_STREQ_OR_RETURN(a, b) CHECK_EQ_OR_RETURN(::std::string_view(a), ::std::string_view(b))
#define CHECK_STRNE_OR_RETURN(a, b) CHECK_NE_OR_RETURN(::std::string_view(a), ::std::string_view(b))
#define CHECK_NOTNULL_OR_RETURN(...) CHECK_OR_RETURN((__VA_ARGS__) != nullptr)
#define CHECK_ISNULL_OR_RETURN(...) CHECK_OR_RETURN((__VA_ARGS__) == nullptr)
#define OF_UNIMPLEMENTED() return ::oneflow::Error::UnimplementedError() << "UNIMPLEMENTED "
#define UNIMPLEMENTED_THEN_RETURN() OF_UNIMPLEMENTED()
#define OF_TODO() return ::oneflow::Error::TodoError() << "TODO "
#define TODO_THEN_RETURN() OF_TODO()
#define OF_COMPLIE_OPTION_ERROR() return ::oneflow::Error::RuntimeError()
#define OF_RUNTIME_ERROR() return ::oneflow::Error::RuntimeError()

#endif  // ONEFLOW_CORE_COMMON_CHECK_H_
