// oneop/sdk/frame.h: finding arguments, tensors and attributes in a call frame. No allocation unless something fails.
#ifndef ONEOP_SDK_FRAME_H_
#define ONEOP_SDK_FRAME_H_

#include "oneflow/core/framework/attr_value.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// The elements of a frame's arrays may be larger than this SDK knows.
template <class T>
T* Element(T* array, uint32_t size, int64_t index) {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(array) + static_cast<int64_t>(size) * index);
}
inline oneop_tensor* TensorAt(const oneop_frame* frame, int64_t index) {
  return Element(frame->tensors, frame->tensor_size, index);
}
inline const oneop_arg* ArgAt(const oneop_frame* frame, const oneop_arg* args, int32_t index) {
  return Element(args, frame->arg_size, index);
}

// Names are a few characters long, so comparing in place beats a call.
inline bool SameName(const char* name, std::string_view wanted) {
  size_t i = 0;
  for (; i != wanted.size(); ++i) {
    if (name[i] != wanted[i] || name[i] == '\0') { return false; }
  }
  return name[i] == '\0';
}

enum Side { kInput = 1, kOutput = 2, kEither = 3 };

inline const oneop_arg* FindArg(const oneop_frame* frame, std::string_view name, int sides) {
  if (sides & kInput) {
    for (int32_t i = 0; i != frame->num_inputs; ++i) {
      const oneop_arg* arg = ArgAt(frame, frame->inputs, i);
      if (SameName(arg->name, name)) { return arg; }
    }
  }
  if (sides & kOutput) {
    for (int32_t i = 0; i != frame->num_outputs; ++i) {
      const oneop_arg* arg = ArgAt(frame, frame->outputs, i);
      if (SameName(arg->name, name)) { return arg; }
    }
  }
  return nullptr;
}

// The number of a tensor in the frame, -1 where there is none.
inline int32_t FindTensor(const oneop_frame* frame, std::string_view name, int32_t index,
                          int sides = kEither) {
  const oneop_arg* arg = FindArg(frame, name, sides);
  return arg != nullptr && index >= 0 && index < arg->count ? arg->first + index : -1;
}

ONEOP_COLD inline void AppendArgNames(std::string* text, const oneop_frame* frame, int sides) {
  bool first = true;
  const auto append = [&](const oneop_arg* args, int32_t count) {
    for (int32_t i = 0; i != count; ++i) {
      text->append(first ? "" : ", ").append(ArgAt(frame, args, i)->name);
      first = false;
    }
  };
  if (sides & kInput) { append(frame->inputs, frame->num_inputs); }
  if (sides & kOutput) { append(frame->outputs, frame->num_outputs); }
  if (first) { text->append("none"); }
}

// op "relu" has no output "y"; its outputs are: out
[[noreturn]] ONEOP_COLD inline void ThrowNoTensor(const oneop_frame* frame, std::string_view name,
                                                  int32_t index, int sides) {
  const char* what = sides == kInput ? "input" : sides == kOutput ? "output" : "argument";
  std::string text("op \"");
  text.append(frame->op_type_name);
  if (const oneop_arg* arg = FindArg(frame, name, sides)) {
    text.append("\" has ");
    AppendInt(&text, arg->count);
    text.append(arg->count == 1 ? " tensor" : " tensors").append(" in ").append(what);
    text.append(" \"").append(name).append("\", not one of index ");
    AppendInt(&text, index);
  } else {
    text.append("\" has no ").append(what).append(" \"").append(name).append("\"; its ");
    text.append(what).append("s are: ");
    AppendArgNames(&text, frame, sides);
  }
  Throw(oneflow::Error(ONEOP_ERROR_INDEX, nullptr, 0, text));
}

inline int32_t NeedTensor(const oneop_frame* frame, std::string_view name, int32_t index,
                          int sides = kEither) {
  const int32_t number = FindTensor(frame, name, index, sides);
  if (!ONEOP_LIKELY(number >= 0)) { ThrowNoTensor(frame, name, index, sides); }
  return number;
}

// --- Attributes ---

inline const oneop_attr* FindAttr(const oneop_frame* frame, std::string_view name) {
  for (int32_t i = 0; i != frame->num_attrs; ++i) {
    const oneop_attr* attr = Element(frame->attrs, frame->attr_size, i);
    if (SameName(attr->name, name)) { return attr; }
  }
  return nullptr;
}

[[noreturn]] ONEOP_COLD inline void ThrowNoAttr(const oneop_frame* frame, std::string_view name) {
  std::string text("op \"");
  text.append(frame->op_type_name).append("\" has no attribute \"").append(name);
  text.append("\"; its attributes are: ");
  for (int32_t i = 0; i != frame->num_attrs; ++i) {
    text.append(i == 0 ? "" : ", ").append(Element(frame->attrs, frame->attr_size, i)->name);
  }
  if (frame->num_attrs == 0) { text.append("none"); }
  Throw(oneflow::Error(ONEOP_ERROR_VALUE, nullptr, 0, text));
}

[[noreturn]] ONEOP_COLD inline void ThrowAttrType(const char* op, const oneop_attr* attr,
                                                  AttrType asked) {
  std::string text("attribute \"");
  text.append(attr->name).append("\" of op \"").append(op).append("\" is a ");
  text.append(OneopEnumName(static_cast<AttrType>(attr->type)));
  text.append(", the code asks for Attr<").append(OneopEnumName(asked)).append(">");
  Throw(oneflow::Error(ONEOP_ERROR_TYPE, nullptr, 0, text));
}

template <class T>
T GetAttr(const oneop_frame* frame, std::string_view name) {
  const oneop_attr* attr = FindAttr(frame, name);
  if (!ONEOP_LIKELY(attr != nullptr)) { ThrowNoAttr(frame, name); }
  if (!ONEOP_LIKELY(attr->type == AttrTraits<T>::kType)) {
    ThrowAttrType(frame->op_type_name, attr, AttrTraits<T>::kType);
  }
  return AttrTraits<T>::Get(*attr);
}

}  // namespace sdk
}  // namespace oneop

#endif  // ONEOP_SDK_FRAME_H_
