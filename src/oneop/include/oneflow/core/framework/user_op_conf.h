// One op of a graph: its names, arguments and attributes; and how to build one.
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_CONF_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_CONF_H_

#include "oneop/sdk/context.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// <op>/<argument>_<index>, as OneFlow names the tensors of a graph.
ONEOP_COLD inline std::string BlobName(std::string_view op, std::string_view arg, int32_t index) {
  std::string name(op);
  name.append("/").append(arg).append("_");
  AppendInt(&name, index);
  return name;
}

// An op that an author built. Linked lists, because they are short and need no template.
struct BuiltOp {
  struct Blob {
    const char* arg;
    int32_t index;
    std::string name;
    Blob* next;
  };
  struct Attribute {
    oneop_attr attr;
    Attribute* next;
  };

  explicit BuiltOp(std::string_view op_name) : name(op_name) {}
  BuiltOp(const BuiltOp&) = delete;
  BuiltOp& operator=(const BuiltOp&) = delete;
  ONEOP_COLD ~BuiltOp() {
    Drop(inputs);
    Drop(outputs);
    while (attrs != nullptr) {
      Attribute* next = attrs->next;
      delete attrs;
      attrs = next;
    }
    arena.Free();
  }
  static void Drop(Blob* blob) {
    while (blob != nullptr) {
      Blob* next = blob->next;
      delete blob;
      blob = next;
    }
  }
  static const Blob* Find(const Blob* blob, std::string_view arg, int32_t index) {
    for (; blob != nullptr; blob = blob->next) {
      if (blob->index == index && SameName(blob->arg, arg)) {
        return blob;
      }
    }
    return nullptr;
  }
  static int32_t Count(const Blob* blob, std::string_view arg) {
    int32_t count = 0;
    for (; blob != nullptr; blob = blob->next) {
      count += SameName(blob->arg, arg) ? 1 : 0;
    }
    return count;
  }
  ONEOP_COLD void Add(Blob** list, std::string_view arg, std::string_view blob_name) {
    Blob** end = list;
    while (*end != nullptr) {
      end = &(*end)->next;
    }
    const int32_t index = Count(*list, arg);
    *end =
        new Blob{arena.CopyText(arg), index,
                 blob_name.empty() ? BlobName(name, arg, index) : std::string(blob_name), nullptr};
  }
  const oneop_attr* FindAttr(std::string_view attr_name) const {
    for (const Attribute* a = attrs; a != nullptr; a = a->next) {
      if (SameName(a->attr.name, attr_name)) {
        return &a->attr;
      }
    }
    return nullptr;
  }
  [[noreturn]] ONEOP_COLD void ThrowNoBlob(const Blob* list, const char* what, std::string_view arg,
                                           int32_t index) const {
    std::string text("op \"");
    text.append(type.empty() ? name : type).append("\" was built without ").append(what);
    text.append(" \"").append(arg).append("\" of index ");
    AppendInt(&text, index);
    text.append("; its ").append(what).append("s are: ");
    if (list == nullptr) {
      text.append("none");
    }
    for (const Blob* b = list; b != nullptr; b = b->next) {
      text.append(b == list ? "" : ", ").append(b->arg);
      if (b->index != 0) {
        AppendInt(&text.append(" "), b->index);
      }
    }
    Throw(oneflow::Error(ONEOP_ERROR_INDEX, nullptr, 0, text));
  }

  int32_t references = 1;
  std::string name;
  std::string type;
  Blob* inputs = nullptr;
  Blob* outputs = nullptr;
  Attribute* attrs = nullptr;
  Arena arena;
  KeptList kept;            // attributes that were asked for
  BuiltOp* next = nullptr;  // in the list of a gradient
  int32_t first_blob = -1;  // the number of its first output there
};

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

namespace oneflow ONEOP_HIDDEN {
namespace user_op {

class OpArg {
 public:
  OpArg(std::string name, int32_t index) : name_(std::move(name)), index_(index) {}
  const std::string& name() const { return name_; }
  int32_t index() const { return index_; }

