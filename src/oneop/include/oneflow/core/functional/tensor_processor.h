// TensorProcessor: brings the inputs of an op to one data type.
#ifndef ONEFLOW_CORE_FUNCTIONAL_TENSOR_PROCESSOR_H_
#define ONEFLOW_CORE_FUNCTIONAL_TENSOR_PROCESSOR_H_

#include "oneflow/core/functional/functional.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {
namespace functional {

// The smallest type that holds the values of both, as torch.promote_types.
inline DataType PromoteTypes(DataType a, DataType b) {
  const auto rank = [](DataType type) {
    return IsComplexDataType(type) ? 3 : IsFloatingDataType(type) ? 2 : IsIntegralDataType(type);
  };
  if (a == b) {
    return a;
  }
  if (rank(a) != rank(b)) {
    const DataType higher = rank(a) > rank(b) ? a : b;
    const bool needs_more = higher == kComplex64 && (a == kDouble || b == kDouble);
    return needs_more ? kComplex128 : higher;
  }
  const size_t size_a = GetSizeOfDataType(a);
  const size_t size_b = GetSizeOfDataType(b);
  if (size_a != size_b) {
    return size_a > size_b ? a : b;
  }
  // Of one size but different: float16 and bfloat16, int8 and uint8.
  return rank(a) == 2 ? kFloat : kInt16;
}

class TensorProcessor {
 public:
  TensorProcessor& AddInputs(const TensorTuple& inputs) {
    return AddInputs(inputs, DType(kInvalidDataType));
  }
  // Inputs that are at least of this type.
  TensorProcessor& AddInputs(const TensorTuple& inputs, const Symbol<DType>& lowest) {
    for (const auto& input : inputs) {
      inputs_.push_back(input);
      lowest_.push_back(lowest->data_type());
    }
    return *this;
  }
  TensorProcessor& add_inputs(const TensorTuple& inputs) { return AddInputs(inputs); }
  TensorProcessor& PromoteInputsToCommonDtype(bool promotes) {
    promotes_ = promotes;
    return *this;
  }

  Maybe<void> Apply() {
    DataType common = kInvalidDataType;
    for (size_t i = 0; i != inputs_.size(); ++i) {
      common = Higher(common, Higher(inputs_[i]->dtype()->data_type(), lowest_[i]));
    }
    for (size_t i = 0; i != inputs_.size(); ++i) {
      const DataType own = inputs_[i]->dtype()->data_type();
      const DataType wanted = promotes_ ? common : Higher(own, lowest_[i]);
      if (wanted != own) {
        inputs_[i] = JUST(Call("aten::to.dtype", inputs_[i], wanted));
      }
    }
    return Maybe<void>::Ok();
  }
  Maybe<TensorTuple&> GetInputs() { return inputs_; }

 private:
  static DataType Higher(DataType a, DataType b) {
    return a == kInvalidDataType ? b : b == kInvalidDataType ? a : PromoteTypes(a, b);
  }

  TensorTuple inputs_;
  std::vector<DataType> lowest_;
  bool promotes_ = false;
};

// Inputs that are at least of the type `lowest`, where it is one, and of one type if they are to.
inline Maybe<TensorTuple> OneopInputs(const TensorTuple& inputs, const Symbol<DType>& lowest,
                                      bool promotes) {
  TensorProcessor processor;
  JUST(processor.PromoteInputsToCommonDtype(promotes).AddInputs(inputs, lowest).Apply());
  return JUST(processor.GetInputs());
}

}  // namespace functional
}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FUNCTIONAL_TENSOR_PROCESSOR_H_
