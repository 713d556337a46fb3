// Checks that functors share. Those that 0.8 defines in a source of its own are templates here, so
// that the source, where it is built too, takes precedence.
#ifndef ONEFLOW_CORE_FUNCTIONAL_IMPL_COMMON_H_
#define ONEFLOW_CORE_FUNCTIONAL_IMPL_COMMON_H_

#include "oneflow/core/autograd/autograd_mode.h"
#include "oneflow/core/common/wrap_dim_utils.h"
#include "oneflow/core/functional/functional.h"
#if defined(ONEOP_PORT)
#include "oneop/sdk/port/static_zeros.h"
#endif

namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace functional {

static constexpr size_t kMaxInputCount = 128;
static constexpr size_t kMaxOutputCount = 128;

// Whether a tensor may be changed in place: not a leaf that wants a gradient.
template <class = void>
bool IsInplaceValid(const std::shared_ptr<Tensor>& x) {
  return !x->requires_grad() || !x->is_leaf() || !autograd::GradMode::is_enabled();
}
template <class = void>
Maybe<void> CheckInplaceValid(const std::shared_ptr<Tensor>& x) {
  CHECK_OR_RETURN(!::oneop::sdk::IsSymbol(x->oneop_handle_ptr()))
      << "a gradient cannot change a tensor in place";
  CHECK_OR_RETURN(IsInplaceValid(x))
      << "a leaf that requires a gradient cannot be changed in place";
  return Maybe<void>::Ok();
}
template <class = void>
Maybe<void> CheckInplaceCastValid(const std::shared_ptr<Tensor>& x,
                                  const std::shared_ptr<Tensor>& x_cast) {
  CHECK_OR_RETURN(*x->dtype() == *x_cast->dtype())
      << "a tensor of type " << DataType_Name(x->dtype()->data_type())
      << " cannot hold the result, of type " << DataType_Name(x_cast->dtype()->data_type());
  return Maybe<void>::Ok();
}
inline Maybe<void> CheckInplaceShapeCanExpandTo(const Shape& shape, const Shape& expanded) {
  CHECK_OR_RETURN(shape == expanded) << "a tensor of shape " << shape.ToString()
                                     << " cannot hold the result, of shape " << expanded.ToString();
  return Maybe<void>::Ok();
}

// By torch's rules: axes are matched from the last, and one of size 1 is repeated.
template <class = void>
bool IsShapeCanExpandTo(const Shape& shape, const Shape& expanded) {
  const int64_t more = expanded.NumAxes() - shape.NumAxes();
  for (int64_t i = 0; i < shape.NumAxes() && more >= 0; ++i) {
    if (shape.At(i) != 1 && shape.At(i) != expanded.At(i + more)) {
      return false;
    }
  }
  return more >= 0;
}
template <class = void>
Maybe<void> CheckShapeCanExpandTo(const Shape& shape, const Shape& expanded) {
  CHECK_OR_RETURN(IsShapeCanExpandTo(shape, expanded))
      << "a tensor of shape " << shape.ToString() << " cannot be repeated to the shape "
      << expanded.ToString();
  return Maybe<void>::Ok();
}

// Axes counted from the front, each once; no axes are all of them.
template <class = void>
Maybe<std::vector<int32_t>> CheckAxis(const std::vector<int32_t>& axis, const int32_t& ndim) {
  std::vector<int32_t> axes;
  for (int32_t i = 0; i < ndim && axis.empty(); ++i) {
    axes.push_back(i);
  }
  for (const int32_t dim : axis) {
    const auto wrapped = static_cast<int32_t>(JUST(maybe_wrap_dim(dim, ndim)));
    for (const int32_t known : axes) {
      CHECK_OR_RETURN(known != wrapped) << "axis " << wrapped << " is listed more than once";
    }
    axes.push_back(wrapped);
  }
  return axes;
}

// A shape for the elements of x; one size of it may be -1, which is what the others leave.
template <class = void>
Maybe<Shape> InferShape(const std::shared_ptr<Tensor>& x, const Shape& shape) {
  const int64_t count = x->nelement();
  int64_t others = 1;
  int64_t open = -1;
  for (int64_t i = 0; i < shape.NumAxes(); ++i) {
    CHECK_OR_RETURN(shape.At(i) >= -1) << "a shape has the size " << shape.At(i);
    CHECK_OR_RETURN(shape.At(i) != -1 || open == -1)
        << "the shape " << shape.ToString() << " has more than one open size";
    if (shape.At(i) == -1) {
      open = i;
    } else {
      others *= shape.At(i);
    }
  }
  const bool fits = open == -1 ? others == count : others != 0 && count % others == 0;
  CHECK_OR_RETURN(fits) << "a tensor of " << count << " elements cannot have the shape "
                        << shape.ToString();
  Shape inferred(shape);
  if (open != -1) {
    inferred.Set(open, count / others);
  }
  return inferred;
}

// The strides with which a view has the target shape, or none: where an axis of the target would
// span elements that do not lie one step apart.
template <class = void>
Optional<Stride> ComputeStride(const Shape& shape, const Stride& stride, const Shape& target) {
  if (shape.elem_cnt() != target.elem_cnt() || shape.elem_cnt() == 0) {
    return NullOpt;
  }
  Stride made(target.NumAxes(), 1);
  int64_t to = target.NumAxes() - 1;
  int64_t from = shape.NumAxes() - 1;
  while (from >= 0) {
    // Axes of one run: each begins where the next one ends.
    const int64_t step = stride.At(from);
    int64_t run = shape.At(from);
    for (--from; from >= 0 && (shape.At(from) == 1 || stride.At(from) == run * step); --from) {
      run *= shape.At(from);
    }
    int64_t filled = 1;
    for (; to >= 0 && filled < run; --to) {
      made.Set(to, filled * step);
      filled *= target.At(to);
    }
    if (filled != run) {
      return NullOpt;
    }
  }
  return made;  // what is left of the target are axes of size 1, whose steps do not count
}

// Calls an op and writes its result into x, one of its inputs, which is returned. Where a gradient
// may be asked for, the op gets a copy of x: its gradient needs what was in x before.
inline Maybe<Tensor> OneopCallInPlace(const OpExpr& op, TensorTuple inputs,
                                      const std::shared_ptr<Tensor>& x) {
  bool needs_copy = false;
  for (const auto& input : inputs) {
    needs_copy = needs_copy || input->requires_grad();
  }
  for (auto& input : inputs) {
    if (needs_copy && input == x) {
      input = JUST(x->clone());
    }
  }
  TensorTuple outputs{x};
  JUST(OpInterpUtil::Dispatch(op, inputs, &outputs));
  return outputs[0];
}

}  // namespace functional
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FUNCTIONAL_IMPL_COMMON_H_
