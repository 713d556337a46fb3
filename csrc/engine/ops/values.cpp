// values.cpp: attribute values: copies, views, keys, comparison and text.
#include "engine/ops/values.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "engine/ops/abi_read.h"
#include "engine/ops/codes.h"

namespace oneop {
namespace {

template <typename T>
std::vector<T> copy_list(const oneop_span& span) {
  checked_count(span.count, span.data, "the length of a list in an attribute", kMaxListLength);
  const T* data = static_cast<const T*>(span.data);
  return std::vector<T>(data, data + span.count);
}

std::string copy_text(const oneop_span& span) {
  checked_count(span.count, span.data, "the length of a text in an attribute", kMaxListLength);
  return std::string(static_cast<const char*>(span.data), span.count);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

template <typename List, typename Format>
std::string join(const List& list, const Format& format) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    text += (i == 0 ? "" : ", ");
    text += format(list[i]);
  }
  return text + "]";
}

std::string ints(const std::vector<int64_t>& list) {
  return join(list, [](int64_t v) { return std::to_string(v); });
}

std::string single_quoted(const std::string& text) { return "'" + text + "'"; }

}  // namespace

std::string tensor_text(int32_t dtype, const int64_t* shape, int32_t ndim) {
  return dtype_name(dtype) + ints(std::vector<int64_t>(shape, shape + ndim));
}

// long: a case for each attribute type.
AttrValue AttrValue::copy_of(const oneop_attr& attr) {
  AttrValue value;
  value.type = attr.type;
  const oneop_span& list = attr.value.list;
  switch (attr.type) {
    case ONEOP_ATTR_INT32:
    case ONEOP_ATTR_INT64:
    case ONEOP_ATTR_BOOL:
    case ONEOP_ATTR_DTYPE:
      value.i = attr.value.i;
      break;
    case ONEOP_ATTR_FLOAT:
      value.f = static_cast<float>(attr.value.f);
      break;
    case ONEOP_ATTR_DOUBLE:
      value.f = attr.value.f;
      break;
    case ONEOP_ATTR_STRING:
    case ONEOP_ATTR_BYTES:
      value.text = copy_text(list);
      break;
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      value.int64s = copy_list<int64_t>(list);
      break;
    case ONEOP_ATTR_LIST_INT32:
    case ONEOP_ATTR_LIST_DTYPE:
      value.int32s = copy_list<int32_t>(list);
      break;
    case ONEOP_ATTR_LIST_FLOAT:
      value.floats = copy_list<float>(list);
      break;
    case ONEOP_ATTR_LIST_DOUBLE:
      value.doubles = copy_list<double>(list);
      break;
    case ONEOP_ATTR_LIST_BOOL:
      value.bools = copy_list<uint8_t>(list);
      for (uint8_t& item : value.bools) {
        item = item != 0 ? 1 : 0;
      }
      break;
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      value.doubles = copy_list<double>(list);
      if (value.doubles.size() != 2) {
        refuse_abi("a complex attribute: expected 2 numbers, found " +
                   std::to_string(value.doubles.size()));
      }
      break;
    case ONEOP_ATTR_LIST_SHAPE:
      for (const oneop_span& shape : copy_list<oneop_span>(list)) {
        value.shapes.push_back(copy_list<int64_t>(shape));
      }
      break;
    case ONEOP_ATTR_LIST_STRING:
      for (const oneop_span& text : copy_list<oneop_span>(list)) {
        value.strings.push_back(copy_text(text));
      }
      break;
    default:
      break;
  }
  return value;
}

oneop_attr AttrValue::view(const char* name, std::vector<oneop_span>* spans) const {
  oneop_attr attr{};
  attr.name = name;
  attr.type = type;
  const auto span = [](const auto& list) {
    return oneop_span{list.data(), static_cast<int64_t>(list.size())};
  };
  switch (type) {
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      attr.value.f = f;
      break;
    case ONEOP_ATTR_STRING:
    case ONEOP_ATTR_BYTES:
      attr.value.list = span(text);
      break;
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      attr.value.list = span(int64s);
      break;
    case ONEOP_ATTR_LIST_INT32:
    case ONEOP_ATTR_LIST_DTYPE:
      attr.value.list = span(int32s);
      break;
    case ONEOP_ATTR_LIST_FLOAT:
      attr.value.list = span(floats);
      break;
    case ONEOP_ATTR_LIST_DOUBLE:
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      attr.value.list = span(doubles);
      break;
    case ONEOP_ATTR_LIST_BOOL:
      attr.value.list = span(bools);
      break;
    case ONEOP_ATTR_LIST_SHAPE:
      for (const auto& shape : shapes) {
        spans->push_back(span(shape));
      }
      attr.value.list = span(*spans);
      break;
    case ONEOP_ATTR_LIST_STRING:
      for (const auto& string : strings) {
        spans->push_back(span(string));
      }
      attr.value.list = span(*spans);
      break;
    default:
      attr.value.i = i;
      break;
  }
  return attr;
}

