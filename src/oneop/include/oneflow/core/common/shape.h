// Shape (owns its extents), ShapeView and MutShapeView (look at a tensor's), Stride.
#ifndef ONEFLOW_CORE_COMMON_SHAPE_H_
#define ONEFLOW_CORE_COMMON_SHAPE_H_

#include <vector>

#include "oneflow/core/common/shape_vec.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// What Shape, its views and the proxy of an inferred shape can all be asked.
template <class Self>
class ShapeReader {
 public:
  int64_t NumAxes() const { return self().OneopNdim(); }
  int64_t num_axes() const { return self().OneopNdim(); }
  const int64_t* ptr() const { return self().OneopDims(); }
  const int64_t* data() const { return ptr(); }
  int64_t At(int64_t axis) const {
    const int64_t ndim = NumAxes();
    if (!ONEOP_LIKELY(axis >= 0 && axis < ndim)) {
      ThrowAxis(axis, ndim);
    }
    return ptr()[axis];
  }
  int64_t at(int64_t axis) const { return At(axis); }
  int64_t operator[](int64_t axis) const { return ptr()[axis]; }
  int64_t elem_cnt() const { return Product(0, NumAxes()); }
  int64_t Count(int64_t begin) const { return Count(begin, NumAxes()); }
  int64_t Count(int64_t begin, int64_t end) const {
    if (!ONEOP_LIKELY(begin >= 0 && begin <= end && end <= NumAxes())) {
      ThrowAxis(end, NumAxes());
    }
    return Product(begin, end);
  }
  size_t size() const { return static_cast<size_t>(NumAxes()); }
  bool empty() const { return NumAxes() == 0; }
  const int64_t* begin() const { return ptr(); }
  const int64_t* end() const { return ptr() + NumAxes(); }
  const int64_t* cbegin() const { return ptr(); }
  const int64_t* cend() const { return ptr() + NumAxes(); }
  int64_t front() const { return At(0); }
  int64_t back() const { return At(NumAxes() - 1); }
  oneflow::DimVector ToDimVector() const { return oneflow::DimVector(begin(), end()); }
  void ToDimVector(oneflow::DimVector* out) const { out->assign(begin(), end()); }
  ONEOP_COLD std::string ToString() const {
    std::string text = "(";
    for (const int64_t* dim = begin(); dim != end(); ++dim) {
      if (dim != begin()) {
        text += ",";
      }
      AppendInt(&text, *dim);
    }
    return text += ")";
  }
  std::string DebugStr() const { return ToString(); }
  template <class Other>
  bool Containing(const Other& small) const {
    if (NumAxes() < small.NumAxes()) {
      return false;
    }
    for (int64_t i = 0; i != small.NumAxes(); ++i) {
      if (small.ptr()[i] != ptr()[i]) {
        return false;
      }
    }
    return true;
  }
  template <class Other>
  bool MatchBeforeLastDim(const Other& other) const {
    if (NumAxes() != other.NumAxes()) {
      return false;
    }
    for (int64_t i = 0; i + 1 < NumAxes(); ++i) {
      if (other.ptr()[i] != ptr()[i]) {
        return false;
      }
    }
    return true;
  }
  bool is_initialized() const { return true; }

 private:
  const Self& self() const { return static_cast<const Self&>(*this); }
  int64_t Product(int64_t begin, int64_t end) const {
    int64_t count = 1;
    for (int64_t i = begin; i < end; ++i) {
      count *= ptr()[i];
    }
    return count;
  }
};

template <class A, class B>
bool SameDims(const A& a, const B& b) {
  const int64_t ndim = a.OneopNdim();
  if (ndim != b.OneopNdim()) {
    return false;
  }
  const int64_t* p = a.OneopDims();
  const int64_t* q = b.OneopDims();
  for (int64_t i = 0; i != ndim; ++i) {
    if (p[i] != q[i]) {
      return false;
    }
  }
  return true;
}

