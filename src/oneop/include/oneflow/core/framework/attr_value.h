// The types of attributes, and C++ values in and out of the ABI's.
#ifndef ONEFLOW_CORE_FRAMEWORK_ATTR_VALUE_H_
#define ONEFLOW_CORE_FRAMEWORK_ATTR_VALUE_H_

#include <optional>
#include <string>
#include <vector>

#include "oneflow/core/common/data_type.h"
#include "oneflow/core/common/shape.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

enum AttrType : int32_t {
  kAtInt32 = ONEOP_ATTR_INT32,
  kAtInt64 = ONEOP_ATTR_INT64,
  kAtBool = ONEOP_ATTR_BOOL,
  kAtFloat = ONEOP_ATTR_FLOAT,
  kAtDouble = ONEOP_ATTR_DOUBLE,
  kAtString = ONEOP_ATTR_STRING,
  kAtShape = ONEOP_ATTR_SHAPE,
  kAtDataType = ONEOP_ATTR_DTYPE,
  kAtListInt32 = ONEOP_ATTR_LIST_INT32,
  kAtListInt64 = ONEOP_ATTR_LIST_INT64,
  kAtListFloat = ONEOP_ATTR_LIST_FLOAT,
  kAtListDataType = ONEOP_ATTR_LIST_DTYPE,
  kAtListShape = ONEOP_ATTR_LIST_SHAPE,
  kAtListString = ONEOP_ATTR_LIST_STRING,
  kAtComplexDouble = ONEOP_ATTR_COMPLEX_DOUBLE,
  kAtBytes = ONEOP_ATTR_BYTES,
  kAtListDouble = ONEOP_ATTR_LIST_DOUBLE,
  kAtListBool = ONEOP_ATTR_LIST_BOOL,
  kAtScalar = ONEOP_ATTR_SCALAR,
};
using UserOpAttrType = AttrType;

inline const char* OneopEnumName(AttrType type) {
  static constexpr const char* kNames[] = {"None",
                                           "int32_t",
                                           "int64_t",
                                           "bool",
                                           "float",
                                           "double",
                                           "std::string",
                                           "Shape",
                                           "DataType",
                                           "std::vector<int32_t>",
                                           "std::vector<int64_t>",
                                           "std::vector<float>",
                                           "std::vector<DataType>",
                                           "std::vector<Shape>",
                                           "std::vector<std::string>",
                                           "Stride",
                                           "std::vector<Stride>",
                                           "Device",
                                           "std::complex<double>",
                                           "MemoryFormat",
                                           "std::vector<char>",
                                           "std::vector<double>",
                                           "std::vector<bool>",
                                           "Scalar"};
  const int32_t code = type;
  return kNames[code >= 0 && code <= kAtScalar ? code : 0];
}

}  // namespace oneflow ONEOP_HIDDEN

namespace oneop ONEOP_HIDDEN {
namespace sdk {

using oneflow::AttrType;

// For each C++ type of an attribute: its AttrType, and how to read and write the value.
template <class T>
struct AttrTraits;

#define ONEOP_SCALAR_ATTR(cpp, code, field)                                               \
  template <>                                                                             \
  struct AttrTraits<cpp> {                                                                \
    static constexpr AttrType kType = code;                                               \
    static cpp Get(const oneop_attr& attr) { return static_cast<cpp>(attr.value.field); } \
    static void Put(oneop_attr* attr, cpp value, Arena*) { attr->value.field = value; }   \
  };
ONEOP_SCALAR_ATTR(int32_t, oneflow::kAtInt32, i)
ONEOP_SCALAR_ATTR(int64_t, oneflow::kAtInt64, i)
ONEOP_SCALAR_ATTR(bool, oneflow::kAtBool, i)
ONEOP_SCALAR_ATTR(float, oneflow::kAtFloat, f)
ONEOP_SCALAR_ATTR(double, oneflow::kAtDouble, f)
ONEOP_SCALAR_ATTR(oneflow::DataType, oneflow::kAtDataType, i)
#undef ONEOP_SCALAR_ATTR

template <>
struct AttrTraits<std::string> {
  static constexpr AttrType kType = oneflow::kAtString;
  static std::string Get(const oneop_attr& attr) { return FromSpan(attr.value.list); }
  static void Put(oneop_attr* attr, std::string_view value, Arena* arena) {
    attr->value.list = ToSpan(value, arena);
  }
  static std::string FromSpan(const oneop_span& span) {
    return std::string(static_cast<const char*>(span.data), static_cast<size_t>(span.count));
  }
  static oneop_span ToSpan(std::string_view value, Arena* arena) {
    return {arena->CopyText(value), static_cast<int64_t>(value.size())};
  }
};

template <>
struct AttrTraits<oneflow::Shape> {
  static constexpr AttrType kType = oneflow::kAtShape;
  static oneflow::Shape Get(const oneop_attr& attr) { return FromSpan(attr.value.list); }
  static void Put(oneop_attr* attr, const oneflow::Shape& value, Arena* arena) {
    attr->value.list = ToSpan(value, arena);
  }
  static oneflow::Shape FromSpan(const oneop_span& span) {
    const int64_t* dims = static_cast<const int64_t*>(span.data);
    return oneflow::Shape(dims, dims + span.count);
  }
  static oneop_span ToSpan(const oneflow::Shape& value, Arena* arena) {
    return {arena->Copy(value.ptr(), sizeof(int64_t) * value.size()), value.NumAxes()};
  }
};

template <class E>
struct ListAttr;
template <>
struct ListAttr<int32_t> {
  static constexpr AttrType kType = oneflow::kAtListInt32;
};
template <>
struct ListAttr<int64_t> {
  static constexpr AttrType kType = oneflow::kAtListInt64;
};
template <>
struct ListAttr<float> {
  static constexpr AttrType kType = oneflow::kAtListFloat;
};
template <>
struct ListAttr<double> {
  static constexpr AttrType kType = oneflow::kAtListDouble;
};
template <>
struct ListAttr<oneflow::DataType> {
  static constexpr AttrType kType = oneflow::kAtListDataType;
};
template <>
struct ListAttr<oneflow::Shape> {
  static constexpr AttrType kType = oneflow::kAtListShape;
};
template <>
struct ListAttr<std::string> {
  static constexpr AttrType kType = oneflow::kAtListString;
};
template <>
struct ListAttr<char> {
  static constexpr AttrType kType = oneflow::kAtBytes;
};

template <class E>
struct AttrTraits<std::vector<E>> {
  static constexpr AttrType kType = ListAttr<E>::kType;
  static constexpr bool kFlat = std::is_scalar_v<E>;

