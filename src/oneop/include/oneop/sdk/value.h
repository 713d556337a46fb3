// From C++ types to the values that functions take and return, and back.
#ifndef ONEOP_SDK_VALUE_H_
#define ONEOP_SDK_VALUE_H_

#include "oneflow/core/common/optional.h"
#include "oneflow/core/common/scalar.h"
#include "oneflow/core/framework/random_generator.h"
#include "oneop/sdk/handle.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

[[noreturn]] ONEOP_COLD inline void ThrowValue(const char* wanted, int32_t kind) {
  ThrowText(ONEOP_ERROR_TYPE, {"a functor takes ", wanted, " where it is given a value of kind ",
                               Digits(kind), ": its parameters differ from its signature"});
}

// Read: the value as a C++ object. Write: the other way; `arena` keeps lists for the time of the
// call.
template <class T, class = void>
struct ValueTraits;

template <class T>
struct ValueTraits<T, std::enable_if_t<std::is_arithmetic_v<T>>> {
  // A number never changes its value on the way: what T cannot hold is refused.
  static T Read(const oneop_value& value) {
    if constexpr (std::is_floating_point_v<T>) {
      if (value.kind == ONEOP_VALUE_FLOAT) {
        return Narrow(value.value.f);
      }
    }
    if (value.kind != ONEOP_VALUE_INT && value.kind != ONEOP_VALUE_BOOL) {
      ThrowValue(std::is_floating_point_v<T> ? "a number" : "an integer", value.kind);
    }
    if constexpr (std::is_integral_v<T>) {
      if (static_cast<int64_t>(static_cast<T>(value.value.i)) != value.value.i) {
        ThrowText(ONEOP_ERROR_VALUE, {Digits(value.value.i), " is out of range"});
      }
    }
    return static_cast<T>(value.value.i);
  }
  static T Narrow(double value) {
    const T narrow = static_cast<T>(value);
    if (sizeof(T) < sizeof(double) && narrow - narrow != 0 && value - value == 0) {
      ThrowText(ONEOP_ERROR_VALUE, {"a number is out of the range of float"});
    }
    return narrow;
  }
  static void Write(T from, oneop_value* value, Arena*) {
    if constexpr (std::is_floating_point_v<T>) {
      value->kind = ONEOP_VALUE_FLOAT;
      value->value.f = static_cast<double>(from);
    } else {
      value->kind = std::is_same_v<T, bool> ? ONEOP_VALUE_BOOL : ONEOP_VALUE_INT;
      value->value.i = static_cast<int64_t>(from);
    }
  }
};

template <>
struct ValueTraits<oneflow::Scalar> {
  static oneflow::Scalar Read(const oneop_value& value) { return oneflow::Scalar(value); }
  static void Write(const oneflow::Scalar& from, oneop_value* value, Arena*) {
    *value = from.OneopValue();
  }
};

template <>
struct ValueTraits<std::string> {
  static std::string Read(const oneop_value& value) {
    if (value.kind != ONEOP_VALUE_STRING) {
      ThrowValue("a string", value.kind);
    }
    return std::string(static_cast<const char*>(value.value.list.data),
                       static_cast<size_t>(value.value.list.count));
  }
  static void Write(std::string_view from, oneop_value* value, Arena* arena) {
    value->kind = ONEOP_VALUE_STRING;
    value->value.list = {arena->CopyText(from), static_cast<int64_t>(from.size())};
  }
};

