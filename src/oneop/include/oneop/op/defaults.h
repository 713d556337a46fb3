// The default values of attributes, as a schema writes them.
#ifndef ONEOP_OP_DEFAULTS_H_
#define ONEOP_OP_DEFAULTS_H_

#include "oneop/op/mistake.h"
#include "oneop/op/text/literals.h"

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
    {"complex32", ONEOP_DTYPE_COMPLEX32},
    {"chalf", ONEOP_DTYPE_COMPLEX32},
    {"complex64", ONEOP_DTYPE_COMPLEX64},
    {"cfloat", ONEOP_DTYPE_COMPLEX64},
    {"complex128", ONEOP_DTYPE_COMPLEX128},
    {"cdouble", ONEOP_DTYPE_COMPLEX128},
    {"float8_e4m3fn", ONEOP_DTYPE_FLOAT8_E4M3FN},
    {"float8_e5m2", ONEOP_DTYPE_FLOAT8_E5M2},
    {"float8_e4m3fnuz", ONEOP_DTYPE_FLOAT8_E4M3FNUZ},
    {"float8_e5m2fnuz", ONEOP_DTYPE_FLOAT8_E5M2FNUZ},
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
      case ONEOP_ATTR_BYTES:
        return Text(type == ONEOP_ATTR_BYTES, &attr->value.list);
      case ONEOP_ATTR_COMPLEX_DOUBLE: {
        NumberLiteral number;
        double parts[2] = {0, 0};
        bool is_complex = false;
        return Complex(&number, parts, &is_complex) && Keep(parts, &attr->value.list);
      }
      case ONEOP_ATTR_DTYPE:
        return Dtype(&attr->value.i);
      default:
        return ListValue(type, attr);
    }
  }
  ONEOP_COLD bool ListValue(int type, oneop_attr* attr) {
    switch (type) {
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
        return List<oneop_span>(&attr->value.list,
                                [this](oneop_span* to) { return Text(false, to); });
      case ONEOP_ATTR_LIST_SHAPE:
        list_size_ = 0;
        return List<oneop_span>(&attr->value.list, [this](oneop_span* to) {
          return List<int64_t>(to,
                               [this](int64_t* size) { return Integer(ONEOP_ATTR_INT64, size); });
        });
      default:
        return false;
    }
  }

  // A literal of a scalar says its kind: True, 2, 2.0 or 2j.
  ONEOP_COLD bool Number(oneop_attr* attr) {
    const size_t begin = cursor_.at;
    attr->type = ONEOP_ATTR_BOOL;
    if (Value(ONEOP_ATTR_BOOL, attr)) {
      return true;
    }
    cursor_.at = begin;
    NumberLiteral number;
    double parts[2] = {0, 0};
    bool is_complex = false;
    if (!Complex(&number, parts, &is_complex)) {
      return false;
    }
    if (is_complex) {
      attr->type = ONEOP_ATTR_COMPLEX_DOUBLE;
      return Keep(parts, &attr->value.list);
    }
    attr->type = number.is_integer ? ONEOP_ATTR_INT64 : ONEOP_ATTR_DOUBLE;
    if (number.is_integer) {
      attr->value.i = number.integer;
      return Fits(number.fits_integer);
    }
    attr->value.f = number.real;
    return true;
  }
  ONEOP_COLD bool Integer(int type, int64_t* to) {
    NumberLiteral number;
    const bool is_read = NumberReader(&cursor_).Read(&number) && number.is_integer;
    *to = number.integer;
    const bool is_wide = type == ONEOP_ATTR_INT64;
    return is_read && Fits(number.fits_integer && (is_wide || static_cast<int32_t>(*to) == *to));
  }
  ONEOP_COLD bool Real(int type, double* to) {
    NumberLiteral number;
    const bool is_read = NumberReader(&cursor_).Read(&number) && !number.is_imaginary;
    *to = number.is_integer ? number.real + 0.0 : number.real;  // -0 is the integer 0
    const bool is_cut = type == ONEOP_ATTR_FLOAT && !__builtin_isinf(*to) &&
                        __builtin_isinf(static_cast<float>(*to));
    *to = type == ONEOP_ATTR_FLOAT && !is_cut ? static_cast<double>(static_cast<float>(*to)) : *to;
    return is_read && Fits(number.fits_real && !is_cut);
  }
  // A complex number may stand in brackets, as Python prints it: (1+2j).
  ONEOP_COLD bool Complex(NumberLiteral* number, double* parts, bool* is_complex) {
    const bool has_brackets = cursor_.Take("(");
    return BareComplex(number, parts, is_complex) &&
           (!has_brackets || (*is_complex && cursor_.Take(")")));
  }
  // A number, an imaginary one, or both with a sign between them. `number` is the first.
  ONEOP_COLD bool BareComplex(NumberLiteral* number, double* parts, bool* is_complex) {
    if (!NumberReader(&cursor_).Read(number)) {
      return false;
    }
    *is_complex = number->is_imaginary;
    parts[0] = number->is_integer && !number->is_imaginary ? number->real + 0.0 : number->real;
    if (number->is_imaginary) {
      parts[0] = __builtin_signbit(number->real) ? -0.0 : 0.0;  // as Python negates it
      parts[1] = number->real;
      return Fits(number->fits_real);
    }
    cursor_.SkipSpace();
    const bool is_minus = cursor_.Next() == '-';
    if (is_minus || cursor_.Next() == '+') {
      ++cursor_.at;
      cursor_.SkipSpace();
      NumberLiteral second;
      const bool has_sign = cursor_.Next() == '-' || cursor_.Next() == '+';
      if (has_sign || !NumberReader(&cursor_).Read(&second) || !second.is_imaginary) {
        return false;
      }
      *is_complex = true;
      parts[0] = is_minus ? parts[0] - 0.0 : parts[0] + 0.0;
      parts[1] = is_minus ? 0.0 - second.real : 0.0 + second.real;
      return Fits(number->fits_real && second.fits_real);
    }
    return Fits(number->fits_real);
  }
  static bool Keep(const double* parts, oneop_span* to) {
    *to = {sdk::library.arena.Copy(parts, 2 * sizeof(double)), 2};
    return true;
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
  ONEOP_COLD bool Text(bool takes_bytes, oneop_span* to) {
    std::string value;
    const bool is_read = TextReader(&cursor_).Read(takes_bytes, &value);
    *to = {sdk::library.arena.CopyText(value), static_cast<int64_t>(value.size())};
    return is_read;
  }
  template <class T, class F>
  bool List(oneop_span* to, const F& read) {
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
    std::string bytes;
    int count = 0;
    bool has_comma = false;
    while (!cursor_.Take(closing)) {
      T value{};
      if (!read(&value)) {
        return false;
      }
      ++count;
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
      if (!cursor_.Take(",")) {
        if (!cursor_.Take(closing)) {
          return false;
        }
        break;
      }
      has_comma = true;
    }
    *to = {sdk::library.arena.Copy(bytes.data(), bytes.size()), count};
    return !is_tuple || count != 1 || has_comma;
  }

  Cursor cursor_;
  int list_size_;
  bool is_too_large_ = false;
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_DEFAULTS_H_
