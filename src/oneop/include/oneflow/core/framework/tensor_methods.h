// Views of a tensor: torch's, which share its memory and its version.
#ifndef ONEFLOW_CORE_FRAMEWORK_TENSOR_METHODS_H_
#define ONEFLOW_CORE_FRAMEWORK_TENSOR_METHODS_H_

#include "oneop/sdk/functor.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace view {

using Pointer = std::shared_ptr<Tensor>;

template <class... A>
Maybe<Tensor> OneopView(const char* name, const Pointer& x, const A&... args) {
  try {
    return ::oneop::sdk::CallFunction<Pointer>(name, x, args...);
  } catch (const Exception& exception) {
    return exception.error();
  }
}

// Every tensor of torch's has views.
inline bool IsEnvViewDisabled() { return false; }
inline bool IsViewApplicable(const Pointer&) { return true; }

inline Maybe<Tensor> BasicView(const Pointer& x, const Shape& shape, const Stride& stride,
                               int64_t storage_offset) {
  return OneopView("aten::as_strided", x, shape, Shape(stride.begin(), stride.end()),
                   storage_offset);
}
inline Maybe<Tensor> BasicView(const Pointer& x, const Shape& shape, int64_t storage_offset) {
  return BasicView(x, shape, Stride(shape), storage_offset);
}
inline Maybe<Tensor> Reshape(const Pointer& x, const Shape& shape) {
  return OneopView("aten::view", x, shape);
}
// The strides are those that such a view has: see ComputeStride.
inline Maybe<Tensor> Reshape(const Pointer& x, const Shape& shape, const Stride&) {
  return Reshape(x, shape);
}
inline Maybe<Tensor> Slice(const Pointer& x, const std::vector<int64_t>& starts,
                           const std::vector<int64_t>& ends, const std::vector<int64_t>& steps) {
  CHECK_OR_RETURN(starts.size() == ends.size() && starts.size() == steps.size())
      << "a slice has " << starts.size() << " starts, " << ends.size() << " ends and "
      << steps.size() << " steps";
  Pointer part = x;
  for (size_t i = 0; i != starts.size(); ++i) {
    part = JUST(OneopView("aten::slice.Tensor", part, static_cast<int64_t>(i), starts[i], ends[i],
                          steps[i]));
  }
  return part;
}
inline Maybe<Tensor> Unsqueeze(const Pointer& x, const int32_t& dim) {
  return OneopView("aten::unsqueeze", x, dim);
}
inline Maybe<Tensor> Squeeze(const Pointer& x, const std::vector<int32_t>& dims) {
  return OneopView("aten::squeeze.dims", x, dims);
}
// The shape of x is known to torch.
inline Maybe<Tensor> Expand(const Pointer& x, const std::vector<int32_t>&,
                            const std::vector<int32_t>& shape) {
  return OneopView("aten::expand", x, shape);
}
inline Maybe<Tensor> Narrow(const Pointer& x, const int64_t& dim, const int64_t& start,
                            const int64_t& length) {
  return OneopView("aten::narrow", x, dim, start, length);
}
inline Maybe<Tensor> AsStrided(const Pointer& x, const std::vector<int32_t>& size,
                               const std::vector<int32_t>& stride, const int32_t& storage_offset) {
  return OneopView("aten::as_strided", x, size, stride, storage_offset);
}
inline Maybe<Tensor> Transpose(const Pointer& x, const std::vector<int32_t>& permute) {
  return OneopView("aten::permute", x, permute);
}
inline Maybe<Tensor> UnfoldTensor(const Pointer& x, const int32_t& dimension, const int32_t& size,
                                  const int32_t& step) {
  return OneopView("aten::unfold", x, dimension, size, step);
}
inline Maybe<Tensor> Diagonal(const Pointer& x, int32_t offset, int32_t dim1, int32_t dim2) {
  return OneopView("aten::diagonal", x, offset, dim1, dim2);
}

}  // namespace view
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_TENSOR_METHODS_H_
