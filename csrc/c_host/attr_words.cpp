// attr_words.cpp: AttrValue::append_key writes the words; they are read back here.
#include "c_host/attr_words.h"

#include <algorithm>
#include <cstring>

#include "engine/calls/refusal.h"

namespace oneop {
namespace {

class Reader {
 public:
  Reader(const OpDef& op, const int64_t* words, int64_t count)
      : op_(op), next_(words), end_(words + count) {}

  bool is_done() const { return next_ == end_; }

  int64_t word() {
    if (next_ == end_) {
      refuse();
    }
    return *next_++;
  }

  // A length; no list is longer than what is left.
  int64_t length() {
    const int64_t count = word();
    if (count < 0 || count > 8 * (end_ - next_)) {
      refuse();
    }
    return count;
  }

  double number() {
    const int64_t bits = word();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

  std::string text() {
    const int64_t size = length();
    std::string text(static_cast<size_t>(size), '\0');
    for (int64_t at = 0; at < size; at += 8) {
      const int64_t bits = word();
      std::memcpy(&text[at], &bits, std::min<int64_t>(8, size - at));
    }
    return text;
  }

  template <typename T, typename Read>
  void list(std::vector<T>* items, const Read& read) {
    for (int64_t left = length(); left > 0; --left) {
      items->push_back(static_cast<T>(read()));
    }
  }

  AttrValue value(const AttrDef& attr) {
    AttrValue value;
    value.type = static_cast<int32_t>(word());
    if (!attr.takes_type(value.type)) {
      refuse();
    }
    const auto integer = [this] { return word(); };
    switch (value.type) {
      case ONEOP_ATTR_FLOAT:
      case ONEOP_ATTR_DOUBLE:
        value.f = number();
        break;
      case ONEOP_ATTR_STRING:
      case ONEOP_ATTR_BYTES:
        value.text = text();
        break;
      case ONEOP_ATTR_SHAPE:
      case ONEOP_ATTR_LIST_INT64:
        list(&value.int64s, integer);
        break;
      case ONEOP_ATTR_LIST_INT32:
      case ONEOP_ATTR_LIST_DTYPE:
        list(&value.int32s, integer);
        break;
      case ONEOP_ATTR_LIST_BOOL:
        list(&value.bools, [this] { return word() != 0; });
        break;
      case ONEOP_ATTR_LIST_FLOAT:
        list(&value.floats, [this] { return number(); });
        break;
      case ONEOP_ATTR_LIST_DOUBLE:
      case ONEOP_ATTR_COMPLEX_DOUBLE:
        list(&value.doubles, [this] { return number(); });
        break;
      case ONEOP_ATTR_LIST_SHAPE:
        for (int64_t left = length(); left > 0; --left) {
          value.shapes.emplace_back();
          list(&value.shapes.back(), integer);
        }
        break;
      case ONEOP_ATTR_LIST_STRING:
        for (int64_t left = length(); left > 0; --left) {
          value.strings.push_back(text());
        }
        break;
      default:
        value.i = word();
        break;
    }
    if (!attr.takes_length(value)) {
      refuse();
    }
    return value;
  }

  [[noreturn]] void refuse() const {
    refuse_argument(op_, ": its attributes were written for another definition of it");
  }

 private:
  const OpDef& op_;
  const int64_t* next_;
  const int64_t* end_;
};

}  // namespace

std::vector<int64_t> words_of(const std::vector<AttrValue>& values) {
  std::vector<int64_t> words;
  for (const AttrValue& value : values) {
    value.append_key(&words);
  }
  return words;
}

std::vector<AttrValue> values_of(const OpDef& op, const int64_t* words, int64_t count) {
  Reader reader(op, words, count);
  std::vector<AttrValue> values;
  for (const AttrDef& attr : op.attrs) {
    values.push_back(reader.value(attr));
  }
  if (!reader.is_done()) {
    reader.refuse();
  }
  return values;
}

}  // namespace oneop