// Any two of Shape, ShapeView, MutShapeView and the proxy compare.
template <class A, class B>
bool operator==(const ShapeReader<A>& a, const ShapeReader<B>& b) {
  return SameDims(static_cast<const A&>(a), static_cast<const B&>(b));
}
template <class A, class B>
bool operator!=(const ShapeReader<A>& a, const ShapeReader<B>& b) {
  return !(a == b);
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneop ONEOP_HIDDEN {
namespace sdk {
class ShapeRef;
}
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {

class ShapeView;

class Shape : public ::oneop::sdk::ShapeReader<Shape> {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(const DimVector& dims) : dims_(dims) {}
  explicit inline Shape(const ShapeView& view);
  explicit inline Shape(const ::oneop::sdk::ShapeRef& ref);  // it converts to both of the above
  explicit Shape(const std::vector<int64_t>& dims) : dims_(dims.begin(), dims.end()) {}
  // To and from a message that has `dim`.
  template <class Message, class = decltype(std::declval<const Message&>().dim_size())>
  explicit Shape(const Message& message) : Shape(message.dim()) {}
  template <class Message>
  void ToProto(Message* message) const {
    message->mutable_dim()->assign(begin(), end());
  }
  template <class It, class = decltype(*std::declval<It>())>
  Shape(It begin, It end) : dims_(begin, end) {}

#if ONEOP_GENERATION >= 2024  // so many dimensions
  explicit Shape(size_t count) : dims_(count) {}
  explicit Shape(int count) : dims_(static_cast<size_t>(count)) {}
#endif

  using ShapeReader::operator[];
  int64_t& operator[](int64_t axis) { return dims_[axis]; }
  const DimVector& dim_vec() const& { return dims_; }
  DimVector dim_vec() && { return dims_; }  // safe in `for (x : ctx->Attr<Shape>("s").dim_vec())`
  void Set(int64_t axis, int64_t extent) {
    if (!ONEOP_LIKELY(axis >= 0 && axis < NumAxes())) {
      ::oneop::sdk::ThrowAxis(axis, NumAxes());
    }
    dims_[axis] = extent;
  }
  void push_back(int64_t extent) { dims_.push_back(extent); }
  void emplace_back(int64_t extent) { dims_.push_back(extent); }
  void assign(const DimVector& dims) { dims_ = dims; }
  template <class It>
  void assign(It begin, It end) {
    dims_.assign(begin, end);
  }
  void CheckNumAxesIdentical(const Shape& other) const {
    if (NumAxes() != other.NumAxes()) {
      ::oneop::sdk::ThrowAxis(other.NumAxes(), NumAxes());
    }
  }
  const Shape& CreateLeftExtendedShape(int64_t ndim) {
    while (NumAxes() < ndim) {
      dims_.insert(dims_.begin(), 1);
    }
    return *this;
  }
  inline Shape RemoveOnes() const;
  // Without these axes, which have one element each.
  Shape RemoveOnes(const AxisVector& axes) const {
    DimVector dims;
    for (int64_t i = 0; i != NumAxes(); ++i) {
      bool is_removed = false;
      for (int64_t axis : axes) {
        is_removed = is_removed || axis == i;
      }
      if (!is_removed) {
        dims.push_back(At(i));
      } else if (At(i) != 1) {
        ::oneop::sdk::ThrowAxis(i, NumAxes());
      }
    }
    return Shape(dims);
  }
  static Shape Ones(int64_t ndim) { return Shape(DimVector(static_cast<size_t>(ndim), 1)); }
  inline AxisVector Axes4BroadcastTo(const Shape& to) const;
  Shape Slice(int64_t begin, int64_t end) const {
    Count(begin, end);  // checks
    return Shape(ptr() + begin, ptr() + end);
  }
  Shape Slice(int64_t begin) const { return Slice(begin, NumAxes()); }

  int64_t OneopNdim() const { return static_cast<int64_t>(dims_.size()); }
  const int64_t* OneopDims() const { return dims_.data(); }

 private:
  DimVector dims_;
};

class ShapeView : public ::oneop::sdk::ShapeReader<ShapeView> {
 public:
  ShapeView() = default;
  ShapeView(const int64_t* dims, int64_t ndim) : dims_(dims), ndim_(ndim) {}
  ShapeView(const Shape& shape)  // NOLINT: implicit, as OneFlow
      : dims_(shape.ptr()), ndim_(shape.NumAxes()) {}

  void ToShape(Shape* shape) const { shape->assign(begin(), end()); }
  Shape ToShape() const { return Shape(begin(), end()); }
  const ShapeView* operator->() const { return this; }

  int64_t OneopNdim() const { return ndim_; }
  const int64_t* OneopDims() const { return dims_; }

 private:
  const int64_t* dims_ = nullptr;
  int64_t ndim_ = 0;
};

class MutShapeView : public ::oneop::sdk::ShapeReader<MutShapeView> {
 public:
  MutShapeView() = default;
  MutShapeView(int64_t* dims, int64_t ndim) : dims_(dims), ndim_(ndim) {}
  operator ShapeView() const { return ShapeView(dims_, ndim_); }

  int64_t* mut_ptr() const { return dims_; }
  void Set(int64_t axis, int64_t extent) const {
    At(axis);  // checks
    dims_[axis] = extent;
  }
  void set_shape(const ShapeView& shape) const {
    if (shape.NumAxes() != ndim_) {
      ::oneop::sdk::ThrowAxis(shape.NumAxes(), ndim_);
    }
    for (int64_t i = 0; i != ndim_; ++i) {
      dims_[i] = shape.ptr()[i];
    }
  }
  const MutShapeView* operator->() const { return this; }  // `t->mut_shape()->Set(..)` of 2020

  int64_t OneopNdim() const { return ndim_; }
  const int64_t* OneopDims() const { return dims_; }

 private:
  int64_t* dims_ = nullptr;
  int64_t ndim_ = 0;
};

inline Shape::Shape(const ShapeView& view) : dims_(view.begin(), view.end()) {}

class Stride : public ::oneop::sdk::ShapeReader<Stride> {
 public:
  Stride() = default;
  Stride(std::initializer_list<int64_t> strides) : strides_(strides) {}
  explicit Stride(const DimVector& strides) : strides_(strides) {}
  explicit Stride(const Shape& shape) : strides_(static_cast<size_t>(shape.NumAxes())) {
    int64_t step = 1;
    for (int64_t i = shape.NumAxes(); i-- > 0; step *= shape.ptr()[i]) {
      strides_[i] = step;
    }
  }
  template <class It, class = decltype(*std::declval<It>())>
  Stride(It begin, It end) : strides_(begin, end) {}
  explicit Stride(int64_t count) : strides_(static_cast<size_t>(count)) {}
  Stride(int64_t count, int step) : strides_(static_cast<size_t>(count), step) {}
  using ShapeReader::at;
  using ShapeReader::operator[];
  int64_t& at(int64_t axis) {
    At(axis);  // checks
    return strides_[axis];
  }
  int64_t& operator[](int64_t axis) { return strides_[axis]; }
  void resize(size_t count, int64_t step = 0) { strides_.resize(count, step); }
  const DimVector& StrideVec() const { return strides_; }
  void Set(int64_t axis, int64_t step) {
    At(axis);  // checks
    strides_[axis] = step;
  }

  int64_t OneopNdim() const { return static_cast<int64_t>(strides_.size()); }
  const int64_t* OneopDims() const { return strides_.data(); }

 private:
  DimVector strides_;
};

// --- Free functions that op files use ---

inline Shape Shape::RemoveOnes() const {
  DimVector dims;
  for (int64_t dim : *this) {
    if (dim != 1) {
      dims.push_back(dim);
    }
  }
  return Shape(dims);
}
inline AxisVector Shape::Axes4BroadcastTo(const Shape& to) const {
  AxisVector axes;
  for (int64_t i = 0; i != NumAxes(); ++i) {
    if (At(i) == 1 && to.At(i) != 1) {
      axes.push_back(i);
    }
  }
  return axes;
}
inline int64_t ShiftNegativeAxis(int64_t axis, int64_t ndim) {
  const int64_t shifted = axis < 0 ? axis + ndim : axis;
  if (shifted < 0 || shifted >= ndim) {
    ::oneop::sdk::ThrowAxis(axis, ndim);
  }
  return shifted;
}
inline Shape CreateReducedShape(const ShapeView& shape, const AxisVector& axes) {
  if (axes.empty()) {
    return Shape({1});
  }
  Shape reduced(shape);
  for (int64_t axis : axes) {
    reduced.Set(ShiftNegativeAxis(axis, shape.NumAxes()), 1);
  }
  return reduced;
}
inline Shape CreateReducedShapeOrOnesShape(const ShapeView& shape, const AxisVector& axes) {
  return axes.empty() ? Shape::Ones(shape.NumAxes()) : CreateReducedShape(shape, axes);
}
inline Shape CreateLeftExtendedShape(const ShapeView& shape, int64_t ndim) {
  Shape extended(shape);
  extended.CreateLeftExtendedShape(ndim);
  return extended;
}
inline Shape ExpandDimIf0D(const Shape& shape) { return shape.NumAxes() == 0 ? Shape({1}) : shape; }
inline Shape ExpandDimIf0D(const ShapeView& shape) { return ExpandDimIf0D(Shape(shape)); }

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_SHAPE_H_