template <>
struct ValueTraits<oneflow::DataType> {
  static oneflow::DataType Read(const oneop_value& value) {
    if (value.kind != ONEOP_VALUE_DTYPE) {
      ThrowValue("a data type", value.kind);
    }
    return static_cast<oneflow::DataType>(value.value.i);
  }
  static void Write(oneflow::DataType from, oneop_value* value, Arena*) {
    value->kind = ONEOP_VALUE_DTYPE;
    value->value.i = from;
  }
};
template <>
struct ValueTraits<oneflow::Symbol<oneflow::DType>> {
  static oneflow::Symbol<oneflow::DType> Read(const oneop_value& value) {
    return oneflow::DType(ValueTraits<oneflow::DataType>::Read(value));
  }
  static void Write(const oneflow::Symbol<oneflow::DType>& from, oneop_value* value, Arena* arena) {
    ValueTraits<oneflow::DataType>::Write(from->data_type(), value, arena);
  }
};
template <>
struct ValueTraits<oneflow::Symbol<oneflow::Device>> {
  static oneflow::Symbol<oneflow::Device> Read(const oneop_value& value) {
    if (value.kind != ONEOP_VALUE_DEVICE) {
      ThrowValue("a device", value.kind);
    }
    const auto* parts = static_cast<const int64_t*>(value.value.list.data);
    return oneflow::Device(static_cast<oneflow::DeviceType>(parts[0]), parts[1]);
  }
  static void Write(const oneflow::Symbol<oneflow::Device>& from, oneop_value* value,
                    Arena* arena) {
    const int64_t parts[] = {from->enum_type(), from->device_id()};
    value->kind = ONEOP_VALUE_DEVICE;
    value->value.list = {arena->Copy(parts, sizeof parts), 2};
  }
};

template <>
struct ValueTraits<oneflow::Shape> {
  static oneflow::Shape Read(const oneop_value& value) {
    if (value.kind != ONEOP_VALUE_INTS) {
      ThrowValue("a shape", value.kind);
    }
    const auto* dims = static_cast<const int64_t*>(value.value.list.data);
    return oneflow::Shape(dims, dims + value.value.list.count);
  }
  static void Write(const oneflow::Shape& from, oneop_value* value, Arena* arena) {
    value->kind = ONEOP_VALUE_INTS;
    value->value.list = {arena->Copy(from.ptr(), sizeof(int64_t) * from.NumAxes()), from.NumAxes()};
  }
};

// Lists of numbers travel as int64_t or double.
template <class E>
struct ValueTraits<std::vector<E>, std::enable_if_t<std::is_arithmetic_v<E>>> {
  using Wide = std::conditional_t<std::is_floating_point_v<E>, double, int64_t>;
  static std::vector<E> Read(const oneop_value& value) {
    std::vector<E> list;
    list.reserve(static_cast<size_t>(value.value.list.count));
    if (value.kind == ONEOP_VALUE_INTS) {
      Fill(static_cast<const int64_t*>(value.value.list.data), value.value.list.count, &list);
    } else if (value.kind == ONEOP_VALUE_FLOATS) {
      Fill(static_cast<const double*>(value.value.list.data), value.value.list.count, &list);
    } else {
      ThrowValue("a list of numbers", value.kind);
    }
    return list;
  }
  static void Write(const std::vector<E>& from, oneop_value* value, Arena* arena) {
    auto* wide = static_cast<Wide*>(arena->Allocate(sizeof(Wide) * from.size()));
    for (size_t i = 0; i != from.size(); ++i) {
      wide[i] = static_cast<Wide>(from[i]);
    }
    value->kind = std::is_floating_point_v<E> ? ONEOP_VALUE_FLOATS : ONEOP_VALUE_INTS;
    value->value.list = {wide, static_cast<int64_t>(from.size())};
  }

