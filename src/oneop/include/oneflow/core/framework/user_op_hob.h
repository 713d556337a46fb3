// Predicates that say for which devices, dtypes and attributes a kernel is.
#ifndef ONEFLOW_CORE_FRAMEWORK_USER_OP_HOB_H_
#define ONEFLOW_CORE_FRAMEWORK_USER_OP_HOB_H_

#include "oneflow/core/framework/op_kernel.h"

ONEOP_INTERFACE

namespace oneflow ONEOP_HIDDEN {
namespace hob {

using user_op::KernelRegContext;

enum class Kind { kTrue, kFalse, kDevice, kDtype, kOther, kAnd, kOr, kNot };

// A predicate is a tree of nodes that live as long as the library, like the registration that they
// belong to.
struct Node {
  Kind kind = Kind::kTrue;
  int32_t value = 0;            // kDevice, kDtype: what the tensor must have
  int32_t index = 0;            // kDtype
  const char* arg = nullptr;    // kDtype
  const Node* left = nullptr;   // kAnd, kOr, kNot
  const Node* right = nullptr;  // kAnd, kOr
  ::oneop::sdk::KeptFn<bool(const KernelRegContext&)> test;  // kOther
  const char* text = "";

  ONEOP_COLD bool Holds(const KernelRegContext& ctx) const {
    switch (kind) {
      case Kind::kTrue:
        return true;
      case Kind::kFalse:
        return false;
      case Kind::kDevice:
        return ctx.device_type() == value;
      case Kind::kDtype: {
        const oneop_frame* frame = ctx.oneop_frame_ptr();
        const int32_t number = ::oneop::sdk::FindTensor(frame, arg, index);
        return number >= 0 && ::oneop::sdk::TensorAt(frame, number)->dtype == value;
      }
      case Kind::kOther:
        return test(ctx);
      case Kind::kAnd:
        return left->Holds(ctx) && right->Holds(ctx);
      case Kind::kOr:
        return left->Holds(ctx) || right->Holds(ctx);
      case Kind::kNot:
        return !left->Holds(ctx);
    }
    return false;
  }
};

// A condition: what SetIsMatchedHob takes.
class Expr {
 public:
  explicit Expr(const Node* node) : node_(node) {}
  const Node* node() const { return node_; }
  std::string DebugStr() const { return node_->text; }
  std::string ToString() const { return node_->text; }
  bool operator()(const KernelRegContext& ctx) const { return node_->Holds(ctx); }

 private:
  const Node* node_;
};

using Pieces = std::initializer_list<std::string_view>;
ONEOP_COLD inline Node* NewNode(Kind kind, Pieces text) {
  Node* node = new Node;
  node->kind = kind;
  node->text = ::oneop::sdk::library.arena.Join(text);
  return node;
}
ONEOP_COLD inline Expr Combine(Kind kind, const Expr& a, const Expr& b) {
  const char* word = kind == Kind::kAnd ? " && " : " || ";
  Node* node = NewNode(kind, {"(", a.node()->text, word, b.node()->text, ")"});
  node->left = a.node();
  node->right = b.node();
  return Expr(node);
}
inline Expr operator&(const Expr& a, const Expr& b) { return Combine(Kind::kAnd, a, b); }
inline Expr operator&&(const Expr& a, const Expr& b) { return Combine(Kind::kAnd, a, b); }
inline Expr operator|(const Expr& a, const Expr& b) { return Combine(Kind::kOr, a, b); }
inline Expr operator||(const Expr& a, const Expr& b) { return Combine(Kind::kOr, a, b); }
ONEOP_COLD inline Expr operator!(const Expr& a) {
  Node* node = NewNode(Kind::kNot, {"!(", a.node()->text, ")"});
  node->left = a.node();
  return Expr(node);
}
inline Expr operator~(const Expr& a) { return !a; }

template <class Test>
Expr Other(Pieces text, const Test& test) {
  Node* node = NewNode(Kind::kOther, text);
  node->test = test;
  return Expr(node);
}

// --- Values to compare ---

// A value read from the context.
template <class T>
class Value {
 public:
  Value(std::string text, std::shared_ptr<::oneop::sdk::Fn<T(const KernelRegContext&)>> get)
      : text_(std::move(text)), get_(std::move(get)) {}
  const std::string& text() const { return text_; }
  T Get(const KernelRegContext& ctx) const { return (*get_)(ctx); }
  operator Expr() const {  // NOLINT: implicit, for a value that is itself a condition
    static_assert(std::is_convertible_v<T, bool>, "only a bool is a condition by itself");
    return Other({text_},
                 [value = *this](const KernelRegContext& ctx) -> bool { return value.Get(ctx); });
  }

