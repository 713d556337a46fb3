// Numbers and texts as Python writes them: the defaults of a schema are the same for oneop.define.
#ifndef ONEOP_OP_TEXT_LITERALS_H_
#define ONEOP_OP_TEXT_LITERALS_H_

#include <cerrno>
#include <cstdlib>
#include <string>

#include "oneop/op/schema.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

// One number, with its sign.
struct NumberLiteral {
  bool is_integer = false;
  bool is_imaginary = false;
  bool fits_integer = false;  // 64 bits
  bool fits_real = false;     // finite, or written inf
  int64_t integer = 0;
  double real = 0;
};

class NumberReader {
 public:
  explicit NumberReader(Cursor* cursor) : cursor_(*cursor) {}

  // False: there is none here.
  ONEOP_COLD bool Read(NumberLiteral* to) {
    cursor_.SkipSpace();
    const bool is_negative = cursor_.Next() == '-';
    if (is_negative || cursor_.Next() == '+') {
      ++cursor_.at;
      cursor_.SkipSpace();
    }
    Cursor ahead = cursor_;
    const std::string_view word = ahead.Word();
    if (word == "inf" || word == "nan") {
      cursor_ = ahead;
      to->real = word == "inf" ? __builtin_inf() : __builtin_nan("");
      to->fits_real = true;
    } else if (!Digits(to, is_negative)) {
      return false;
    }
    to->real = is_negative ? -to->real : to->real;
    return true;
  }

 private:
  ONEOP_COLD bool Digits(NumberLiteral* to, bool is_negative) {
    std::string digits;
    const int base = Base();
    bool is_real = false;
    if (base != 10) {
      cursor_.at += 2;
      if (!Take(base, true, &digits)) {
        return false;
      }
    } else {
      const bool has_whole = Take(10, false, &digits);
      if (cursor_.Next() == '.') {
        ++cursor_.at;
        is_real = true;
        digits += '.';
      }
      if (!(is_real && Take(10, false, &digits)) && !has_whole) {
        return false;
      }
      is_real = Exponent(&digits) || is_real;
      to->is_imaginary = cursor_.Next() == 'j' || cursor_.Next() == 'J';
      cursor_.at += to->is_imaginary ? 1 : 0;
    }
    to->is_integer = !is_real && !to->is_imaginary;
    const bool is_octal_in_c = to->is_integer && base == 10 && digits[0] == '0' &&
                               digits.find_first_not_of('0') != std::string::npos;
    const char after = cursor_.Next();
    if (is_octal_in_c || Cursor::IsLetter(after) || Cursor::IsDigit(after) || after == '.') {
      return false;
    }
    Convert(digits, base, is_negative, to);
    return true;
  }
  int Base() const {
    const char mark = cursor_.Next() == '0' && cursor_.at + 1 < cursor_.text.size()
                          ? cursor_.text[cursor_.at + 1]
                          : '\0';
    return mark == 'x' || mark == 'X'   ? 16
           : mark == 'o' || mark == 'O' ? 8
           : mark == 'b' || mark == 'B' ? 2
                                        : 10;
  }
  static int DigitOf(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 99;
  }
  // Digits with single underscores between them.
  bool Take(int base, bool may_begin_with_underscore, std::string* digits) {
    const size_t before = digits->size();
    while (true) {
      const bool may_be = digits->size() != before || may_begin_with_underscore;
      const size_t at = cursor_.at + (may_be && cursor_.Next() == '_' ? 1 : 0);
      if (at >= cursor_.text.size() || DigitOf(cursor_.text[at]) >= base) {
        return digits->size() != before;
      }
      digits->push_back(cursor_.text[at]);
      cursor_.at = at + 1;
    }
  }
  bool Exponent(std::string* digits) {
    if (cursor_.Next() != 'e' && cursor_.Next() != 'E') {
      return false;
    }
    const Cursor before = cursor_;
    std::string exponent = "e";
    ++cursor_.at;
    if (cursor_.Next() == '-' || cursor_.Next() == '+') {
      exponent += cursor_.Next();
      ++cursor_.at;
    }
    if (!Take(10, false, &exponent)) {
      cursor_ = before;
      return false;
    }
    digits->append(exponent);
    return true;
  }
  static void Convert(const std::string& digits, int base, bool is_negative, NumberLiteral* to) {
    errno = 0;
    const uint64_t size = std::strtoull(digits.c_str(), nullptr, base);
    const uint64_t most = (uint64_t{1} << 63) - (is_negative ? 0 : 1);
    to->fits_integer = to->is_integer && errno == 0 && size <= most;
    to->integer = static_cast<int64_t>(is_negative ? 0 - size : size);
    if (base == 10) {
      to->real = std::strtod(digits.c_str(), nullptr);
    } else {
      to->real = 0;
      for (const char c : digits) {
        to->real = to->real * base + DigitOf(c);
      }
      to->real = errno == 0 ? static_cast<double>(size) : to->real;
    }
    to->fits_real = !__builtin_isinf(to->real);
  }

