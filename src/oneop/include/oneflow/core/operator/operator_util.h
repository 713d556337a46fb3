// Sizes of what a window that moves over a tensor gives: pooling and convolution.
#ifndef ONEFLOW_CORE_OPERATOR_OPERATOR_UTIL_H_
#define ONEFLOW_CORE_OPERATOR_OPERATOR_UTIL_H_

#include <string>
#include <vector>

#include "oneflow/core/common/shape.h"
#include "oneflow/core/framework/user_op_conf.h"

namespace oneflow ONEOP_HIDDEN {

// The first axis of depth, height and width.
inline size_t DhwOffset(const std::string& data_format) {
  if (data_format == "channels_first") {
    return 2;
  }
  CHECK_EQ(data_format, "channels_last");
  return 1;
}
// The extent of depth, height or width (dim 0, 1, 2); those that the tensor lacks are 1.
inline int64_t GetInDim(const ShapeView& shape, const std::string& data_format, int32_t dim,
                        int32_t num_dims) {
  const int64_t absent = 3 - num_dims;
  return dim < absent ? 1 : shape.At(static_cast<int64_t>(DhwOffset(data_format)) + dim - absent);
}

// Padding is "valid" (none), or one of the same_ ones: the output covers the input in steps of
// `stride`, and an odd rest goes after (same, same_upper) or before it (same_lower).
inline void GetWindowedOutputSize(int64_t input, int32_t filter, int32_t dilation, int32_t stride,
                                  const std::string& padding, bool ceil_mode, int64_t* output,
                                  int32_t* before, int32_t* after) {
  CHECK_GT(stride, 0);
  CHECK_GE(dilation, 1);
  const int32_t reach = (filter - 1) * dilation + 1;
  int64_t size = 0;
  int32_t pad_before = 0, pad_after = 0;
  if (padding == "valid") {
    size = (input - reach + (ceil_mode ? stride - 1 : 0)) / stride + 1;
  } else if (padding == "same" || padding == "same_lower" || padding == "same_upper") {
    size = (input + stride - 1) / stride;
    const int64_t needed = (size - 1) * stride + reach - input;
    const int32_t total = static_cast<int32_t>(needed < 0 ? 0 : needed);
    (padding == "same_lower" ? pad_after : pad_before) = total / 2;
    (padding == "same_lower" ? pad_before : pad_after) = total - total / 2;
  } else {
    UNIMPLEMENTED() << "padding " << padding;
  }
  CHECK_GE(size, 0);
  if (output != nullptr) {
    *output = size;
  }
  if (before != nullptr) {
    *before = pad_before;
  }
  if (after != nullptr) {
    *after = pad_after;
  }
}
inline void GetWindowedOutputSize(int64_t input, int32_t filter, int32_t dilation, int32_t stride,
                                  const std::string& padding, int64_t* output, int32_t* before,
                                  int32_t* after) {
  GetWindowedOutputSize(input, filter, dilation, stride, padding, false, output, before, after);
}
inline void GetWindowedOutputSize(int64_t input, int32_t filter, int32_t stride,
                                  const std::string& padding, int64_t* output, int32_t* before,
                                  int32_t* after) {
  GetWindowedOutputSize(input, filter, 1, stride, padding, output, before, after);
}
inline void GetWindowedOutputSize(int64_t input, int32_t filter, int32_t stride,
                                  const std::string& padding, int64_t* output, int32_t* size) {
  int32_t before = 0, after = 0;
  GetWindowedOutputSize(input, filter, stride, padding, output, &before, &after);
  if (size != nullptr) {
    *size = before < after ? after : before;
  }
}

inline void Get3DOutputSize(const DimVector& in, const std::vector<int32_t>& pool_size,
                            const std::vector<int32_t>& strides, const std::string& padding,
                            bool ceil_mode, std::vector<int32_t>* dilation, DimVector* out,
                            std::vector<int32_t>* before, std::vector<int32_t>* after) {
  CHECK(out != nullptr);
  out->resize(3);
  if (before != nullptr) {
    before->resize(3);
  }
  if (after != nullptr) {
    after->resize(3);
  }
  for (size_t i = 0; i != 3; ++i) {
    GetWindowedOutputSize(
        in.at(static_cast<int64_t>(i)), pool_size.at(i), dilation == nullptr ? 1 : dilation->at(i),
        strides.at(i), padding, ceil_mode, &out->at(static_cast<int64_t>(i)),
        before == nullptr ? nullptr : &before->at(i), after == nullptr ? nullptr : &after->at(i));
  }
}
inline void Get3DOutputSize(const DimVector& in, const std::vector<int32_t>& pool_size,
                            const std::vector<int32_t>& strides, const std::string& padding,
                            DimVector* out, std::vector<int32_t>* before,
                            std::vector<int32_t>* after, std::vector<int32_t>* dilation) {
  Get3DOutputSize(in, pool_size, strides, padding, false, dilation, out, before, after);
}
inline void Get3DOutputSize(const DimVector& in, const std::vector<int32_t>& pool_size,
                            const std::vector<int32_t>& strides, const std::string& padding,
                            DimVector* out, std::vector<int32_t>* before,
                            std::vector<int32_t>* after) {
  Get3DOutputSize(in, pool_size, strides, padding, false, nullptr, out, before, after);
}
inline void Get3DOutputSize(const DimVector& in, const std::vector<int32_t>& pool_size,
                            const std::vector<int32_t>& strides, const std::string& padding,
                            DimVector* out, std::vector<int32_t>* pad) {
  std::vector<int32_t> after;
  Get3DOutputSize(in, pool_size, strides, padding, out, pad, &after);
  for (size_t i = 0; pad != nullptr && i != 3; ++i) {
    pad->at(i) = pad->at(i) < after[i] ? after[i] : pad->at(i);
  }
}

// By the attributes that convolutions have.
inline void GetConvOutAndPad(const ShapeView& in, const user_op::UserOpConfWrapper& conf,
                             DimVector* out, std::vector<int32_t>* small_side,
                             std::vector<int32_t>* large_side) {
  const int32_t num_dims = static_cast<int32_t>(in.NumAxes()) - 2;
  const auto data_format = conf.attr<std::string>("data_format");
  const auto padding = conf.attr<std::string>("padding");
  const auto strides = conf.attr<std::vector<int32_t>>("strides");
  const auto kernel_size = conf.attr<std::vector<int32_t>>("kernel_size");
  const auto dilation = conf.attr<std::vector<int32_t>>("dilation_rate");
  out->assign(static_cast<size_t>(num_dims), int64_t{0});
  small_side->assign(static_cast<size_t>(num_dims), 0);
  large_side->assign(static_cast<size_t>(num_dims), 0);
  for (int32_t i = 0; i < num_dims; ++i) {
    const size_t k = static_cast<size_t>(i);
    GetWindowedOutputSize(in.At(static_cast<int64_t>(DhwOffset(data_format)) + i),
                          kernel_size.at(k), dilation.at(k), strides.at(k), padding, &out->at(i),
                          &small_side->at(k), &large_side->at(k));
  }
}

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_OPERATOR_OPERATOR_UTIL_H_
