// What all the contexts of the user-op API can be asked, as a view of the call frame.
#ifndef ONEOP_SDK_CONTEXT_H_
#define ONEOP_SDK_CONTEXT_H_

#include "oneflow/core/common/maybe.h"
#include "oneflow/core/framework/sbp.h"
#include "oneflow/core/framework/user_op_tensor.h"
#include "oneop/sdk/kept.h"
#include "oneop/sdk/library.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {

class ParallelContext {
 public:
  ParallelContext(int64_t id, int64_t num) : id_(id), num_(num) {}
  int64_t parallel_id() const { return id_; }
  int64_t parallel_num() const { return num_; }
  const ParallelContext* operator->() const { return this; }

 private:
  int64_t id_;
  int64_t num_;
};

class ParallelDesc {
 public:
  ParallelDesc() = default;  // of no call: the cpu alone
  explicit ParallelDesc(const oneop_frame* frame) : frame_(frame) {}
  int64_t parallel_num() const { return frame_ == nullptr ? 1 : frame_->parallel_num; }
  DeviceType device_type() const {
    return frame_ == nullptr ? kCPU : static_cast<DeviceType>(frame_->device_type);
  }
  const char* device_tag() const { return DeviceTag4DeviceType(device_type()); }
  const ParallelDesc* operator->() const { return this; }
  // The mesh: the ABI says how many devices there are, not in how many rows.
  template <class = void>
  std::shared_ptr<const Shape> hierarchy() const {
    return std::make_shared<const Shape>(Shape({parallel_num()}));
  }

 private:
  const oneop_frame* frame_ = nullptr;
};

// Named by sources of 2020: there is no job configuration to read.
class JobDesc {
 public:
  const JobDesc* operator->() const { return this; }
  bool IsPredict() const { return false; }
  bool IsTrain() const { return true; }
};

namespace user_op {
class UserOpConfWrapper;
}

}  // namespace oneflow ONEOP_HIDDEN

namespace oneop ONEOP_HIDDEN {
namespace sdk {

using oneflow::user_op::Tensor;
using oneflow::user_op::TensorDesc;
using ArgVec = std::vector<std::pair<std::string, int32_t>>;

class Context {
 public:
  explicit Context(oneop_frame* frame) : frame_(frame) {}
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  std::string op_name() const { return frame_->op_name; }
  std::string op_type_name() const { return frame_->op_type_name; }
  std::string op_loc() const { return std::string(); }
  oneflow::DeviceType device_type() const {
    return static_cast<oneflow::DeviceType>(frame_->device_type);
  }
  std::string device_tag() const { return oneflow::DeviceTag4DeviceType(device_type()); }
  template <class T = void>
  oneflow::ParallelContext parallel_ctx() const {
    static_cast<void>(AsksPlacement<T>::noted);
    return {frame_->parallel_id, frame_->parallel_num};
  }
  oneflow::ParallelDesc parallel_desc() const { return oneflow::ParallelDesc(frame_); }
  int64_t parallel_num() const { return frame_->parallel_num; }
  oneflow::JobDesc job_desc() const { return {}; }

  bool has_input(std::string_view name, int32_t index) const {
    return FindTensor(frame_, name, index, kInput) >= 0;
  }
  bool has_output(std::string_view name, int32_t index) const {
    return FindTensor(frame_, name, index, kOutput) >= 0;
  }
  int32_t input_size(std::string_view name) const { return SizeOf(name, kInput); }
  int32_t output_size(std::string_view name) const { return SizeOf(name, kOutput); }

