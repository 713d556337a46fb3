// Memcpy, Memset, Fill, TensorFill, Cast: computations that move or set memory.
#ifndef ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_MEMORY_H_
#define ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_MEMORY_H_

#include <cstring>

#include "oneflow/core/ep/include/primitive/primitive.h"
#include "oneop/sdk/cpu/convert.h"
#include "oneop/sdk/cpu/nd_loop.h"
#include "oneop/sdk/cpu/types.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// A fill of `count` elements, for each type.
using FillFn = void (*)(void* to, const void* value, size_t count);
template <class T>
void FillWith(void* to, const void* value, size_t count) {
  const T element = *static_cast<const T*>(value);
  T* out = static_cast<T*>(to);
  ParallelElements(static_cast<int64_t>(count), [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      out[i] = element;
    }
  });
}
using CastFn = void (*)(const void* from, void* to, size_t count);
// To bool, everything but zero is true.
template <class From, class To>
void CastElements(const void* from, void* to, size_t count) {
  const From* in = static_cast<const From*>(from);
  To* out = static_cast<To*>(to);
  ParallelElements(static_cast<int64_t>(count), [=](int64_t begin, int64_t end) {
    ConvertNumbers(in + begin, out + begin, end - begin);
  });
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace ep {
namespace primitive {

enum class MemcpyKind { kAuto = 0, kHtoD, kDtoH, kDtoD };
class Memcpy : public Primitive {
 public:
  void Launch(Stream*, void* to, const void* from, size_t bytes) {
    if (bytes != 0 && to != from) {
      std::memcpy(to, from, bytes);
    }
  }
};
struct MemcpyFactory : Factory<Memcpy> {
  std::unique_ptr<Memcpy> New(MemcpyKind) { return std::make_unique<Memcpy>(); }
};

class Memset : public Primitive {
 public:
  void Launch(Stream*, void* to, int value, size_t bytes) {
    if (bytes != 0) {
      std::memset(to, value, bytes);
    }
  }
};
struct MemsetFactory : Factory<Memset> {
  std::unique_ptr<Memset> New() { return std::make_unique<Memset>(); }
};

class Fill : public Primitive {
 public:
  explicit Fill(DataType type) : type_(type) {}
  void Launch(Stream*, void* to, Scalar value, size_t count) {
    ::oneop::sdk::WithNumberType(type_, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const T element = value.Value<T>();
      ::oneop::sdk::FillWith<T>(to, &element, count);
    });
  }

 private:
  DataType type_;
};
struct FillFactory : Factory<Fill> {
  std::unique_ptr<Fill> New(DataType type) {
    const bool is_known = ::oneop::sdk::WithNumberType(type, [](auto) {});
    return is_known ? std::make_unique<Fill>(type) : nullptr;
  }
};

// All elements are the one that `value` points to.
class TensorFill : public Primitive {
 public:
  explicit TensorFill(::oneop::sdk::FillFn fill) : fill_(fill) {}
  void Launch(Stream*, const void* value, void* to, size_t count) { fill_(to, value, count); }

 private:
  ::oneop::sdk::FillFn fill_;
};
struct TensorFillFactory : Factory<TensorFill> {
  std::unique_ptr<TensorFill> New(DataType type) {
    std::unique_ptr<TensorFill> made;
    ::oneop::sdk::WithNumberType(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      made = std::make_unique<TensorFill>(&::oneop::sdk::FillWith<T>);
    });
    return made;
  }
};

class Cast : public Primitive {
 public:
  explicit Cast(::oneop::sdk::CastFn cast) : cast_(cast) {}
  void Launch(Stream*, const void* from, void* to, size_t count) { cast_(from, to, count); }

 private:
  ::oneop::sdk::CastFn cast_;
};
struct CastFactory : Factory<Cast> {
  std::unique_ptr<Cast> New(DataType from, DataType to) {
    std::unique_ptr<Cast> made;
    ::oneop::sdk::WithNumberType(from, [&](auto from_tag) {
      ::oneop::sdk::WithNumberType(to, [&](auto to_tag) {
        using From = typename decltype(from_tag)::type;
        using To = typename decltype(to_tag)::type;
        made = std::make_unique<Cast>(&::oneop::sdk::CastElements<From, To>);
      });
    });
    return made;
  }
};

}  // namespace primitive
}  // namespace ep
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_EP_INCLUDE_PRIMITIVE_MEMORY_H_
