// OfBlob: the elements of a tensor while SyncAccessTensorWithTimeOut lets a functor look at them.
#ifndef ONEFLOW_CORE_REGISTER_OFBLOB_H_
#define ONEFLOW_CORE_REGISTER_OFBLOB_H_

#include <vector>

#include "oneflow/core/functional/functional.h"
#include "oneop/sdk/tensor_state.h"

namespace oneflow ONEOP_HIDDEN {

class OfBlob {
 public:
  OfBlob(const std::shared_ptr<one::Tensor>& tensor, bool is_mutable)
      : tensor_(tensor), is_mutable_(is_mutable) {}
  OfBlob(const OfBlob&) = delete;
  OfBlob& operator=(const OfBlob&) = delete;

  int data_type() const { return tensor_->dtype()->data_type(); }
  size_t NumAxes() const { return static_cast<size_t>(tensor_->ndim()); }
  bool is_dynamic() const { return false; }
  void CopyShapeTo(int64_t* dims, int64_t count) const {
    const auto shape = tensor_->shape();
    CHECK_EQ(shape->NumAxes(), count);
    std::copy(shape->ptr(), shape->ptr() + count, dims);
  }

  // All elements, of the tensor's own type.
  template <class T>
  void AutoMemCopyTo(T* to, int64_t count) const {
    Check<T>(count);
    ::oneop::sdk::ReadElements(tensor_->oneop_handle_ptr(), to, count * sizeof(T));
  }
  template <class T>
  void AutoMemCopyFrom(const T* from, int64_t count) {
    Check<T>(count);
    CHECK(is_mutable_) << "a tensor that is accessed as \"const\" is written";
    written_.assign(from, from + count);
  }

  // What was written goes into the tensor by torch's own ops: versions and views stay right.
  void OneopFinish() {
    if (written_.empty()) {
      return;
    }
    one::TensorTuple elements;
    for (const Scalar& value : written_) {
      elements.push_back(Call("aten::scalar_tensor", value, tensor_->dtype()));
    }
    const auto flat = Call("aten::stack", elements, int64_t{0});
    Call("aten::copy_", tensor_, Call("aten::reshape", flat, *tensor_->shape()));
  }

 private:
  template <class... A>
  static std::shared_ptr<one::Tensor> Call(const char* name, const A&... args) {
    return ::oneop::sdk::CallFunction<std::shared_ptr<one::Tensor>>(name, args...);
  }
  template <class T>
  void Check(int64_t count) const {
    CHECK_EQ(tensor_->dtype()->data_type(), GetDataType<T>::value)
        << "the elements of a tensor are copied as another type";
    CHECK_EQ(tensor_->nelement(), count);
  }

  std::shared_ptr<one::Tensor> tensor_;
  bool is_mutable_;
  std::vector<Scalar> written_;
};

}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_REGISTER_OFBLOB_H_