  // These are templates so that a file which does not call them does not pay for
  // std::vector<std::pair<...>>.
  template <class = void>
  const ArgVec& inputs() const {
    return Arguments(frame_->inputs, frame_->num_inputs);
  }
  template <class = void>
  const ArgVec& outputs() const {
    return Arguments(frame_->outputs, frame_->num_outputs);
  }
  template <class = void>
  std::string input(std::string_view name, int32_t index) const {
    NeedTensor(frame_, name, index, kInput);
    return BlobName(name, index);
  }
  template <class = void>
  std::string output(std::string_view name, int32_t index) const {
    NeedTensor(frame_, name, index, kOutput);
    return BlobName(name, index);
  }
  template <class Wrapper = oneflow::user_op::UserOpConfWrapper>
  const Wrapper& user_op_conf() const {
    return Keep<Wrapper>(frame_, frame_);
  }

  // A number, or a reference that lives as long as this context.
  template <class T>
  AttrResult<T> Attr(std::string_view name) const {
    return ReadAttrOf<T>(NeedAttr<T>(frame_, name), &kept_);
  }
  template <class T>
  AttrResult<T> GetAttr(std::string_view name) const {
    return Attr<T>(name);
  }

  template <class = void>
  const oneflow::SbpParallel& SbpParallel4ArgNameAndIndex(std::string_view name,
                                                          int32_t index) const {
    return NdSbp4ArgNameAndIndex(name, index).sbp_parallel(0);
  }
  template <class T = void>
  const oneflow::NdSbp& NdSbp4ArgNameAndIndex(std::string_view name, int32_t index) const {
    static_cast<void>(AsksPlacement<T>::noted);
    const int32_t number = NeedTensor(frame_, name, index);
    const char* key =
        reinterpret_cast<const char*>(TensorAt(frame_, number)) + 1;  // not the desc's
    return Keep<oneflow::NdSbp>(key, frame_, number);
  }

  // as 0.4 calls it
  template <class T = void>
  const oneflow::NdSbp& ParallelDistribution4ArgNameAndIndex(std::string_view name,
                                                             int32_t index) const {
    return NdSbp4ArgNameAndIndex<T>(name, index);
  }

  oneop_frame* oneop_frame_ptr() const { return frame_; }

 protected:
  // A desc of a tensor, made at the first request.
  const TensorDesc& KeptDesc(const oneop_tensor* tensor) const {
    NoteDescRead(frame_);
    return Keep<TensorDesc>(tensor, *tensor);
  }
  const oneop_tensor* LogicalTensor(int32_t number) const {
    return frame_->logical_tensors == nullptr
               ? TensorAt(frame_, number)
               : Element(frame_->logical_tensors, frame_->tensor_size, number);
  }
  const TensorDesc* FindDesc(std::string_view name, int32_t index) const {
    const int32_t number = FindGivenTensor(frame_, name, index);
    return number < 0 ? nullptr : &KeptDesc(TensorAt(frame_, number));
  }
  const TensorDesc* FindLogicalDesc(std::string_view name, int32_t index) const {
    const int32_t number = FindGivenTensor(frame_, name, index);
    return number < 0 ? nullptr : &KeptDesc(LogicalTensor(number));
  }

  template <class T, class... A>
  T& Keep(const void* key, A&&... args) const {
    return kept_.Keep<T>(key, [&] { return T(std::forward<A>(args)...); });
  }

  oneop_frame* frame_;

 private:
  int32_t SizeOf(std::string_view name, int side) const {
    const oneop_arg* arg = FindArg(frame_, name, side);
    return arg == nullptr ? 0 : arg->count;
  }
  template <class = void>
  const ArgVec& Arguments(const oneop_arg* args, const int32_t& count) const {
    return kept_.Keep<ArgVec>(&count, [this, args, &count] {
      ArgVec list;
      for (int32_t i = 0; i != count; ++i) {
        const oneop_arg* arg = ArgAt(frame_, args, i);
        for (int32_t k = 0; k != arg->count; ++k) {
          list.emplace_back(arg->name, k);
        }
      }
      return list;
    });
  }
  template <class = void>
  std::string BlobName(std::string_view name, int32_t index) const {
    std::string text(frame_->op_name);
    text.append("/").append(name).append("_");
    AppendInt(&text, index);
    return text;
  }

  mutable KeptList kept_;
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_CONTEXT_H_
