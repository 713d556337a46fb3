// SelectTopNOpExpr: the first tensors of a list, each as a view of its own. With -DONEOP_PORT
// alone.
#ifndef ONEOP_SDK_PORT_SELECT_TOP_N_H_
#define ONEOP_SDK_PORT_SELECT_TOP_N_H_

#include "oneflow/core/framework/op_expr.h"
#include "oneop/sdk/functor.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {

class SelectTopNOpExpr final : public OpExpr {
 public:
  SelectTopNOpExpr() {
    type_ = "select_top_n";
    run_ = &Select;
  }
  static Maybe<SelectTopNOpExpr> New() { return std::make_shared<SelectTopNOpExpr>(); }

 private:
  static Maybe<TensorTuple> Select(const TensorTuple& inputs,
                                   const ::oneop::sdk::AttrStore* attrs) {
    const oneop_attr* attr = attrs == nullptr ? nullptr : attrs->Find("top_n");
    const int32_t count = JUST(::oneop::sdk::ReadAttr<int32_t>(attr, "top_n", nullptr));
    CHECK_OR_RETURN(count >= 0 && static_cast<size_t>(count) <= inputs.size())
        << "top_n is " << count << " for " << inputs.size() << " tensors";
    TensorTuple outputs;
    for (int32_t i = 0; i != count; ++i) {
      outputs.push_back(
          ::oneop::sdk::CallFunction<std::shared_ptr<Tensor>>("aten::alias", inputs[i]));
    }
    return outputs;
  }
};

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEOP_SDK_PORT_SELECT_TOP_N_H_
