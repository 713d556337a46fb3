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

// A use of a view that would read memory which is not the tensor's. These are thrown from loops, so
// they get what a view knows and nothing that would keep its members out of registers.
[[noreturn]] ONEOP_COLD inline void ThrowNotGiven(const char* name) {
  sdk::ThrowText(ONEOP_ERROR_VALUE, {"tensor \"", name,
                                     "\": the kernel uses an optional tensor that was not given"
                                     "\n  ask its view first: defined()"});
}
[[noreturn]] ONEOP_COLD inline void ThrowNoAxis(const char* name, int64_t axis, int64_t rank) {
  if (rank < 0) {
    ThrowNotGiven(name);
  }
  sdk::ThrowText(ONEOP_ERROR_INDEX,
                 {"tensor \"", name, "\": the kernel asks for axis ", sdk::Digits(axis),
                  " of a View with ", sdk::Digits(rank), rank == 1 ? " axis" : " axes"});
}
[[noreturn]] ONEOP_COLD inline void ThrowNotLinear(const char* name, int64_t rank) {
  if (rank < 0) {
    ThrowNotGiven(name);
  }
  sdk::ThrowText(ONEOP_ERROR_VALUE,
                 {"tensor \"", name,
                  "\": the kernel walks through it with [], begin() or end(), and it is not "
                  "contiguous\n  use x(i, j), or leave out .strided(): inputs are then copied"});
}

namespace op {

// Whether element i in the order of the axes is element i in memory.
inline bool IsLinear(const oneop_tensor& tensor) {
  int64_t step = 1;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] != 1 && tensor.stride[i] != step && tensor.elem_cnt != 0) {
      return false;
    }
    step *= tensor.shape[i];
  }
  return true;
}

// What a view gives for an element. A byte of a bool tensor may be neither 0 nor 1, as torch allows
// in uint8.view(bool); as a C++ bool it would be undefined, so reading gives bytes != 0.
template <class T>
struct ElementAt {
  using type = T&;
  using Iterator = T*;
  static type Get(T* at) { return *at; }
  static Iterator Begin(T* at) { return at; }
};
struct BoolIterator {
  const unsigned char* at;
  bool operator*() const { return *at != 0; }
  BoolIterator& operator++() {
    ++at;
    return *this;
  }
  bool operator==(const BoolIterator& other) const { return at == other.at; }
  bool operator!=(const BoolIterator& other) const { return at != other.at; }
};
template <>
struct ElementAt<const bool> {
  using type = bool;
  using Iterator = BoolIterator;
  static bool Get(const bool* at) { return *Begin(at); }
  static BoolIterator Begin(const bool* at) { return {reinterpret_cast<const unsigned char*>(at)}; }
};

}  // namespace op

// T is const for an input that the kernel only reads. With N the view has so many axes, which is
// checked when the kernel is called; without it any number. A view of an optional tensor that was
// not given is not defined().
//
// Kept true by every access: as many indices as axes, an axis that the tensor has, and no walk in
// the order of memory through a tensor that is not contiguous. The number of axes is part of the
// type where indices are used, because a check of it in a loop costs many times what the loop
// does; the others compare a member that loops do not change, and the compiler moves that out of
// them. Indices themselves are not compared with the sizes.
template <class T, int N = kAnyRank>
class View {
 public:
  using Reference = typename op::ElementAt<T>::type;
  using Iterator = typename op::ElementAt<T>::Iterator;

  View(const oneop_tensor* tensor, const char* name) : tensor_(tensor), name_(name) {
    if (tensor != nullptr) {
      if (N != kAnyRank && tensor->ndim != N) {
        ThrowRank(name, N, tensor->ndim);
      }
      data_ = static_cast<T*>(tensor->data);
      rank_ = tensor->ndim;
      numel_ = tensor->elem_cnt;
      is_linear_ = op::IsLinear(*tensor);
    }
  }
  template <int M, class = std::enable_if_t<M != N && (M == kAnyRank || N == kAnyRank)>>
  View(const View<T, M>& other)  // NOLINT: implicit, so that a kernel names the rank it takes
      : View(other.tensor(), other.name()) {}

