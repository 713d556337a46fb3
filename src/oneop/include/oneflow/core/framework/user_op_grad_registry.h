// REGISTER_USER_OP_GRAD, the ops that make up a gradient.
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_GRAD_REGISTRY_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_GRAD_REGISTRY_H_

#include "oneflow/core/framework/user_op_conf.h"
#include "oneop/sdk/function.h"
#include "oneop/sdk/guard.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// The gradient of one call while it is being described. Authors speak of blobs by name and in any
// order; the host wants numbers and ops after what they read. So everything is kept, and sent at
// the end.
class GradGraph {
 public:
  explicit GradGraph(oneop_frame* frame) : frame_(frame) {}
  GradGraph(const GradGraph&) = delete;
  GradGraph& operator=(const GradGraph&) = delete;
  ONEOP_COLD ~GradGraph() {
    while (ops_ != nullptr) {
      BuiltOp* next = ops_->next;
      if (--ops_->references == 0) {
        delete ops_;
      }
      ops_ = next;
    }
    while (binds_ != nullptr) {
      Bind* next = binds_->next;
      delete binds_;
      binds_ = next;
    }
  }

  ONEOP_COLD void Add(BuiltOp* op) {
    if (op->type.empty()) {
      Fail() << "the gradient of op \"" << frame_->op_type_name << "\" builds op \"" << op->name
             << "\" without OpTypeName" << Done();
    }
    BuiltOp** end = &ops_;
    for (; *end != nullptr; end = &(*end)->next) {
      if (*end == op) {
        return;
      }
      if ((*end)->name == op->name) {
        Fail() << "op_name " << op->name << " has been defined." << Done();
      }
    }
    ++op->references;
    *end = op;
  }
  ONEOP_COLD void BindGrad(int32_t input, std::string_view blob) {
    for (const Bind* b = binds_; b != nullptr; b = b->next) {
      if (b->input == input) {
        Fail() << "the gradient of op \"" << frame_->op_type_name << "\" binds one input twice"
               << Done();
      }
    }
    binds_ = new Bind{input, std::string(blob), binds_};
  }
  std::string OutputGradName(std::string_view arg, int32_t index) const {
    return BlobName(frame_->op_name, arg, index).append("_grad");
  }

  ONEOP_COLD void Send(oneop_grad_sink* sink, oneop_status* status) {
    int32_t next_blob = frame_->num_input_tensors + 2 * frame_->num_output_tensors;
    for (BuiltOp* sent = ops_; sent != nullptr;) {
      sent = nullptr;
      bool waiting = false;
      for (BuiltOp* op = ops_; op != nullptr; op = op->next) {
        if (op->first_blob >= 0) {
          continue;
        }
        if (!IsReady(op)) {
          waiting = true;
          continue;
        }
        op->first_blob = next_blob;
        next_blob += SendOp(op, sink, status);
        sent = op;
      }
      if (!waiting) {
        break;
      }
    }
    for (const BuiltOp* op = ops_; op != nullptr; op = op->next) {
      if (op->first_blob < 0) {
        FailUnknownInput(op);
      }
    }
    for (const Bind* bind = binds_; bind != nullptr; bind = bind->next) {
      const int32_t blob = NumberOf(bind->blob);
      if (blob < 0) {
        Fail() << "the gradient of op \"" << frame_->op_type_name << "\" binds \"" << bind->blob
               << "\", which no op of it makes" << Done();
      }
      if (const int32_t code = sink->bind(sink, bind->input, blob, status)) {
        throw code;
      }
    }
  }

 private:
  struct Bind {
    int32_t input;
    std::string blob;
    Bind* next;
  };
  struct Done {};
  struct Failure {
    oneflow::Error error = oneflow::Error(ONEOP_ERROR_RUNTIME, nullptr, 0);
    template <class T>
    Failure& operator<<(const T& value) {
      error << value;
      return *this;
    }
    [[noreturn]] void operator<<(const Done&) { Throw(error); }
  };
  static Failure Fail() { return {}; }