 private:
  std::string name_;
  int32_t index_;
};

// Either the op that a callback is about (a view of its frame) or one that was built.
class UserOpConfWrapper {
 public:
  explicit UserOpConfWrapper(oneop_frame* frame) : frame_(frame) {}
  explicit UserOpConfWrapper(::oneop::sdk::BuiltOp* built) : built_(built) { ++built_->references; }
  ONEOP_COLD UserOpConfWrapper(const UserOpConfWrapper& other)
      : frame_(other.frame_), built_(other.built_) {
    if (built_ != nullptr) {
      ++built_->references;
    }
  }
  UserOpConfWrapper& operator=(UserOpConfWrapper other) {
    std::swap(frame_, other.frame_);
    std::swap(built_, other.built_);
    std::swap(names_, other.names_);
    kept_.Swap(&other.kept_);
    return *this;
  }
  ONEOP_COLD ~UserOpConfWrapper() {
    if (built_ != nullptr && --built_->references == 0) {
      delete built_;
    }
    ::oneop::sdk::BuiltOp::Drop(names_);
  }

  std::string op_name() const { return built_ != nullptr ? built_->name : frame_->op_name; }
  std::string op_type_name() const {
    return built_ != nullptr ? built_->type : frame_->op_type_name;
  }
  const UserOpConfWrapper& op_conf() const { return *this; }
  const UserOpConfWrapper& user_op_conf() const { return *this; }

  const std::string& input(std::string_view arg, int32_t index) const {
    return Blob(arg, index, ::oneop::sdk::kInput);
  }
  const std::string& output(std::string_view arg, int32_t index) const {
    return Blob(arg, index, ::oneop::sdk::kOutput);
  }
  bool has_input(std::string_view arg, int32_t index) const {
    if (built_ != nullptr) {
      return built_->Find(built_->inputs, arg, index) != nullptr;
    }
    return ::oneop::sdk::FindTensor(frame_, arg, index, ::oneop::sdk::kInput) >= 0;
  }
  bool has_output(std::string_view arg, int32_t index) const {
    if (built_ != nullptr) {
      return built_->Find(built_->outputs, arg, index) != nullptr;
    }
    return ::oneop::sdk::FindTensor(frame_, arg, index, ::oneop::sdk::kOutput) >= 0;
  }
  int32_t input_size(std::string_view arg) const {
    return built_ != nullptr ? built_->Count(built_->inputs, arg) : Size(arg, ::oneop::sdk::kInput);
  }
  int32_t output_size(std::string_view arg) const {
    return built_ != nullptr ? built_->Count(built_->outputs, arg)
                             : Size(arg, ::oneop::sdk::kOutput);
  }

  // A number, or a reference that lives as long as this object, or as the op that was built.
  template <class T>
  ::oneop::sdk::AttrResult<T> attr(std::string_view name) const {
    if (built_ == nullptr) {
      return ::oneop::sdk::ReadAttrOf<T>(::oneop::sdk::NeedAttr<T>(frame_, name), &kept_);
    }
    const oneop_attr* attr = built_->FindAttr(name);
    if (attr == nullptr) {
      ::oneop::sdk::Throw(Error(ONEOP_ERROR_VALUE, nullptr, 0)
                          << "op \"" << built_->type << "\" was built without attribute \"" << name
                          << "\"");
    }
    if (!::oneop::sdk::IsAttrOf<T>(*attr)) {
      ::oneop::sdk::ThrowAttrType(built_->type.c_str(), attr, ::oneop::sdk::AttrTraits<T>::kType);
    }
    return ::oneop::sdk::ReadAttrOf<T>(attr, &built_->kept);
  }
  template <class T>
  T attr_or_default(std::string_view name, const T& otherwise) const {
    const bool there = built_ != nullptr ? built_->FindAttr(name) != nullptr
                                         : ::oneop::sdk::FindAttr(frame_, name) != nullptr;
    return there ? attr<T>(name) : otherwise;
  }

  ::oneop::sdk::BuiltOp* OneopBuilt() const { return built_; }

 protected:
  oneop_frame* frame_ = nullptr;

