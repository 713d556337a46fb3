// The default values of attributes, as a schema writes them.
#ifndef ONEOP_OP_DEFAULTS_H_
#define ONEOP_OP_DEFAULTS_H_

#include <cerrno>
#include <cstdlib>

#include "oneop/op/mistake.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

struct DtypeName {
  std::string_view name;
  int32_t code;
};
constexpr DtypeName kDtypes[] = {
    {"float32", ONEOP_DTYPE_FLOAT32},
    {"float", ONEOP_DTYPE_FLOAT32},
    {"float64", ONEOP_DTYPE_FLOAT64},
    {"double", ONEOP_DTYPE_FLOAT64},
    {"float16", ONEOP_DTYPE_FLOAT16},
    {"half", ONEOP_DTYPE_FLOAT16},
    {"bfloat16", ONEOP_DTYPE_BFLOAT16},
    {"bool", ONEOP_DTYPE_BOOL},
    {"int8", ONEOP_DTYPE_INT8},
    {"uint8", ONEOP_DTYPE_UINT8},
    {"int16", ONEOP_DTYPE_INT16},
    {"short", ONEOP_DTYPE_INT16},
    {"int32", ONEOP_DTYPE_INT32},
    {"int", ONEOP_DTYPE_INT32},
    {"int64", ONEOP_DTYPE_INT64},
    {"long", ONEOP_DTYPE_INT64},
    {"uint16", ONEOP_DTYPE_UINT16},
    {"uint32", ONEOP_DTYPE_UINT32},
    {"uint64", ONEOP_DTYPE_UINT64},
    {"complex64", ONEOP_DTYPE_COMPLEX64},
    {"complex128", ONEOP_DTYPE_COMPLEX128},
};

// Reads one literal of a type into an attribute of the library. False: it is none, or a number that
// the type cannot hold: no value is ever cut off or replaced by the nearest one.
class DefaultReader {
 public:
  // `list_size`: of a list of numbers for which one literal stands, 0 where it does not.
  explicit DefaultReader(std::string_view text, int list_size = 0)
      : cursor_{text}, list_size_(list_size) {}

  ONEOP_COLD bool Read(int type, oneop_attr* attr) {
    attr->type = type;
    return (type == ONEOP_ATTR_SCALAR ? Number(attr) : Value(type, attr)) && AtEnd();
  }
  // After Read() was false; the name of the type follows.
  const char* problem() const {
    return is_too_large_ ? " does not fit type " : " is no literal of type ";
  }
  bool is_too_large() const { return is_too_large_; }

 private:
  bool AtEnd() {
    cursor_.SkipSpace();
    return cursor_.at == cursor_.text.size();
  }
  ONEOP_COLD bool Value(int type, oneop_attr* attr) {
    switch (type) {
      case ONEOP_ATTR_BOOL:
        attr->value.i = cursor_.Take("True") ? 1 : 0;
        return attr->value.i == 1 || cursor_.Take("False");
      case ONEOP_ATTR_INT32:
      case ONEOP_ATTR_INT64:
        return Integer(type, &attr->value.i);
      case ONEOP_ATTR_FLOAT:
      case ONEOP_ATTR_DOUBLE:
        return Real(type, &attr->value.f);
      case ONEOP_ATTR_STRING:
        return Text(&attr->value.list);
      case ONEOP_ATTR_DTYPE:
        return Dtype(&attr->value.i);
      case ONEOP_ATTR_SHAPE:
      case ONEOP_ATTR_LIST_INT64:
        return List<int64_t>(&attr->value.list,
                             [this](int64_t* to) { return Integer(ONEOP_ATTR_INT64, to); });
      case ONEOP_ATTR_LIST_INT32:
        return List<int32_t>(&attr->value.list, [this](int32_t* to) {
          int64_t wide = 0;
          const bool is_read = Integer(ONEOP_ATTR_INT32, &wide);
          *to = static_cast<int32_t>(wide);
          return is_read;
        });
      case ONEOP_ATTR_LIST_FLOAT:
        return List<float>(&attr->value.list, [this](float* to) {
          double wide = 0;
          const bool is_read = Real(ONEOP_ATTR_FLOAT, &wide);
          *to = static_cast<float>(wide);
          return is_read;
        });
      case ONEOP_ATTR_LIST_DOUBLE:
        return List<double>(&attr->value.list,
                            [this](double* to) { return Real(ONEOP_ATTR_DOUBLE, to); });
      case ONEOP_ATTR_LIST_DTYPE:
        list_size_ = 0;
        return List<int32_t>(&attr->value.list, [this](int32_t* to) {
          int64_t wide = 0;
          const bool is_read = Dtype(&wide);
          *to = static_cast<int32_t>(wide);
          return is_read;
        });
      case ONEOP_ATTR_LIST_BOOL:
        return List<uint8_t>(&attr->value.list, [this](uint8_t* to) {
          *to = cursor_.Take("True") ? 1 : 0;
          return *to == 1 || cursor_.Take("False");
        });
      case ONEOP_ATTR_LIST_STRING:
        list_size_ = 0;
        return List<oneop_span>(&attr->value.list, [this](oneop_span* to) { return Text(to); });
      default:  // of shapes in a list, complex numbers and bytes no default can be written
        return false;
    }
  }

