// The messages that op files touch, as plain classes.
#ifndef ONEFLOW_CORE_COMMON_PROTOBUF_H_
#define ONEFLOW_CORE_COMMON_PROTOBUF_H_

#include <string>
#include <vector>

#include "oneflow/core/common/error.h"
#include "oneflow/core/common/shape.h"
#include "oneflow/core/framework/sbp.h"

namespace oneflow ONEOP_HIDDEN {

template <class T>
using PbRf = std::vector<T>;
template <class T>
using PbRpf = std::vector<T>;

class ShapeProto {
 public:
  const std::vector<int64_t>& dim() const { return dims_; }
  std::vector<int64_t>* mutable_dim() { return &dims_; }
  int64_t dim(int i) const { return dims_.at(static_cast<size_t>(i)); }
  int dim_size() const { return static_cast<int>(dims_.size()); }
  void add_dim(int64_t dim) { dims_.push_back(dim); }

 private:
  std::vector<int64_t> dims_;
};

// Where an update of a model belongs; nobody asks.
enum AreaType : int64_t { kInvalidArea = 0, kDataForwardArea, kDataBackwardArea, kMdUpdtArea };

class ErrorProto {
 public:
  const std::string& msg() const { return msg_; }
  void set_msg(const std::string& msg) { msg_ = msg; }
  ErrorProto* mutable_check_failed_error() { return this; }

 private:
  std::string msg_;
};
inline Error OneopErrorOf(const ErrorProto& message) {
  return Error::CheckFailedError() << message.msg();
}

// 0.4 names the messages so.
namespace cfg {
using ::oneflow::ErrorProto;
using ::oneflow::SbpParallel;
using ::oneflow::ShapeProto;
}  // namespace cfg

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_COMMON_PROTOBUF_H_
