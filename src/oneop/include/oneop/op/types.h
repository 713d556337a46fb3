// The types of a functor's arguments: those of tensors from the list of dtypes, those of attributes
// from the schema.
#ifndef ONEOP_OP_TYPES_H_
#define ONEOP_OP_TYPES_H_

#include <optional>
#include <string_view>
#include <utility>

#include "oneflow/core/common/scalar.h"
#include "oneflow/core/framework/attr_value.h"
#include "oneop/op/math/half.h"
#include "oneop/op/math/number.h"
#include "oneop/op/schema.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {

// A list that the host keeps: an attribute of type int[], float[] and so on.
template <class T>
struct List {
  const T* data;
  int64_t count;

  int64_t size() const { return count; }
  const T& operator[](int64_t i) const { return data[i]; }
  const T* begin() const { return data; }
  const T* end() const { return data + count; }
};

// Several results of a functor: return results(a, b).
template <class... T>
struct Results;
template <>
struct Results<> {};
template <class First, class... Rest>
struct Results<First, Rest...> {
  First first;
  Results<Rest...> rest;
};
ONEOP_BOTH Results<> results() { return {}; }
template <class First, class... Rest>
ONEOP_BOTH Results<First, Rest...> results(First first, Rest... rest) {
  return {first, results(rest...)};
}

// The dtypes of several outputs in a signature: Outputs<float, int64_t>(float).
template <class... T>
struct Outputs {};