  // The number of a blob by its name, -1 if no such blob has been made yet.
  ONEOP_COLD int32_t NumberOf(std::string_view name) const {
    const auto find = [&](const oneop_arg* args, int32_t count, const char* ending, int32_t base) {
      for (int32_t i = 0; i != count; ++i) {
        const oneop_arg* arg = ArgAt(frame_, args, i);
        for (int32_t k = 0; k != arg->count; ++k) {
          if (BlobName(frame_->op_name, arg->name, k).append(ending) == name) {
            return base + arg->first + k;
          }
        }
      }
      return -1;
    };
    for (const BuiltOp* op = ops_; op != nullptr; op = op->next) {
      if (op->first_blob < 0) {
        continue;
      }
      int32_t number = op->first_blob;
      for (const BuiltOp::Blob* out = op->outputs; out != nullptr; out = out->next, ++number) {
        if (out->name == name) {
          return number;
        }
      }
    }
    int32_t number = find(frame_->inputs, frame_->num_inputs, "", 0);
    if (number < 0) {
      number = find(frame_->outputs, frame_->num_outputs, "", 0);
    }
    if (number < 0) {
      number = find(frame_->outputs, frame_->num_outputs, "_grad", frame_->num_output_tensors);
    }
    return number;
  }
  ONEOP_COLD bool IsReady(const BuiltOp* op) const {
    for (const BuiltOp::Blob* in = op->inputs; in != nullptr; in = in->next) {
      if (NumberOf(in->name) < 0) {
        return false;
      }
    }
    return true;
  }
  ONEOP_COLD void FailUnknownInput(const BuiltOp* op) const {
    for (const BuiltOp::Blob* in = op->inputs; in != nullptr; in = in->next) {
      if (NumberOf(in->name) >= 0) {
        continue;
      }
      Fail() << "the gradient of op \"" << frame_->op_type_name << "\" gives \"" << in->name
             << "\" to input \"" << in->arg << "\" of op \"" << op->type
             << "\", but nothing makes a blob of that name" << Done();
    }
  }
  // Returns the number of outputs.
  ONEOP_COLD int32_t SendOp(const BuiltOp* op, oneop_grad_sink* sink, oneop_status* status) {
    int32_t num_inputs = 0, num_outputs = 0, num_attrs = 0;
    for (auto* in = op->inputs; in != nullptr; in = in->next) {
      ++num_inputs;
    }
    for (auto* out = op->outputs; out != nullptr; out = out->next) {
      ++num_outputs;
    }
    for (auto* attr = op->attrs; attr != nullptr; attr = attr->next) {
      ++num_attrs;
    }
    BuiltOp lists(op->name);  // for its arena
    auto* inputs =
        static_cast<oneop_grad_input*>(lists.arena.Allocate(sizeof(oneop_grad_input) * num_inputs));
    auto* outputs = static_cast<oneop_grad_output*>(
        lists.arena.Allocate(sizeof(oneop_grad_output) * num_outputs));
    auto* attrs = static_cast<oneop_attr*>(lists.arena.Allocate(sizeof(oneop_attr) * num_attrs));
    int32_t i = 0;
    for (auto* in = op->inputs; in != nullptr; in = in->next) {
      inputs[i++] = {in->arg, NumberOf(in->name), 0};
    }
    int32_t num_args = 0;
    for (auto* out = op->outputs; out != nullptr; out = out->next) {
      if (num_args != 0 && SameName(outputs[num_args - 1].arg, out->arg)) {
        ++outputs[num_args - 1].count;
      } else {
        outputs[num_args++] = {out->arg, 1, 0};
      }
    }
    i = num_attrs;  // the list has the last one first
    for (auto* attr = op->attrs; attr != nullptr; attr = attr->next) {
      attrs[--i] = attr->attr;
    }
    oneop_grad_op out{};
    out.size = sizeof out;
    out.num_inputs = num_inputs;
    out.num_outputs = num_args;
    out.num_attrs = num_attrs;
    out.op_name = op->name.c_str();
    out.op_type_name = op->type.c_str();
    out.inputs = inputs;
    out.outputs = outputs;
    out.attrs = attrs;
    if (const int32_t code = sink->add_op(sink, &out, status)) {
      throw code;
    }
    return num_outputs;
  }