  Cursor& cursor_;
};

// The text between quotation marks; b before them for bytes.
class TextReader {
 public:
  explicit TextReader(Cursor* cursor) : cursor_(*cursor) {}

  ONEOP_COLD bool Read(bool takes_bytes, std::string* to) {
    cursor_.SkipSpace();
    is_bytes_ = takes_bytes && (cursor_.Next() == 'b' || cursor_.Next() == 'B');
    cursor_.at += is_bytes_ ? 1 : 0;
    const char quote = cursor_.Next();
    if (quote != '"' && quote != '\'') {
      return false;
    }
    for (++cursor_.at; cursor_.at < cursor_.text.size() && cursor_.Next() != quote;) {
      const char c = cursor_.text[cursor_.at++];
      if (c == '\n' || (is_bytes_ && static_cast<unsigned char>(c) >= 0x80) ||
          (c == '\\' && !Escape(to))) {
        return false;
      }
      if (c != '\\') {
        to->push_back(c);
      }
    }
    return cursor_.at++ < cursor_.text.size();
  }

 private:
  ONEOP_COLD bool Escape(std::string* to) {
    if (cursor_.at == cursor_.text.size()) {
      return false;
    }
    const char c = cursor_.text[cursor_.at++];
    constexpr std::string_view kLetters = "abfnrtv\\'\"", kMeant = "\a\b\f\n\r\t\v\\'\"";
    const size_t place = kLetters.find(c);
    if (place != std::string_view::npos) {
      to->push_back(kMeant[place]);
      return true;
    }
    if (c >= '0' && c <= '7') {
      --cursor_.at;
      return Code(8, 1, 3, to);
    }
    if (c == 'x') {
      return Code(16, 2, 2, to);
    }
    if (!is_bytes_ && (c == 'u' || c == 'U')) {
      return Code(16, c == 'u' ? 4 : 8, c == 'u' ? 4 : 8, to);
    }
    if (c == 'N') {
      return false;  // names of characters are not known here
    }
    if (c != '\n') {  // which goes on in the next line
      to->append({'\\', c});
    }
    return true;
  }
  bool Code(int base, int least, int most, std::string* to) {
    uint32_t code = 0;
    int count = 0;
    for (; count < most; ++count, ++cursor_.at) {
      const char c = cursor_.Next();
      const int digit = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : 99;
      if (digit >= base) {
        break;
      }
      code = code * static_cast<uint32_t>(base) + static_cast<uint32_t>(digit);
    }
    if (count < least || (!is_bytes_ && (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)))) {
      return false;
    }
    if (is_bytes_ || code < 0x80) {
      to->push_back(static_cast<char>(code));
      return true;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes of UTF-8 after the first
    constexpr unsigned kFirst[] = {0, 0xc0, 0xe0, 0xf0};
    to->push_back(static_cast<char>(kFirst[more] | code >> (6 * more)));
    for (int i = more - 1; i >= 0; --i) {
      to->push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3f)));
    }
    return true;
  }

  Cursor& cursor_;
  bool is_bytes_ = false;
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_TEXT_LITERALS_H_