  static std::vector<E> Get(const oneop_attr& attr) {
    const oneop_span& list = attr.value.list;
    if constexpr (kFlat) {
      const E* data = static_cast<const E*>(list.data);
      return std::vector<E>(data, data + list.count);
    } else {
      const oneop_span* spans = static_cast<const oneop_span*>(list.data);
      std::vector<E> values;
      for (int64_t i = 0; i != list.count; ++i) {
        values.push_back(AttrTraits<E>::FromSpan(spans[i]));
      }
      return values;
    }
  }
  static void Put(oneop_attr* attr, const std::vector<E>& values, Arena* arena) {
    const int64_t count = static_cast<int64_t>(values.size());
    if constexpr (kFlat) {
      attr->value.list = {arena->Copy(values.data(), sizeof(E) * values.size()), count};
    } else {
      oneop_span* spans =
          static_cast<oneop_span*>(arena->Allocate(sizeof(oneop_span) * values.size()));
      for (size_t i = 0; i != values.size(); ++i) {
        spans[i] = AttrTraits<E>::ToSpan(values[i], arena);
      }
      attr->value.list = {spans, count};
    }
  }
};

// It has no memory of bools to point to.
template <>
struct AttrTraits<std::vector<bool>> {
  static constexpr AttrType kType = oneflow::kAtListBool;
  static std::vector<bool> Get(const oneop_attr& attr) {
    const auto* items = static_cast<const uint8_t*>(attr.value.list.data);
    std::vector<bool> values;
    for (int64_t i = 0; i != attr.value.list.count; ++i) {
      values.push_back(items[i] != 0);
    }
    return values;
  }
  static void Put(oneop_attr* attr, const std::vector<bool>& values, Arena* arena) {
    auto* items = static_cast<uint8_t*>(arena->Allocate(values.size()));
    for (size_t i = 0; i != values.size(); ++i) {
      items[i] = values[i] ? 1 : 0;
    }
    attr->value.list = {items, static_cast<int64_t>(values.size())};
  }
};

template <class T>
struct AttrTraits<std::optional<T>> {
  static constexpr AttrType kType = AttrTraits<T>::kType;
  static std::optional<T> Get(const oneop_attr& attr) {
    return attr.type == ONEOP_ATTR_NONE ? std::nullopt : std::optional<T>(AttrTraits<T>::Get(attr));
  }
  static void Put(oneop_attr* attr, const std::optional<T>& value, Arena* arena) {
    if (value.has_value()) {
      AttrTraits<T>::Put(attr, *value, arena);
    } else {
      attr->type = ONEOP_ATTR_NONE;
    }
  }
};

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Whether a value of the ABI can be read as a T.
template <class T>
struct TakesType {
  static bool Is(int32_t type) { return type == AttrTraits<T>::kType; }
};
template <class T>
struct TakesType<std::optional<T>> {
  static bool Is(int32_t type) { return type == ONEOP_ATTR_NONE || TakesType<T>::Is(type); }
};
template <class T>
bool IsAttrOf(const oneop_attr& attr) {
  return TakesType<T>::Is(attr.type);
}

// The type under which a value that an author writes is kept: a literal is a string, an enum stays
// what it is.
template <class T>
using AttrCppType =
    std::conditional_t<std::is_convertible_v<const T&, std::string_view> && !std::is_class_v<T>,
                       std::string, std::decay_t<T>>;

template <class T>
void PutAttr(oneop_attr* attr, const char* name, const T& value, Arena* arena) {
  using Kept = AttrCppType<T>;
  attr->name = name;
  attr->reserved = 0;
  attr->type = AttrTraits<Kept>::kType;
  AttrTraits<Kept>::Put(attr, value, arena);
}

// `.Attr("x", kAtInt64, 10)`: a number takes the declared type. Anything else keeps its own, and
// the host complains.
inline void ConvertNumber(oneop_attr* attr, AttrType declared) {
  const auto is_integer = [](int32_t type) {
    return type == oneflow::kAtInt32 || type == oneflow::kAtInt64 || type == oneflow::kAtBool;
  };
  const auto is_float = [](int32_t type) {
    return type == oneflow::kAtFloat || type == oneflow::kAtDouble;
  };
  if (declared == oneflow::kAtScalar) {  // a number keeps its kind
    attr->type = attr->type == oneflow::kAtInt32   ? oneflow::kAtInt64
                 : attr->type == oneflow::kAtFloat ? oneflow::kAtDouble
                                                   : attr->type;
    return;
  }
  if (is_integer(attr->type) && is_float(declared)) {
    attr->value.f = static_cast<double>(attr->value.i);
  } else if (!((is_integer(attr->type) && is_integer(declared)) ||
               (is_float(attr->type) && is_float(declared)))) {
    return;
  }
  attr->type = declared;
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_ATTR_VALUE_H_