  oneop_frame* frame_;
  BuiltOp* ops_ = nullptr;
  Bind* binds_ = nullptr;
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace user_op {

// The forward op, seen from its gradient.
class UserOpWrapper : public UserOpConfWrapper {
 public:
  UserOpWrapper(oneop_frame* frame, ::oneop::sdk::GradGraph* graph)
      : UserOpConfWrapper(frame), graph_(graph), descs_(frame) {}

  ONEOP_COLD std::string output_grad(std::string_view arg, int32_t index) const {
    ::oneop::sdk::NeedTensor(frame_, arg, index, ::oneop::sdk::kOutput);
    return graph_->OutputGradName(arg, index);
  }
  std::string GetGradTensorWithOpOutput(std::string_view arg, int32_t index) const {
    return output_grad(arg, index);
  }
  bool HasGradTensor4OpOutput(std::string_view arg, int32_t index) const {
    const int32_t number = ::oneop::sdk::NeedTensor(frame_, arg, index, ::oneop::sdk::kOutput);
    return frame_->output_has_grad == nullptr ||
           frame_->output_has_grad[number - frame_->num_input_tensors] != 0;
  }
  ONEOP_COLD bool NeedGenGradTensor4OpInput(std::string_view arg, int32_t index) const {
    const int32_t number = Input(arg, index);
    return number >= 0 &&
           (frame_->input_needs_grad == nullptr || frame_->input_needs_grad[number] != 0);
  }
  ONEOP_COLD void BindGradTensorWithOpInput(std::string_view blob, std::string_view arg,
                                            int32_t index) const {
    const int32_t number = Input(arg, index);
    if (number >= 0) {
      graph_->BindGrad(number, blob);
    }
  }
  // Calls fn, which gives the name of a blob, only if that gradient is wanted.
  template <class F>
  void InputGradBind(const OpArg& input, const F& fn) const {
    if (!NeedGenGradTensor4OpInput(input.name(), input.index())) {
      return;
    }
    const std::string& blob = fn();
    graph_->BindGrad(Input(input.name(), input.index()), blob);
  }

  const TensorDesc& arg_tensor_desc(std::string_view arg, int32_t index) const {
    return descs_.Need(arg, index);
  }
  const TensorDesc& TensorDesc4ArgNameAndIndex(std::string_view arg, int32_t index) const {
    return descs_.Need(arg, index);
  }

 private:
  struct Descs : ::oneop::sdk::Context {
    using Context::Context;
    const TensorDesc& Need(std::string_view arg, int32_t index) const {
      return KeptDesc(::oneop::sdk::TensorAt(frame_, ::oneop::sdk::NeedTensor(frame_, arg, index)));
    }
  };
  // -1 for an optional input that was not given; an error for one that the op does not have.
  int32_t Input(std::string_view arg, int32_t index) const {
    const oneop_arg* found = ::oneop::sdk::FindArg(frame_, arg, ::oneop::sdk::kInput);
    if (found != nullptr && found->count == 0) {
      return -1;
    }
    return ::oneop::sdk::NeedTensor(frame_, arg, index, ::oneop::sdk::kInput);
  }

  ::oneop::sdk::GradGraph* graph_;
  Descs descs_;
};

class BackwardOpConfContext {
 public:
  BackwardOpConfContext(oneop_frame* frame, ::oneop::sdk::GradGraph* graph)
      : graph_(graph), fw_op_(frame, graph) {}
  BackwardOpConfContext(const BackwardOpConfContext&) = delete;
  BackwardOpConfContext& operator=(const BackwardOpConfContext&) = delete;
  ONEOP_COLD ~BackwardOpConfContext() {
    while (defined_ != nullptr) {
      Defined* next = defined_->next;
      delete defined_;
      defined_ = next;
    }
  }

  UserOpWrapper& FwOp() { return fw_op_; }

  // Only remembers fn: an op that no GetOp asks for is never built.
  template <class F>
  void DefineOp(std::string_view name, const F& fn) {
    if (Find(name) != nullptr) {
      ::oneop::sdk::Throw(Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
                          << "op_name " << name << " has been defined.");
    }
    defined_ = new Defined{std::string(name), fn, nullptr, defined_};
  }
  ONEOP_COLD UserOpConfWrapper& GetOp(std::string_view name) {
    Defined* defined = Find(name);
    if (defined == nullptr) {
      ::oneop::sdk::Throw(Error(ONEOP_ERROR_RUNTIME, nullptr, 0)
                          << "op_name " << name << " has no builder function.");
    }
    if (defined->op == nullptr) {
      BackwardOpBuilder builder(name);
      defined->op = new UserOpConfWrapper(defined->build(builder));
      graph_->Add(defined->op->OneopBuilt());
    }
    return *defined->op;
  }

 private:
  struct Defined {
    std::string name;
    ::oneop::sdk::Fn<UserOpConfWrapper(BackwardOpBuilder&)> build;
    UserOpConfWrapper* op;
    Defined* next;
    ~Defined() { delete op; }
  };
  Defined* Find(std::string_view name) const {
    Defined* defined = defined_;
    while (defined != nullptr && defined->name != name) {
      defined = defined->next;
    }
    return defined;
  }

  ::oneop::sdk::GradGraph* graph_;
  UserOpWrapper fw_op_;
  Defined* defined_ = nullptr;
};

// What the older form is given to add its ops with.
class AddOpFn {
 public:
  explicit AddOpFn(::oneop::sdk::GradGraph* graph) : graph_(graph) {}
  void operator()(const UserOpConfWrapper& op) const { graph_->Add(op.OneopBuilt()); }

 private:
  ::oneop::sdk::GradGraph* graph_;
};

class OpGradRegistry {
 public:
  OpGradRegistry(std::string_view op_type_name, const char* file, int32_t line) {
    def_.size = sizeof def_;
    def_.line = line;
    def_.file = file;
    def_.op_type_name = ::oneop::sdk::library.arena.CopyText(op_type_name);
    def_.self = this;
    ::oneop::sdk::library.grads.Add(&def_);
  }

  template <class F>
  OpGradRegistry& SetBackwardOpConfGenFn(const F& fn) {
    generate_ = fn;
    def_.generate = &Generate;
    return *this;
  }
  template <class F>
  OpGradRegistry& SetGenBackwardOpConfFn(const F& fn) {
    generate_old_ = fn;
    def_.generate = &Generate;
    return *this;
  }

 private:
  ONEOP_COLD static int32_t Generate(void* self, oneop_frame* frame, oneop_grad_sink* sink,
                                     oneop_status* status) {
    const OpGradRegistry* me = static_cast<OpGradRegistry*>(self);
    const ::oneop::sdk::Place place{me->def_.file, me->def_.line};
    try {
      ::oneop::sdk::GradGraph graph(frame);
      if (me->generate_) {
        BackwardOpConfContext ctx(frame, &graph);
        ::oneop::sdk::ThrowIfError(me->generate_(&ctx));
      } else {
        const UserOpWrapper op(frame, &graph);
        ::oneop::sdk::ThrowIfError(me->generate_old_(op, AddOpFn(&graph)));
      }
      graph.Send(sink, status);
      return ONEOP_OK;
    } catch (int32_t reported) {  // by the host's own function
      return reported;
    } catch (...) {
      return ::oneop::sdk::ReportCurrentException(frame, status, place);
    }
  }

  oneop_grad_def def_{};
  ::oneop::sdk::KeptFn<Maybe<void>(BackwardOpConfContext*)> generate_;
  ::oneop::sdk::KeptFn<Maybe<void>(const UserOpWrapper&, AddOpFn)> generate_old_;
};

ONEOP_COLD inline OpGradRegistry& NewGrad(std::string_view op_type_name, const char* file,
                                          int32_t line) {
  return *new OpGradRegistry(op_type_name, file, line);  // lives as long as the library
}

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#define REGISTER_USER_OP_GRAD(name)                                         \
  static const ::oneop::sdk::Registered ONEOP_CAT(oneop_grad_, __COUNTER__) \
      __attribute__((unused)) = ::oneflow::user_op::NewGrad(name, __FILE__, __LINE__)

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_GRAD_REGISTRY_H_