void append_key_text(const std::string& text, std::vector<int64_t>* key) {
  key->push_back(static_cast<int64_t>(text.size()));
  for (size_t at = 0; at < text.size(); at += sizeof(int64_t)) {
    int64_t word = 0;
    std::memcpy(&word, text.data() + at, std::min(sizeof word, text.size() - at));
    key->push_back(word);
  }
}

// long: a case for each attribute type.
void AttrValue::append_key(std::vector<int64_t>* key) const {
  key->push_back(type);  // None and values of an optional attribute differ in it
  const auto bits = [](double v) {
    int64_t word;
    std::memcpy(&word, &v, sizeof word);
    return word;
  };
  switch (type) {
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      key->push_back(bits(f));
      break;
    case ONEOP_ATTR_STRING:
    case ONEOP_ATTR_BYTES:
      append_key_text(text, key);
      break;
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      key->push_back(static_cast<int64_t>(int64s.size()));
      key->insert(key->end(), int64s.begin(), int64s.end());
      break;
    case ONEOP_ATTR_LIST_INT32:
    case ONEOP_ATTR_LIST_DTYPE:
      key->push_back(static_cast<int64_t>(int32s.size()));
      key->insert(key->end(), int32s.begin(), int32s.end());
      break;
    case ONEOP_ATTR_LIST_FLOAT:
      key->push_back(static_cast<int64_t>(floats.size()));
      for (float v : floats) {
        key->push_back(bits(v));
      }
      break;
    case ONEOP_ATTR_LIST_BOOL:
      key->push_back(static_cast<int64_t>(bools.size()));
      key->insert(key->end(), bools.begin(), bools.end());
      break;
    case ONEOP_ATTR_LIST_DOUBLE:
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      key->push_back(static_cast<int64_t>(doubles.size()));
      for (double v : doubles) {
        key->push_back(bits(v));
      }
      break;
    case ONEOP_ATTR_LIST_SHAPE:
      key->push_back(static_cast<int64_t>(shapes.size()));
      for (const auto& shape : shapes) {
        key->push_back(static_cast<int64_t>(shape.size()));
        key->insert(key->end(), shape.begin(), shape.end());
      }
      break;
    case ONEOP_ATTR_LIST_STRING:
      key->push_back(static_cast<int64_t>(strings.size()));
      for (const auto& string : strings) {
        append_key_text(string, key);
      }
      break;
    default:
      key->push_back(i);
      break;
  }
}

bool AttrValue::equals(const AttrValue& other) const {
  return type == other.type && i == other.i && f == other.f && text == other.text &&
         int64s == other.int64s && int32s == other.int32s && floats == other.floats &&
         doubles == other.doubles && bools == other.bools && shapes == other.shapes &&
         strings == other.strings;
}

int64_t AttrValue::list_length() const {
  return static_cast<int64_t>(int64s.size() + int32s.size() + floats.size() + doubles.size() +
                              bools.size() + shapes.size() + strings.size());
}

std::string AttrValue::repr() const {
  switch (type) {
    case ONEOP_ATTR_NONE:
      return "None";
    case ONEOP_ATTR_BOOL:
      return i != 0 ? "True" : "False";
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      return number(f);
    case ONEOP_ATTR_STRING:
    case ONEOP_ATTR_BYTES:
      return single_quoted(text);
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      return ints(int64s);
    case ONEOP_ATTR_DTYPE:
      return dtype_name(static_cast<int32_t>(i));
    case ONEOP_ATTR_LIST_INT32:
      return join(int32s, [](int32_t v) { return std::to_string(v); });
    case ONEOP_ATTR_LIST_FLOAT:
      return join(floats, number);
    case ONEOP_ATTR_LIST_DOUBLE:
      return join(doubles, number);
    case ONEOP_ATTR_LIST_DTYPE:
      return join(int32s, dtype_name);
    case ONEOP_ATTR_LIST_BOOL:
      return join(bools, [](uint8_t v) { return v != 0 ? "True" : "False"; });
    case ONEOP_ATTR_LIST_SHAPE:
      return join(shapes, ints);
    case ONEOP_ATTR_LIST_STRING:
      return join(strings, single_quoted);
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      return "(" + number(doubles[0]) + "+" + number(doubles[1]) + "j)";
    default:
      return std::to_string(i);
  }
}

}  // namespace oneop