 private:
  static oneop_value ValueOf(int64_t number) {
    oneop_value value{};
    value.kind = ONEOP_VALUE_INT;
    value.value.i = number;
    return value;
  }
  static oneop_value ValueOf(double number) {
    oneop_value value{};
    value.kind = ONEOP_VALUE_FLOAT;
    value.value.f = number;
    return value;
  }
  template <class W>
  static void Fill(const W* data, int64_t count, std::vector<E>* list) {
    for (int64_t i = 0; i != count; ++i) {
      if constexpr (std::is_integral_v<E> && std::is_floating_point_v<W>) {
        ThrowValue("a list of integers", ONEOP_VALUE_FLOATS);
      } else {
        list->push_back(ValueTraits<E>::Read(ValueOf(data[i])));
      }
    }
  }
};
template <class E>
struct ListKind;
template <>
struct ListKind<std::string> {
  static constexpr int32_t kKind = ONEOP_VALUE_STRINGS;
};
template <>
struct ListKind<oneflow::Shape> {
  static constexpr int32_t kKind = ONEOP_VALUE_SHAPES;
};
template <class E>
struct ValueTraits<std::vector<E>, std::void_t<decltype(ListKind<E>::kKind)>> {
  static std::vector<E> Read(const oneop_value& value) {
    if (value.kind != ListKind<E>::kKind) {
      ThrowValue("another list", value.kind);
    }
    const auto* spans = static_cast<const oneop_span*>(value.value.list.data);
    std::vector<E> list;
    for (int64_t i = 0; i != value.value.list.count; ++i) {
      list.push_back(AttrTraits<E>::FromSpan(spans[i]));
    }
    return list;
  }
  static void Write(const std::vector<E>& from, oneop_value* value, Arena* arena) {
    auto* spans = static_cast<oneop_span*>(arena->Allocate(sizeof(oneop_span) * from.size()));
    for (size_t i = 0; i != from.size(); ++i) {
      spans[i] = AttrTraits<E>::ToSpan(from[i], arena);
    }
    value->kind = ListKind<E>::kKind;
    value->value.list = {spans, static_cast<int64_t>(from.size())};
  }
};
// Data types and scalars in a list.
template <class E>
struct DTypeListTraits {
  static std::vector<E> Read(const oneop_value& value) {
    if (value.kind != ONEOP_VALUE_DTYPES) {
      ThrowValue("a list of data types", value.kind);
    }
    const auto* codes = static_cast<const int64_t*>(value.value.list.data);
    std::vector<E> list;
    for (int64_t i = 0; i != value.value.list.count; ++i) {
      oneop_value one{ONEOP_VALUE_DTYPE, 0, {codes[i]}};
      list.push_back(ValueTraits<E>::Read(one));
    }
    return list;
  }
  static void Write(const std::vector<E>& from, oneop_value* value, Arena* arena) {
    auto* codes = static_cast<int64_t*>(arena->Allocate(sizeof(int64_t) * from.size()));
    for (size_t i = 0; i != from.size(); ++i) {
      oneop_value one{};
      ValueTraits<E>::Write(from[i], &one, arena);
      codes[i] = one.value.i;
    }
    value->kind = ONEOP_VALUE_DTYPES;
    value->value.list = {codes, static_cast<int64_t>(from.size())};
  }
};
template <>
struct ValueTraits<std::vector<oneflow::DataType>> : DTypeListTraits<oneflow::DataType> {};
template <>
struct ValueTraits<std::vector<oneflow::Symbol<oneflow::DType>>>
    : DTypeListTraits<oneflow::Symbol<oneflow::DType>> {};
template <>
struct ValueTraits<std::vector<oneflow::Scalar>> {
  static std::vector<oneflow::Scalar> Read(const oneop_value& value) {
    if (value.kind != ONEOP_VALUE_SCALARS) {
      ThrowValue("a list of scalars", value.kind);
    }
    const auto* values = static_cast<const oneop_value*>(value.value.list.data);
    std::vector<oneflow::Scalar> list;
    for (int64_t i = 0; i != value.value.list.count; ++i) {
      list.push_back(oneflow::Scalar(values[i]));
    }
    return list;
  }
  static void Write(const std::vector<oneflow::Scalar>& from, oneop_value* value, Arena* arena) {
    auto* values = static_cast<oneop_value*>(arena->Allocate(sizeof(oneop_value) * from.size()));
    for (size_t i = 0; i != from.size(); ++i) {
      values[i] = from[i].OneopValue();
    }
    value->kind = ONEOP_VALUE_SCALARS;
    value->value.list = {values, static_cast<int64_t>(from.size())};
  }
};