  // A literal of a scalar says its kind: True, 2 or 2.0.
  ONEOP_COLD bool Number(oneop_attr* attr) {
    const size_t begin = cursor_.at;
    for (const int kind : {ONEOP_ATTR_BOOL, ONEOP_ATTR_INT64, ONEOP_ATTR_DOUBLE}) {
      cursor_.at = begin;
      attr->type = kind;
      if (is_too_large_ || (Value(kind, attr) && AtEnd())) {
        return !is_too_large_;
      }
    }
    return false;
  }
  // Not part of a longer word, such as 2x.
  bool EndsHere() const {
    return !Cursor::IsLetter(cursor_.Next()) && !Cursor::IsDigit(cursor_.Next()) &&
           cursor_.Next() != '.';
  }
  ONEOP_COLD bool Integer(int type, int64_t* to) {
    cursor_.SkipSpace();
    const std::string rest(cursor_.text.substr(cursor_.at));
    const char* digits = rest.c_str() + (rest[0] == '-' || rest[0] == '+' ? 1 : 0);
    if (digits[0] == '0' && Cursor::IsDigit(digits[1])) {
      return false;  // in C an octal number, in Python none
    }
    char* end = nullptr;
    errno = 0;
    *to = std::strtoll(rest.c_str(), &end, 0);
    cursor_.at += static_cast<size_t>(end - rest.c_str());
    const bool fits = errno == 0 && (type == ONEOP_ATTR_INT64 || static_cast<int32_t>(*to) == *to);
    return end != rest.c_str() && EndsHere() && Fits(fits);
  }
  ONEOP_COLD bool Real(int type, double* to) {
    cursor_.SkipSpace();
    const std::string rest(cursor_.text.substr(cursor_.at));
    char* end = nullptr;
    *to = std::strtod(rest.c_str(), &end);
    cursor_.at += static_cast<size_t>(end - rest.c_str());
    const double held =
        type == ONEOP_ATTR_FLOAT ? static_cast<double>(static_cast<float>(*to)) : *to;
    const bool is_written = rest.find_first_of("iI") < static_cast<size_t>(end - rest.c_str());
    return end != rest.c_str() && EndsHere() && Fits(!__builtin_isinf(held) || is_written);
  }
  bool Fits(bool fits) {
    is_too_large_ = is_too_large_ || !fits;
    return fits;
  }
  ONEOP_COLD bool Dtype(int64_t* to) {
    cursor_.Take("torch.");
    const std::string_view name = cursor_.Word();
    for (const DtypeName& known : kDtypes) {
      if (known.name == name) {
        *to = known.code;
        return true;
      }
    }
    return false;
  }
  ONEOP_COLD bool Text(oneop_span* to) {
    cursor_.SkipSpace();
    const char quote = cursor_.Next();
    if (quote != '"' && quote != '\'') {
      return false;
    }
    std::string value;
    for (++cursor_.at; cursor_.at < cursor_.text.size() && cursor_.Next() != quote; ++cursor_.at) {
      char c = cursor_.Next();
      if (c == '\\' && cursor_.at + 1 < cursor_.text.size()) {
        c = cursor_.text[++cursor_.at];
        c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
      }
      value.push_back(c);
    }
    *to = {sdk::library.arena.CopyText(value), static_cast<int64_t>(value.size())};
    return cursor_.at++ < cursor_.text.size();
  }
  template <class T, class F>
  bool List(oneop_span* to, const F& read) {
    constexpr int kMostElements = 64;
    const bool is_tuple = cursor_.Take("(");
    if (!is_tuple && !cursor_.Take("[")) {
      T value{};
      if (list_size_ == 0 || !read(&value)) {
        return false;
      }
      auto* items =
          static_cast<T*>(sdk::library.arena.Allocate(sizeof(T) * static_cast<size_t>(list_size_)));
      for (int i = 0; i < list_size_; ++i) {
        items[i] = value;
      }
      *to = {items, list_size_};
      return true;
    }
    const std::string_view closing = is_tuple ? ")" : "]";
    T values[kMostElements];
    int count = 0;
    while (!cursor_.Take(closing)) {
      if (count == kMostElements || !read(&values[count++])) {
        return false;
      }
      if (!cursor_.Take(",")) {
        if (!cursor_.Take(closing)) {
          return false;
        }
        break;
      }
    }
    *to = {sdk::library.arena.Copy(values, sizeof(T) * static_cast<size_t>(count)), count};
    return true;
  }

  Cursor cursor_;
  int list_size_;
  bool is_too_large_ = false;
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_DEFAULTS_H_
