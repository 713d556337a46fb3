// item.cpp: reading JSON. A number without a point and an exponent is an integer.
#include "onnx_host/item.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <utility>

namespace oneop {
namespace {

constexpr int kMaxDepth = 8;

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  bool read_all(Item* item) {
    if (!read(item, 0)) {
      return false;
    }
    skip_space();
    return at_ == text_.size();
  }

 private:
  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) {
      ++at_;
    }
  }

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) {
      return false;
    }
    at_ += word.size();
    return true;
  }

  bool read(Item* item, int depth) {
    skip_space();
    if (take("[")) {
      return depth < kMaxDepth && read_list(item, depth);
    }
    if (take("\"")) {
      item->kind = Item::kText;
      return read_text(&item->text);
    }
    if (take("null")) {
      return true;
    }
    if (take("true") || take("false")) {
      item->kind = Item::kBool;
      item->integer = text_[at_ - 2] == 'u' ? 1 : 0;
      return true;
    }
    return read_number(item);
  }

  bool read_list(Item* item, int depth) {
    item->kind = Item::kList;
    skip_space();
    if (take("]")) {
      return true;
    }
    do {
      item->items.emplace_back();
      if (!read(&item->items.back(), depth + 1)) {
        return false;
      }
      skip_space();
    } while (take(","));
    return take("]");
  }

  bool read_number(Item* item) {
    const size_t begin = at_;
    take("-");
    const double sign = at_ == begin ? 1 : -1;
    if (take("inf") || take("nan") || take("Infinity") || take("NaN")) {
      const bool is_nan = text_[at_ - 1] == 'n' || text_[at_ - 1] == 'N';
      *item = Item::of(sign * (is_nan ? std::numeric_limits<double>::quiet_NaN()
                                      : std::numeric_limits<double>::infinity()));
      return true;
    }
    at_ = text_.find_first_not_of("0123456789.eE+-", at_);
    at_ = at_ == text_.npos ? text_.size() : at_;
    const std::string digits(text_.substr(begin, at_ - begin));
    char* end = nullptr;
    errno = 0;
    if (digits.find_first_of(".eE") == digits.npos) {
      *item = Item::of(int64_t{std::strtoll(digits.c_str(), &end, 10)});
      return !digits.empty() && *end == '\0' && errno == 0;
    }
    *item = Item::of(std::strtod(digits.c_str(), &end));
    return end == digits.c_str() + digits.size();
  }

  bool read_text(std::string* text) {
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        text->push_back(text_[at_++]);
        continue;
      }
      constexpr std::string_view kMarks = "\"\\/bfnrt";
      constexpr std::string_view kMeant = "\"\\/\b\f\n\r\t";
      const size_t mark = at_ + 1 < text_.size() ? kMarks.find(text_[at_ + 1]) : kMarks.npos;
      at_ += 2;
      if (mark != kMarks.npos) {
        text->push_back(kMeant[mark]);
      } else if (at_ > text_.size() || text_[at_ - 1] != 'u' || !read_code(text)) {
        return false;
      }
    }
    return take("\"");
  }

  // The four digits of \u.
  bool read_digits(uint32_t* code) {
    const std::string_view digits = text_.substr(std::min(at_, text_.size()), 4);
    if (digits.size() != 4 || digits.find_first_not_of("0123456789abcdefABCDEF") != digits.npos) {
      return false;
    }
    at_ += 4;
    *code = static_cast<uint32_t>(std::strtoul(std::string(digits).c_str(), nullptr, 16));
    return true;
  }

  // The character of \u, as UTF-8. What has more than 16 bits is written as two of them.
  bool read_code(std::string* text) {
    uint32_t code = 0;
    uint32_t low = 0;
    if (!read_digits(&code)) {
      return false;
    }
    if (code >= 0xd800 && code < 0xe000) {
      if (code >= 0xdc00 || !take("\\u") || !read_digits(&low) || low < 0xdc00 || low >= 0xe000) {
        return false;
      }
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    const auto push = [text](uint32_t byte) { text->push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
      push(code);
      return true;
    }
    const int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    push((more == 1 ? 0xc0 : more == 2 ? 0xe0 : 0xf0) | code >> 6 * more);
    for (int left = more - 1; left >= 0; --left) {
      push(0x80 | (code >> 6 * left & 0x3f));
    }
    return true;
  }

  const std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

Item Item::of(int64_t integer) {
  Item item;
  item.kind = kInt;
  item.integer = integer;
  return item;
}

Item Item::of(double real) {
  Item item;
  item.kind = kReal;
  item.real = real;
  return item;
}

Item Item::of(std::string text) {
  Item item;
  item.kind = kText;
  item.text = std::move(text);
  return item;
}

bool read_json(std::string_view text, Item* item) { return JsonReader(text).read_all(item); }

}  // namespace oneop
