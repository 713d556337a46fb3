// values.cpp: attribute values and code names.
#include "engine/ops/values.h"

#include <cstdio>
#include <cstring>
#include <utility>

#include "engine/ops/abi_read.h"

namespace oneop {
namespace {

using Name = std::pair<int32_t, const char*>;

constexpr Name kDtypes[] = {
    {ONEOP_DTYPE_CHAR, "bytes"},
    {ONEOP_DTYPE_FLOAT32, "float32"},
    {ONEOP_DTYPE_FLOAT64, "float64"},
    {ONEOP_DTYPE_INT8, "int8"},
    {ONEOP_DTYPE_INT32, "int32"},
    {ONEOP_DTYPE_INT64, "int64"},
    {ONEOP_DTYPE_UINT8, "uint8"},
    {ONEOP_DTYPE_FLOAT16, "float16"},
    {ONEOP_DTYPE_BFLOAT16, "bfloat16"},
    {ONEOP_DTYPE_BOOL, "bool"},
    {ONEOP_DTYPE_UINT16, "uint16"},
    {ONEOP_DTYPE_UINT32, "uint32"},
    {ONEOP_DTYPE_UINT64, "uint64"},
    {ONEOP_DTYPE_INT16, "int16"},
    {ONEOP_DTYPE_COMPLEX32, "complex32"},
    {ONEOP_DTYPE_COMPLEX64, "complex64"},
    {ONEOP_DTYPE_COMPLEX128, "complex128"},
    {ONEOP_DTYPE_FLOAT8_E4M3FN, "float8_e4m3fn"},
    {ONEOP_DTYPE_FLOAT8_E5M2, "float8_e5m2"},
    {ONEOP_DTYPE_FLOAT8_E4M3FNUZ, "float8_e4m3fnuz"},
    {ONEOP_DTYPE_FLOAT8_E5M2FNUZ, "float8_e5m2fnuz"},
};

constexpr Name kDevices[] = {
    {ONEOP_DEVICE_CPU, "cpu"}, {ONEOP_DEVICE_CUDA, "cuda"}, {ONEOP_DEVICE_META, "meta"}};

constexpr Name kAttrTypes[] = {
    {ONEOP_ATTR_INT32, "int32"},
    {ONEOP_ATTR_INT64, "int64"},
    {ONEOP_ATTR_BOOL, "bool"},
    {ONEOP_ATTR_FLOAT, "float"},
    {ONEOP_ATTR_DOUBLE, "double"},
    {ONEOP_ATTR_STRING, "string"},
    {ONEOP_ATTR_SHAPE, "shape"},
    {ONEOP_ATTR_DTYPE, "dtype"},
    {ONEOP_ATTR_LIST_INT32, "list of int32"},
    {ONEOP_ATTR_LIST_INT64, "list of int64"},
    {ONEOP_ATTR_LIST_FLOAT, "list of float"},
    {ONEOP_ATTR_LIST_DOUBLE, "list of double"},
    {ONEOP_ATTR_LIST_DTYPE, "list of dtype"},
    {ONEOP_ATTR_LIST_SHAPE, "list of shape"},
    {ONEOP_ATTR_LIST_STRING, "list of string"},
    {ONEOP_ATTR_COMPLEX_DOUBLE, "complex"},
    {ONEOP_ATTR_BYTES, "bytes"},
    {ONEOP_ATTR_LIST_BOOL, "list of bool"},
    {ONEOP_ATTR_SCALAR, "scalar"},
};

template <size_t N>
const char* find_name(const Name (&names)[N], int32_t code) {
  for (const Name& name : names) {
    if (name.first == code) {
      return name.second;
    }
  }
  return nullptr;
}

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

std::string dtype_name(int32_t dtype) {
  const char* name = find_name(kDtypes, dtype);
  return name == nullptr ? "dtype " + std::to_string(dtype) : name;
}

std::string device_name(int32_t device_type) {
  const char* name = find_name(kDevices, device_type);
  return name == nullptr ? "device type " + std::to_string(device_type) : name;
}

std::string attr_type_name(int32_t type) {
  if (type == ONEOP_ATTR_NONE) {
    return "None";
  }
  const char* name = find_name(kAttrTypes, type);
  return name == nullptr ? "attribute type " + std::to_string(type) : name;
}

bool is_dtype(int32_t dtype) { return find_name(kDtypes, dtype) != nullptr; }

bool is_attr_type(int32_t type) { return find_name(kAttrTypes, type) != nullptr; }

bool is_scalar_kind(int32_t type) {
  return type == ONEOP_ATTR_INT64 || type == ONEOP_ATTR_DOUBLE || type == ONEOP_ATTR_BOOL ||
         type == ONEOP_ATTR_COMPLEX_DOUBLE;
}

bool is_list_type(int32_t type) {
  return is_spread(type) || type == ONEOP_ATTR_LIST_BOOL || type == ONEOP_ATTR_LIST_STRING ||
         type == ONEOP_ATTR_LIST_DTYPE || type == ONEOP_ATTR_LIST_SHAPE;
}

bool is_spread(int32_t list_type) {
  return list_type == ONEOP_ATTR_LIST_INT64 || list_type == ONEOP_ATTR_LIST_INT32 ||
         list_type == ONEOP_ATTR_LIST_DOUBLE || list_type == ONEOP_ATTR_LIST_FLOAT;
}

std::string tensor_text(int32_t dtype, const int64_t* shape, int32_t ndim) {
  return dtype_name(dtype) + ints(std::vector<int64_t>(shape, shape + ndim));
}

namespace {

// The length of the UTF-8 character at `at`, 0 where there is none.
size_t utf8_length(const std::string& text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(at);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length == 0 || at + length > text.size()) {
    return 0;
  }
  for (size_t i = 1; i < length; ++i) {
    if ((byte(at + i) & 0xc0) != 0x80) {
      return 0;
    }
  }
  const unsigned second = length > 1 ? byte(at + 1) : 0;
  const bool is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool is_surrogate = first == 0xed && second > 0x9f;
  const bool is_too_high = first == 0xf4 && second > 0x8f;
  return is_overlong || is_surrogate || is_too_high ? 0 : length;
}

// Whether the three bytes at `at` are U+F700 to U+F7FF.
bool is_escape(const std::string& text, size_t at) {
  return at + 2 < text.size() && static_cast<unsigned char>(text[at]) == 0xef &&
         (static_cast<unsigned char>(text[at + 1]) & 0xfc) == 0x9c;
}

}  // namespace

std::string text_of_bytes(const std::string& bytes) {
  std::string text;
  for (size_t at = 0; at < bytes.size();) {
    const size_t length = is_escape(bytes, at) ? 0 : utf8_length(bytes, at);
    if (length != 0) {
      text.append(bytes, at, length);
      at += length;
      continue;
    }
    const auto byte = static_cast<unsigned char>(bytes[at++]);
    text += static_cast<char>(0xef);
    text += static_cast<char>(0x9c + (byte >> 6));
    text += static_cast<char>(0x80 + (byte & 0x3f));
  }
  return text;
}

std::string bytes_of_text(const std::string& text) {
  std::string bytes;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!is_escape(text, at)) {
      bytes += text[at];
      continue;
    }
    bytes += static_cast<char>(((text[at + 1] & 3) << 6) | (text[at + 2] & 0x3f));
    at += 2;
  }
  return bytes;
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