template <>
struct ValueTraits<std::shared_ptr<oneflow::one::Tensor>> {
  static std::shared_ptr<oneflow::one::Tensor> Read(const oneop_value& value) {
    if (value.kind == ONEOP_VALUE_NONE) {
      return nullptr;
    }
    if (value.kind != ONEOP_VALUE_TENSOR) {
      ThrowValue("a tensor", value.kind);
    }
    return oneflow::one::Tensor::OneopBorrow(value.value.tensor);
  }
  static void Write(const std::shared_ptr<oneflow::one::Tensor>& from, oneop_value* value, Arena*) {
    value->kind = from == nullptr ? ONEOP_VALUE_NONE : ONEOP_VALUE_TENSOR;
    value->value.tensor = from == nullptr ? nullptr : from->oneop_handle_ptr();
  }
};
template <>
struct ValueTraits<oneflow::one::TensorTuple> {
  static oneflow::one::TensorTuple Read(const oneop_value& value) {
    if (value.kind == ONEOP_VALUE_TENSOR) {  // torch's functions return one of several so
      return {oneflow::one::Tensor::OneopBorrow(value.value.tensor)};
    }
    if (value.kind != ONEOP_VALUE_TENSORS) {
      ThrowValue("tensors", value.kind);
    }
    oneflow::one::TensorTuple tuple;
    const auto* handles = static_cast<const oneop_handle*>(value.value.list.data);
    for (int64_t i = 0; i != value.value.list.count; ++i) {
      tuple.push_back(handles[i] == nullptr ? nullptr
                                            : oneflow::one::Tensor::OneopBorrow(handles[i]));
    }
    return tuple;
  }
  static void Write(const oneflow::one::TensorTuple& from, oneop_value* value, Arena* arena) {
    auto* handles = static_cast<oneop_handle*>(arena->Allocate(sizeof(oneop_handle) * from.size()));
    for (size_t i = 0; i != from.size(); ++i) {
      handles[i] = from[i] == nullptr ? nullptr : from[i]->oneop_handle_ptr();
    }
    value->kind = ONEOP_VALUE_TENSORS;
    value->value.list = {handles, static_cast<int64_t>(from.size())};
  }
};

template <>
struct ValueTraits<std::shared_ptr<oneflow::one::Generator>> {
  static std::shared_ptr<oneflow::one::Generator> Read(const oneop_value& value) {
    if (value.kind != ONEOP_VALUE_GENERATOR) {
      ThrowValue("a random generator", value.kind);
    }
    return std::make_shared<oneflow::one::Generator>(value.value.tensor);
  }
  static void Write(const std::shared_ptr<oneflow::one::Generator>& from, oneop_value* value,
                    Arena*) {
    value->kind = from == nullptr ? ONEOP_VALUE_NONE : ONEOP_VALUE_GENERATOR;
    value->value.tensor = from == nullptr ? nullptr : from->oneop_handle_ptr();
  }
};

template <>
struct ValueTraits<oneflow::NullOptType> {
  static void Write(oneflow::NullOptType, oneop_value* value, Arena*) {
    value->kind = ONEOP_VALUE_NONE;
  }
};

template <class T>
struct OptionalHeld {
  using type = T;
};
template <>
struct OptionalHeld<oneflow::one::Tensor> {
  using type = std::shared_ptr<oneflow::one::Tensor>;
};
template <>
struct OptionalHeld<oneflow::one::Generator> {
  using type = std::shared_ptr<oneflow::one::Generator>;
};
template <class T>
struct ValueTraits<oneflow::Optional<T>> {
  using Held = typename OptionalHeld<T>::type;
  static oneflow::Optional<T> Read(const oneop_value& value) {
    if (value.kind == ONEOP_VALUE_NONE) {
      return oneflow::Optional<T>();
    }
    return oneflow::Optional<T>(ValueTraits<Held>::Read(value));
  }
  static void Write(const oneflow::Optional<T>& from, oneop_value* value, Arena* arena) {
    if (!from.has_value()) {
      value->kind = ONEOP_VALUE_NONE;
    } else if constexpr (std::is_same_v<Held, T>) {
      ValueTraits<T>::Write(*from.value_or_throw(), value, arena);
    } else {
      ValueTraits<Held>::Write(from.OneopTake(), value, arena);
    }
  }
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_VALUE_H_