namespace op {

template <class... T>
struct Types {
  static constexpr int kCount = sizeof...(T);
};

template <class A, class B>
struct Concatenate;
template <class... A, class... B>
struct Concatenate<Types<A...>, Types<B...>> {
  using type = Types<A..., B...>;
};
template <class A, class B>
using Concatenated = typename Concatenate<A, B>::type;

template <class T, class Numbers>
struct RepeatOver;
template <class T, size_t... I>
struct RepeatOver<T, std::index_sequence<I...>> {
  template <size_t>
  using Same = T;
  using type = Types<Same<I>...>;
};
template <class T, int kCount>
using Repeated = typename RepeatOver<T, std::make_index_sequence<kCount>>::type;

// A dtype stands for all tensors of the op; R(A, B) gives the inputs and the outputs their own.
template <class T, int kInputs, int kOutputs>
struct Signature {
  using Ins = Repeated<T, kInputs>;
  using Outs = Repeated<T, kOutputs>;
  static constexpr bool kIsUniform = true;
};
template <class R, class... A, int kInputs, int kOutputs>
struct Signature<R(A...), kInputs, kOutputs> {
  using Ins = Types<A...>;
  using Outs = Types<R>;
  static constexpr bool kIsUniform = false;
};
template <class... A, int kInputs, int kOutputs>
struct Signature<void(A...), kInputs, kOutputs> {
  using Ins = Types<A...>;
  using Outs = Types<>;
  static constexpr bool kIsUniform = false;
};
template <class... R, class... A, int kInputs, int kOutputs>
struct Signature<Outputs<R...>(A...), kInputs, kOutputs> {
  using Ins = Types<A...>;
  using Outs = Types<R...>;
  static constexpr bool kIsUniform = false;
};

// Whether a template is specialised for a type: of std::complex, whether its header is included.
template <class T, class = void>
constexpr bool kIsDefined = false;
template <class T>
constexpr bool kIsDefined<T, std::void_t<decltype(sizeof(T))>> = true;

template <class... T>
constexpr void PutDtypes(Types<T...>, int32_t* codes) {
  if constexpr ((kIsDefined<::oneflow::GetDataType<T>> && ...)) {
    const int32_t listed[] = {::oneflow::GetDataType<T>::value..., 0};
    for (int i = 0; i < static_cast<int>(sizeof...(T)); ++i) {
      codes[i] = listed[i];
    }
  } else {
    static_assert((kIsDefined<::oneflow::GetDataType<T>> && ...),
                  "no tensor has elements of this type; for std::complex<float> write "
                  "#include \"oneflow/core/common/complex.h\"");
  }
}

// Whether functors of elements can compute with them: numbers, and halves by way of float.
template <class Tensors>
constexpr bool kAreNumbers = false;
template <class... T>
constexpr bool kAreNumbers<Types<T...>> = (std::is_arithmetic_v<ComputeType<T>> && ...);

// In what an attribute of type float arrives: that of the elements, so that mixing them widens
// nothing.
template <class... T>
struct RealOf {
  using type = double;
};
template <class First, class... Rest>
struct RealOf<First, Rest...> {
  using type = std::conditional_t<std::is_floating_point_v<ComputeType<First>>, ComputeType<First>,
                                  typename RealOf<Rest...>::type>;
};
template <class Tensors>
struct RealOfTypes;
template <class... T>
struct RealOfTypes<Types<T...>> : RealOf<T...> {};

// A float32 attribute is a number of 32 bits, in whatever type it is then used: OneFlow's
// Attr<float> and a functor of doubles see the same value.
ONEOP_BOTH double HeldValue(const oneop_attr& attr) {
  return attr.type == ONEOP_ATTR_FLOAT ? static_cast<double>(static_cast<float>(attr.value.f))
                                       : attr.value.f;
}

// The type of an attribute for a functor, by its code.
// Held: the number type of its values, which may be narrower than `type`; void for other kinds.
template <int kType, class T>
using HeldType = std::conditional_t<kType == ONEOP_ATTR_FLOAT, float,
                                    std::conditional_t<std::is_arithmetic_v<T>, T, void>>;
template <int kType, class R>
struct AttrOf {
  using type = const oneop_attr*;  // of a kind that has no simpler form
  using Held = void;
  static type Read(const oneop_attr& attr) { return &attr; }
};
#define ONEOP_OP_ATTR(code, cpp, value_of)                        \
  template <class R>                                              \
  struct AttrOf<code, R> {                                        \
    using type = cpp;                                             \
    using Held = HeldType<code, type>;                            \
    static type Read(const oneop_attr& attr) { return value_of; } \
  };
#define ONEOP_OP_LIST(T) {static_cast<const T*>(attr.value.list.data), attr.value.list.count}
ONEOP_OP_ATTR(ONEOP_ATTR_INT32, int32_t, static_cast<int32_t>(attr.value.i))
ONEOP_OP_ATTR(ONEOP_ATTR_INT64, int64_t, attr.value.i)
ONEOP_OP_ATTR(ONEOP_ATTR_BOOL, bool, attr.value.i != 0)
ONEOP_OP_ATTR(ONEOP_ATTR_FLOAT, R, static_cast<R>(HeldValue(attr)))
ONEOP_OP_ATTR(ONEOP_ATTR_DOUBLE, R, static_cast<R>(attr.value.f))
ONEOP_OP_ATTR(ONEOP_ATTR_DTYPE, ::oneflow::DataType, static_cast<::oneflow::DataType>(attr.value.i))
ONEOP_OP_ATTR(ONEOP_ATTR_SHAPE, List<int64_t>, (List<int64_t> ONEOP_OP_LIST(int64_t)))
ONEOP_OP_ATTR(ONEOP_ATTR_LIST_INT64, List<int64_t>, (List<int64_t> ONEOP_OP_LIST(int64_t)))
ONEOP_OP_ATTR(ONEOP_ATTR_LIST_INT32, List<int32_t>, (List<int32_t> ONEOP_OP_LIST(int32_t)))
ONEOP_OP_ATTR(ONEOP_ATTR_LIST_FLOAT, List<float>, (List<float> ONEOP_OP_LIST(float)))
ONEOP_OP_ATTR(ONEOP_ATTR_LIST_BOOL, List<bool>, (List<bool> ONEOP_OP_LIST(bool)))
ONEOP_OP_ATTR(ONEOP_ATTR_SCALAR, Scalar, sdk::AttrTraits<Scalar>::Get(attr))
ONEOP_OP_ATTR(ONEOP_ATTR_LIST_DOUBLE, List<double>, (List<double> ONEOP_OP_LIST(double)))
#undef ONEOP_OP_LIST
#undef ONEOP_OP_ATTR
template <class R>
struct AttrOf<ONEOP_ATTR_STRING, R> {
  using type = std::string_view;
  using Held = void;
  static type Read(const oneop_attr& attr) {
    return {static_cast<const char*>(attr.value.list.data),
            static_cast<size_t>(attr.value.list.count)};
  }
};

template <class Reader>
struct OptionalAttrOf {
  using type = std::optional<typename Reader::type>;
  using Held = typename Reader::Held;
  static type Read(const oneop_attr& attr) {
    return attr.type == ONEOP_ATTR_NONE ? type() : type(Reader::Read(attr));
  }
};

// The attributes of schema S, as types of AttrOf.
template <class S, class R, class Numbers>
struct AttrsOf;
template <class S, class R, size_t... I>
struct AttrsOf<S, R, std::index_sequence<I...>> {
  template <size_t i>
  using Plain = AttrOf<S::kSchema.attrs[i].type, R>;
  template <size_t i>
  using Reader =
      std::conditional_t<S::kSchema.attrs[i].is_optional, OptionalAttrOf<Plain<i>>, Plain<i>>;
  using type = Types<Reader<I>...>;
};
template <class S, class R>
using AttrReaders = typename AttrsOf<S, R, std::make_index_sequence<S::kSchema.num_attrs>>::type;

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_TYPES_H_