 private:
  std::string text_;
  std::shared_ptr<::oneop::sdk::Fn<T(const KernelRegContext&)>> get_;
};

template <class T, class F>
Value<T> MakeValue(std::string text, F get) {
  using Box = ::oneop::sdk::Fn<T(const KernelRegContext&)>;
  return Value<T>(std::move(text), std::make_shared<Box>(std::move(get)));
}

#define ONEOP_HOB_COMPARE(op)                                                                     \
  template <class T, class U, class = std::enable_if_t<std::is_convertible_v<const U&, T>>>       \
  Expr operator op(const Value<T>& a, const U& b) {                                               \
    std::string text;                                                                             \
    ::oneop::sdk::AppendValue(&text, static_cast<T>(b));                                          \
    return Other({a.text(), " " #op " ", text},                                                   \
                 [a, b = static_cast<T>(b)](const KernelRegContext& ctx) -> bool {                \
                   return a.Get(ctx) op b;                                                        \
                 });                                                                              \
  }                                                                                               \
  template <class T>                                                                              \
  Expr operator op(const Value<T>& a, const Value<T>& b) {                                        \
    return Other({a.text(), " " #op " ", b.text()}, [a, b](const KernelRegContext& ctx) -> bool { \
      return a.Get(ctx) op b.Get(ctx);                                                            \
    });                                                                                           \
  }
ONEOP_HOB_COMPARE(==)
ONEOP_HOB_COMPARE(!=)
ONEOP_HOB_COMPARE(<)
ONEOP_HOB_COMPARE(<=)
ONEOP_HOB_COMPARE(>)
ONEOP_HOB_COMPARE(>=)
#undef ONEOP_HOB_COMPARE

inline Expr operator&(const Value<bool>& a, const Expr& b) { return Expr(a) & b; }
inline Expr operator&&(const Value<bool>& a, const Expr& b) { return Expr(a) & b; }
inline Expr operator|(const Value<bool>& a, const Expr& b) { return Expr(a) | b; }
inline Expr operator||(const Value<bool>& a, const Expr& b) { return Expr(a) | b; }
inline Expr operator!(const Value<bool>& a) { return !Expr(a); }
inline Expr operator~(const Value<bool>& a) { return !Expr(a); }

template <class F>
auto make_custom(std::string text, F fn) {
  using T = std::decay_t<decltype(fn(std::declval<const KernelRegContext&>()))>;
  return MakeValue<T>(std::move(text), std::move(fn));
}
template <class F>
auto make_custom(F fn) {
  return make_custom("custom", std::move(fn));
}

// The two that nearly every kernel uses are facts that the host can read, and cost no template.
class DeviceValue {};
ONEOP_COLD inline Expr DeviceIs(DeviceType type) {
  Node* node = NewNode(Kind::kDevice, {"device_type == ", OneopEnumName(type)});
  node->value = type;
  return Expr(node);
}
inline Expr operator==(DeviceValue, DeviceType type) { return DeviceIs(type); }
inline Expr operator!=(DeviceValue, DeviceType type) { return !DeviceIs(type); }

class DeviceTagValue {};
inline DeviceType DeviceTypeOfTag(std::string_view tag) {
  return tag == "cpu" ? kCPU : tag == "gpu" || tag == "cuda" ? kCUDA : kInvalidDevice;
}
inline Expr operator==(DeviceTagValue, std::string_view tag) {
  return DeviceIs(DeviceTypeOfTag(tag));
}
inline Expr operator!=(DeviceTagValue, std::string_view tag) {
  return !DeviceIs(DeviceTypeOfTag(tag));
}
inline Expr operator==(DeviceTagValue, DeviceType type) { return DeviceIs(type); }
inline Expr operator!=(DeviceTagValue, DeviceType type) { return !DeviceIs(type); }

class DtypeValue {
 public:
  DtypeValue(std::string_view arg, int32_t index)
      : arg_(::oneop::sdk::library.arena.CopyText(arg)), index_(index) {}
  ONEOP_COLD const char* text() const {
    return ::oneop::sdk::library.arena.Join(
        {"data_type(\"", arg_, "\", ", ::oneop::sdk::Digits(index_), ")"});
  }
  ONEOP_COLD Expr Is(DataType type) const {
    Node* node = NewNode(Kind::kDtype, {text(), " == ", OneopEnumName(type)});
    node->value = type;
    node->arg = arg_;
    node->index = index_;
    return Expr(node);
  }
  // kInvalidDataType for an absent tensor
  DataType Get(const KernelRegContext& ctx) const {
    const oneop_frame* frame = ctx.oneop_frame_ptr();
    const int32_t number = ::oneop::sdk::FindTensor(frame, arg_, index_);
    return number < 0 ? kInvalidDataType
                      : static_cast<DataType>(::oneop::sdk::TensorAt(frame, number)->dtype);
  }
  template <class F>
  Expr Compare(const char* op, DataType other, F holds) const {
    return Other({text(), op, OneopEnumName(other)},
                 [me = *this, other, holds](const KernelRegContext& ctx) {
                   const DataType type = me.Get(ctx);
                   return type != kInvalidDataType && holds(type, other);
                 });
  }
  template <class F>
  Expr Compare(const char* op, const DtypeValue& other, F holds) const {
    return Other({text(), op, other.text()},
                 [me = *this, other, holds](const KernelRegContext& ctx) {
                   const DataType a = me.Get(ctx), b = other.Get(ctx);
                   return a != kInvalidDataType && b != kInvalidDataType && holds(a, b);
                 });
  }

 private:
  const char* arg_;
  int32_t index_;
};
inline Expr operator==(const DtypeValue& a, DataType type) { return a.Is(type); }
template <class = void>
Expr operator!=(const DtypeValue& a, DataType type) {
  return a.Compare(" != ", type, [](DataType x, DataType y) { return x != y; });
}
template <class B, class = std::enable_if_t<std::is_same_v<B, DtypeValue>>>
Expr operator==(const DtypeValue& a, const B& b) {
  return a.Compare(" == ", b, [](DataType x, DataType y) { return x == y; });
}
template <class B, class = std::enable_if_t<std::is_same_v<B, DtypeValue>>>
Expr operator!=(const DtypeValue& a, const B& b) {
  return a.Compare(" != ", b, [](DataType x, DataType y) { return x != y; });
}

}  // namespace hob

namespace user_op {

inline hob::DeviceValue HobDeviceType() { return {}; }
inline hob::DeviceTagValue HobDeviceTag() { return {}; }
inline hob::DtypeValue HobDataType(std::string_view arg, int32_t index) { return {arg, index}; }
inline hob::Expr HobTrue() { return hob::Expr(hob::NewNode(hob::Kind::kTrue, {"true"})); }
inline hob::Expr HobFalse() { return hob::Expr(hob::NewNode(hob::Kind::kFalse, {"false"})); }

template <class T>
hob::Value<T> HobAttr(std::string name) {
  std::string text = "attr(\"" + name + "\")";
  return hob::MakeValue<T>(std::move(text), [name = std::move(name)](const KernelRegContext& ctx) {
    return ctx.template Attr<T>(name);
  });
}
template <class = void>
hob::Value<std::string> HobDeviceSubTag() {
  return HobAttr<std::string>("device_sub_tag");
}
template <class = void>
hob::Value<int32_t> HobInputSize(std::string name) {
  std::string text = "input_size(\"" + name + "\")";
  return hob::MakeValue<int32_t>(
      std::move(text),
      [name = std::move(name)](const KernelRegContext& ctx) { return ctx.input_size(name); });
}
// Read when a kernel is chosen, not when the library is loaded.
template <class = void>
hob::Value<bool> HobEnvBool(std::string name, bool otherwise) {
  std::string text = "env(\"" + name + "\")";
  return hob::MakeValue<bool>(
      std::move(text), [name = std::move(name), otherwise](const KernelRegContext&) {
        const char* value = std::getenv(name.c_str());
        if (value == nullptr) {
          return otherwise;
        }
        const char first = value[0];
        return first == '1' || first == 't' || first == 'T' || first == 'y' || first == 'Y' ||
               std::string_view(value) == "on" || std::string_view(value) == "ON";
      });
}
template <class T, class F>
hob::Value<T> HobCtxGetter(std::string text, F fn) {
  return hob::MakeValue<T>(std::move(text), std::move(fn));
}

}  // namespace user_op
}  // namespace oneflow ONEOP_HIDDEN

#endif  // ONEFLOW_CORE_FRAMEWORK_USER_OP_HOB_H_