  bool defined() const { return tensor_ != nullptr; }
  T* data() const { return data_; }
  int64_t dim() const {
    if (!ONEOP_LIKELY(rank_ >= 0)) {
      ThrowNotGiven(name_);
    }
    return rank_;
  }
  int64_t numel() const { return numel_; }
  // Of an axis, counted from the end where it is negative. Without an axis: as numel().
  int64_t size(int64_t axis) const {
    const int64_t at = AxisOf(axis);  // before the tensor is looked at
    return tensor_->shape[at];
  }
  int64_t size() const { return numel_; }
  int64_t stride(int64_t axis) const {
    const int64_t at = AxisOf(axis);
    return tensor_->stride[at];
  }
  ::oneflow::ShapeView sizes() const {
    const int64_t rank = dim();
    return {tensor_->shape, rank};
  }
  bool is_contiguous() const { return is_linear_; }
  const char* name() const { return name_; }
  const oneop_tensor* tensor() const { return tensor_; }

  // In the order of memory, which is that of the axes: others are refused.
  Reference operator[](int64_t i) const { return op::ElementAt<T>::Get(Linear() + i); }
  Iterator begin() const { return op::ElementAt<T>::Begin(numel_ == 0 ? data_ : Linear()); }
  Iterator end() const { return op::ElementAt<T>::Begin(numel_ == 0 ? data_ : Linear() + numel_); }
  template <class... I>
  Reference operator()(I... index) const {
    static_assert(N != kAnyRank,
                  "write const auto m = oneop::view<2>(x) and then m(i, j), or take View<T, 2>: an "
                  "auto view has any number of axes, so indices need the number that is meant");
    static_assert(N == kAnyRank || sizeof...(I) == N,
                  "give m(i, j) as many indices as the view has axes");
    int64_t offset = 0;
    int axis = 0;
    static_cast<void>(((offset += static_cast<int64_t>(index) * tensor_->stride[axis++]), ...));
    return op::ElementAt<T>::Get(data_ + offset);
  }

 private:
  T* Linear() const {
    if (!ONEOP_LIKELY(is_linear_)) {
      ThrowNotLinear(name_, rank_);
    }
    return data_;
  }
  int64_t AxisOf(int64_t axis) const {
    const int64_t rank = N == kAnyRank ? rank_ : N;
    const int64_t from_front = axis < 0 ? axis + rank : axis;
    if (!ONEOP_LIKELY(from_front >= 0 && from_front < rank)) {
      ThrowNoAxis(name_, axis, rank_);
    }
    return from_front;
  }

  const oneop_tensor* tensor_;
  const char* name_;
  T* data_ = nullptr;
  int64_t rank_ = -1;  // of a tensor that was not given, for which no access holds
  int64_t numel_ = 0;
  bool is_linear_ = false;
};

// The view as one with N axes, which is checked here: const auto m = oneop::view<2>(x).
template <int N, class T, int M>
View<T, N> view(const View<T, M>& x) {
  if (!x.defined()) {
    ThrowNotGiven(x.name());
  }
  return View<T, N>(x.tensor(), x.name());
}

// The tensors of an argument that is a list, Tensor[].
template <class T>
class Views {
 public:
  Views(const oneop_frame* frame, const oneop_arg* arg) : frame_(frame), arg_(arg) {}
  int64_t size() const { return arg_->count; }
  View<T> operator[](int64_t i) const {
    if (!ONEOP_LIKELY(i >= 0 && i < arg_->count)) {
      ThrowNoElement(i);
    }
    return View<T>(sdk::TensorAt(frame_, arg_->first + i), arg_->name);
  }

 private:
  [[noreturn]] ONEOP_COLD void ThrowNoElement(int64_t i) const {
    sdk::ThrowText(ONEOP_ERROR_INDEX,
                   {"tensor list \"", arg_->name, "\": the kernel asks for tensor ", sdk::Digits(i),
                    " of ", sdk::Digits(arg_->count)});
  }
  const oneop_frame* frame_;
  const oneop_arg* arg_;
};

}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_VIEW_H_