 private:
  // Authors keep the reference, so names of the frame's blobs are made once and stay.
  ONEOP_COLD const std::string& Blob(std::string_view arg, int32_t index, int side) const {
    const bool is_input = side == ::oneop::sdk::kInput;
    if (built_ != nullptr) {
      const auto* list = is_input ? built_->inputs : built_->outputs;
      const auto* blob = built_->Find(list, arg, index);
      if (blob == nullptr) {
        built_->ThrowNoBlob(list, is_input ? "input" : "output", arg, index);
      }
      return blob->name;
    }
    ::oneop::sdk::NeedTensor(frame_, arg, index, side);
    const auto* blob = ::oneop::sdk::BuiltOp::Find(names_, arg, index);
    if (blob == nullptr) {
      const char* name = ::oneop::sdk::FindArg(frame_, arg, side)->name;
      names_ = new ::oneop::sdk::BuiltOp::Blob{
          name, index, ::oneop::sdk::BlobName(frame_->op_name, arg, index), names_};
      blob = names_;
    }
    return blob->name;
  }
  int32_t Size(std::string_view arg, int side) const {
    const oneop_arg* found = ::oneop::sdk::FindArg(frame_, arg, side);
    return found == nullptr ? 0 : found->count;
  }

  ::oneop::sdk::BuiltOp* built_ = nullptr;
  mutable ::oneop::sdk::BuiltOp::Blob* names_ = nullptr;
  mutable ::oneop::sdk::KeptList kept_;
};

class UserOpConfWrapperBuilder {
 public:
  ONEOP_COLD explicit UserOpConfWrapperBuilder(std::string_view op_name)
      : op_(new ::oneop::sdk::BuiltOp(op_name)) {
    op_.OneopBuilt()->references = 1;  // held by op_ alone
  }
  UserOpConfWrapperBuilder& OpTypeName(std::string_view type) {
    op_.OneopBuilt()->type = std::string(type);
    return *this;
  }
  UserOpConfWrapperBuilder& Op(std::string_view type) { return OpTypeName(type); }
  UserOpConfWrapperBuilder& InputBind(std::string_view arg, std::string_view blob) {
    op_.OneopBuilt()->Add(&op_.OneopBuilt()->inputs, arg, blob);
    return *this;
  }
  UserOpConfWrapperBuilder& Input(std::string_view arg, std::string_view blob) {
    return InputBind(arg, blob);
  }
  UserOpConfWrapperBuilder& Output(std::string_view arg, int32_t count = 1) {
    for (int32_t i = 0; i < count; ++i) {
      op_.OneopBuilt()->Add(&op_.OneopBuilt()->outputs, arg, {});
    }
    return *this;
  }
  template <class T>
  UserOpConfWrapperBuilder& Attr(std::string_view name, const T& value) {
    ::oneop::sdk::BuiltOp* op = op_.OneopBuilt();
    auto* attribute = new ::oneop::sdk::BuiltOp::Attribute{{}, op->attrs};
    op->attrs = attribute;
    ::oneop::sdk::PutAttr(&attribute->attr, op->arena.CopyText(name), value, &op->arena);
    return *this;
  }
  UserOpConfWrapperBuilder& ScopeSymbolId(int64_t) { return *this; }
  UserOpConfWrapperBuilder& DeviceTag(std::string_view) { return *this; }
  UserOpConfWrapper Build() { return op_; }

 private:
  UserOpConfWrapper op_;
};
using BackwardOpBuilder = UserOpConfWrapperBuilder;

// The definition of an op, for SetCheckAttrFn.
class UserOpDefWrapper {
 public:
  explicit UserOpDefWrapper(const oneop_op_def* def) : def_(def) {}
  std::string name() const { return def_->name; }
  bool IsInputArgName(std::string_view name) const {
    return HasArg(def_->inputs, def_->num_inputs, name);
  }
  bool IsOutputArgName(std::string_view name) const {
    return HasArg(def_->outputs, def_->num_outputs, name);
  }
  bool IsAttrName(std::string_view name) const {
    for (int32_t i = 0; i != def_->num_attrs; ++i) {
      if (::oneop::sdk::SameName(def_->attrs[i]->name, name)) {
        return true;
      }
    }
    return false;
  }

 private:
  static bool HasArg(const oneop_arg_def* const* args, int32_t count, std::string_view name) {
    for (int32_t i = 0; i != count; ++i) {
      if (::oneop::sdk::SameName(args[i]->name, name)) {
        return true;
      }
    }
    return false;
  }
  const oneop_op_def* def_;
};

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_CONF_H_
