// Proxies for what one API generation returns as a pointer and another one as a reference or value.
#ifndef ONEOP_SDK_REF_H_
#define ONEOP_SDK_REF_H_

#include "oneflow/core/common/shape.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// `*ref`, `ref->`, `T* p = ref`, `const T& t = ref`, `T t = ref`, `ref == t`: all work, with no
// flag.
template <class T>
class RefBase {
 public:
  using OneopProxied = T;
  explicit RefBase(T* target) : target_(target) {}

  T& operator*() const { return *target_; }
  T* operator->() const { return target_; }
  operator T*() const { return target_; }
  operator const T&() const { return *target_; }

  friend bool operator==(const RefBase& a, const RefBase& b) { return *a == *b; }
  friend bool operator==(const RefBase& a, const T& b) { return *a == b; }
  friend bool operator==(const T& a, const RefBase& b) { return a == *b; }
  friend bool operator==(const RefBase& a, std::nullptr_t) { return a.target_ == nullptr; }
  friend bool operator!=(const RefBase& a, const RefBase& b) { return !(*a == *b); }
  friend bool operator!=(const RefBase& a, const T& b) { return !(*a == b); }
  friend bool operator!=(const T& a, const RefBase& b) { return !(a == *b); }
  friend bool operator!=(const RefBase& a, std::nullptr_t) { return a.target_ != nullptr; }

 protected:
  T* target_;
};

template <class T>
class Ref : public RefBase<T> {
 public:
  using RefBase<T>::RefBase;
  const Ref& operator=(const T& value) const {
    *this->target_ = value;
    return *this;
  }
};

// These have members, which the generations with a reference reach with a dot.
class ShapeRef : public RefBase<oneflow::Shape>, public ShapeReader<ShapeRef> {
 public:
  using RefBase::RefBase;
  const ShapeRef& operator=(const oneflow::Shape& value) const {
    *target_ = value;
    return *this;
  }
  operator oneflow::ShapeView() const { return *target_; }
  const oneflow::DimVector& dim_vec() const { return target_->dim_vec(); }
  void Set(int64_t axis, int64_t extent) const { target_->Set(axis, extent); }
  oneflow::Shape RemoveOnes() const { return target_->RemoveOnes(); }
  oneflow::Shape RemoveOnes(const oneflow::AxisVector& axes) const {
    return target_->RemoveOnes(axes);
  }

  int64_t OneopNdim() const { return target_->OneopNdim(); }
  const int64_t* OneopDims() const { return target_->OneopDims(); }

  friend bool operator==(const ShapeRef& a, const ShapeRef& b) { return *a == *b; }
  friend bool operator==(const ShapeRef& a, const oneflow::Shape& b) { return *a == b; }
  friend bool operator==(const oneflow::Shape& a, const ShapeRef& b) { return a == *b; }
  friend bool operator!=(const ShapeRef& a, const ShapeRef& b) { return !(*a == *b); }
  friend bool operator!=(const ShapeRef& a, const oneflow::Shape& b) { return !(*a == b); }
  friend bool operator!=(const oneflow::Shape& a, const ShapeRef& b) { return !(a == *b); }
};

class StrideRef : public RefBase<oneflow::Stride>, public ShapeReader<StrideRef> {
 public:
  using RefBase::RefBase;
  int64_t OneopNdim() const { return target_->OneopNdim(); }
  const int64_t* OneopDims() const { return target_->OneopDims(); }

  friend bool operator==(const StrideRef& a, const StrideRef& b) { return *a == *b; }
  friend bool operator==(const StrideRef& a, const oneflow::Stride& b) { return *a == b; }
  friend bool operator!=(const StrideRef& a, const StrideRef& b) { return !(*a == *b); }
  friend bool operator!=(const StrideRef& a, const oneflow::Stride& b) { return !(*a == b); }
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

inline Shape::Shape(const ::oneop::sdk::ShapeRef& ref) : Shape(*ref) {}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_REF_H_
