// OpExpr and UserOpExpr: an op with names for its inputs and outputs, ready to be called.
#ifndef ONEFLOW_CORE_FRAMEWORK_OP_EXPR_H_
#define ONEFLOW_CORE_FRAMEWORK_OP_EXPR_H_

#include "oneflow/core/framework/attr_map.h"
#include "oneflow/core/framework/tensor.h"

namespace oneflow ONEOP_HIDDEN {
namespace one {

class OpExpr {
 public:
  virtual ~OpExpr() = default;
  const std::string& op_type_name() const { return type_; }
  int input_size() const { return static_cast<int>(inputs_.size()); }
  int output_size() const { return static_cast<int>(outputs_.size()); }
  // The argument of each tensor.
  const std::vector<const char*>& oneop_inputs() const { return inputs_; }
  const std::vector<const char*>& oneop_outputs() const { return outputs_; }
  const AttrMap& oneop_base_attrs() const { return base_attrs_; }
  const void** OneopNote() const { return &note_; }
  // Of an expression that is no op of its own: what a call of it does instead.
  using OneopRun = Maybe<TensorTuple> (*)(const TensorTuple& inputs,
                                          const ::oneop::sdk::AttrStore* attrs);
  OneopRun oneop_run() const { return run_; }

  // The host's op. Looked up at the first call: it may belong to a library that is loaded later.
  const void* OneopFind() const {
    const void* op = __atomic_load_n(&op_, __ATOMIC_RELAXED);
    if (op == nullptr) {
      ::oneop::sdk::HostStatus status;
      op = ::oneop::sdk::Host()->find_op(type_.c_str(), &status.status);
      status.Check(op == nullptr ? ONEOP_ERROR_RUNTIME : ONEOP_OK);
      __atomic_store_n(&op_, op, __ATOMIC_RELAXED);
    }
    return op;
  }

 protected:
  std::string type_;
  std::vector<const char*> inputs_;
  std::vector<const char*> outputs_;
  AttrMap base_attrs_;
  OneopRun run_ = nullptr;
  mutable const void* op_ = nullptr;
  mutable const void* note_ = nullptr;
};

class UserOpExpr final : public OpExpr {
 public:
  UserOpExpr() = default;
  // The forward op of a gradient.
  ONEOP_COLD explicit UserOpExpr(const oneop_frame* frame) {
    base_attrs_ = AttrMap(frame);
    type_ = frame->op_type_name;
    Name(frame, frame->inputs, frame->num_inputs, &inputs_);
    Name(frame, frame->outputs, frame->num_outputs, &outputs_);
  }
  std::string op_name() const { return std::string(type_); }
  // What OneFlow's protobuf message is asked for: the attributes.
  const AttrMap& proto() const { return base_attrs_; }
  const AttrMap& base_attrs() const { return base_attrs_; }

 private:
  friend class OpBuilder;
  static void Name(const oneop_frame* frame, const oneop_arg* args, int32_t count,
                   std::vector<const char*>* names) {
    for (int32_t i = 0; i != count; ++i) {
      const oneop_arg* arg = ::oneop::sdk::ArgAt(frame, args, i);
      names->insert(names->end(), arg->count, arg->name);
    }
  }
};

}  // namespace one
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_OP_EXPR_H_
