// View<T, N>: the elements of a tensor, with its shape and strides.
#ifndef ONEOP_OP_VIEW_H_
#define ONEOP_OP_VIEW_H_

#include "oneop/op/types.h"
#include "oneop/sdk/frame.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {

constexpr int kAnyRank = -1;

[[noreturn]] ONEOP_COLD inline void ThrowRank(const char* name, int wanted, int rank) {
  sdk::ThrowText(ONEOP_ERROR_VALUE,
                 {"tensor \"", name, "\": the kernel takes a View with ", sdk::Digits(wanted),
                  wanted == 1 ? " axis" : " axes", ", found ", sdk::Digits(rank)});
}

// T is const for an input that the kernel only reads. With N the view has so many axes, which is
// checked when the kernel is called; without it any number. A view of an optional tensor that was
// not given is not defined().
template <class T, int N = kAnyRank>
class View {
 public:
  View(const oneop_tensor* tensor, const char* name) : tensor_(tensor), name_(name) {
    if (N != kAnyRank && tensor != nullptr && tensor->ndim != N) {
      ThrowRank(name, N, tensor->ndim);
    }
  }
  template <int M, class = std::enable_if_t<M != N && (M == kAnyRank || N == kAnyRank)>>
  View(const View<T, M>& other)  // NOLINT: implicit, so that a kernel names the rank it takes
      : View(other.tensor(), other.name()) {}

  bool defined() const { return tensor_ != nullptr; }
  T* data() const { return tensor_ == nullptr ? nullptr : static_cast<T*>(tensor_->data); }
  int64_t dim() const { return tensor_->ndim; }
  int64_t numel() const { return tensor_ == nullptr ? 0 : tensor_->elem_cnt; }
  // Of an axis, counted from the end where it is negative.
  int64_t size(int64_t axis) const { return tensor_->shape[axis < 0 ? axis + dim() : axis]; }
  int64_t stride(int64_t axis) const { return tensor_->stride[axis < 0 ? axis + dim() : axis]; }
  ::oneflow::ShapeView sizes() const { return {tensor_->shape, tensor_->ndim}; }
  const char* name() const { return name_; }
  const oneop_tensor* tensor() const { return tensor_; }

  // By position in memory; inputs are contiguous unless the op is .strided().
  T& operator[](int64_t i) const { return data()[i]; }
  T* begin() const { return data(); }
  T* end() const { return data() + numel(); }
  template <class... I>
  T& operator()(I... index) const {
    static_assert(N == kAnyRank || sizeof...(I) == N, "as many indices as the view has axes");
    int64_t offset = 0;
    int axis = 0;
    static_cast<void>(((offset += static_cast<int64_t>(index) * tensor_->stride[axis++]), ...));
    return data()[offset];
  }

 private:
  const oneop_tensor* tensor_;
  const char* name_;
};

// The tensors of an argument that is a list, Tensor[].
template <class T>
class Views {
 public:
  Views(const oneop_frame* frame, const oneop_arg* arg) : frame_(frame), arg_(arg) {}
  int64_t size() const { return arg_->count; }
  View<T> operator[](int64_t i) const {
    return View<T>(sdk::TensorAt(frame_, arg_->first + i), arg_->name);
  }

 private:
  const oneop_frame* frame_;
  const oneop_arg* arg_;
};

}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_VIEW_H_
