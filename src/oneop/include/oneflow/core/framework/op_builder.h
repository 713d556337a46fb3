// one::OpBuilder: names the inputs and outputs with which an op will be called.
#ifndef ONEFLOW_CORE_FRAMEWORK_OP_BUILDER_H_
#define ONEFLOW_CORE_FRAMEWORK_OP_BUILDER_H_

#include "oneflow/core/framework/op_expr.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {

class OpBuilder {
 public:
  explicit OpBuilder(std::string_view op_type, std::string_view /*op_name*/ = {})
      : op_(std::make_shared<UserOpExpr>()) {
    op_->type_ = std::string(op_type);
  }

  OpBuilder& Input(std::string_view name, int count = 1) {
    return Add(&op_->inputs_, "Input", name, count);
  }
  OpBuilder& Output(std::string_view name, int count = 1) {
    return Add(&op_->outputs_, "Output", name, count);
  }
  Maybe<OpBuilder&> MaybeInput(std::string_view name, int count) { return Input(name, count); }
  Maybe<OpBuilder&> MaybeOutput(std::string_view name, int count) { return Output(name, count); }
  // An attribute that every call has, unless it sets another value.
  template <class T>
  OpBuilder& Attr(std::string_view name, const T& value) {
    op_->base_attrs_.OneopPut(::oneop::sdk::library.arena.CopyText(name), value);
    return *this;
  }

  Maybe<UserOpExpr> Build() {
    if (!error_.empty()) {
      return Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
             << "op \"" << op_->op_type_name() << "\": " << error_;
    }
    return op_;
  }

 private:
  ONEOP_COLD OpBuilder& Add(std::vector<const char*>* names, const char* what,
                            std::string_view name, int count) {
    for (const char* known : *names) {
      if (name == known) {
        error_ =
            ::oneop::sdk::Join({"The ", what, " ", name, " has been specified more than once."});
      }
    }
    if (count < 1) {
      error_ = ::oneop::sdk::Join({"The ", what, " ", name, " needs a count above 0."});
    }
    const char* kept = ::oneop::sdk::library.arena.CopyText(name);
    names->insert(names->end(), count < 1 ? 0 : count, kept);
    return *this;
  }

  std::shared_ptr<UserOpExpr> op_;
  std::string error_;
};

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_OP_BUILDER_H_
