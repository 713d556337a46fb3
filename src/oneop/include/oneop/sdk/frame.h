// Finding arguments, tensors and attributes in a call frame. No allocation unless something fails.
#ifndef ONEOP_SDK_FRAME_H_
#define ONEOP_SDK_FRAME_H_

#include "oneflow/core/framework/attr_value.h"

ONEOP_INTERFACE

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

// What the program asks of kernels, ONEOP_REQUIRE_...; a host older than 1.8 asks nothing.
inline bool Requires(const oneop_frame* frame, uint32_t what) {
  return frame->size > offsetof(oneop_frame, required) && (frame->required & what) != 0;
}

// Names are a few characters long, so comparing in place beats a call.
inline bool SameName(const char* name, std::string_view wanted) {
  size_t i = 0;
  for (; i != wanted.size(); ++i) {
    if (name[i] != wanted[i] || name[i] == '\0') {
      return false;
    }
  }
  return name[i] == '\0';
}

enum Side { kInput = 1, kOutput = 2, kEither = 3 };

inline const oneop_arg* FindArg(const oneop_frame* frame, std::string_view name, int sides) {
  if (sides & kInput) {
    for (int32_t i = 0; i != frame->num_inputs; ++i) {
      const oneop_arg* arg = ArgAt(frame, frame->inputs, i);
      if (SameName(arg->name, name)) {
        return arg;
      }
    }
  }
  if (sides & kOutput) {
    for (int32_t i = 0; i != frame->num_outputs; ++i) {
      const oneop_arg* arg = ArgAt(frame, frame->outputs, i);
      if (SameName(arg->name, name)) {
        return arg;
      }
    }
  }
  return nullptr;
}

// The number of a tensor in the frame, -1 where there is none. Not inlined: a kernel asks several
// times, and a call costs less than compiling these loops again.
ONEOP_NOINLINE inline int32_t FindTensor(const oneop_frame* frame, std::string_view name,
                                         int32_t index, int sides = kEither) {
  const oneop_arg* arg = FindArg(frame, name, sides);
  return arg != nullptr && index >= 0 && index < arg->count ? arg->first + index : -1;
}

ONEOP_COLD inline void AppendArgNames(std::string* text, const oneop_frame* frame, int sides) {
  for (int side = kInput; side <= kOutput; ++side) {
    if ((sides & side) == 0) {
      continue;
    }
    const oneop_arg* args = side == kInput ? frame->inputs : frame->outputs;
    const int32_t count = side == kInput ? frame->num_inputs : frame->num_outputs;
    for (int32_t i = 0; i != count; ++i) {
      text->append(text->empty() ? "" : ", ").append(ArgAt(frame, args, i)->name);
    }
  }
  if (text->empty()) {
    text->append("none");
  }
}

// op "relu" has no output "y"; its outputs are: out
[[noreturn]] ONEOP_COLD inline void ThrowNoTensor(const oneop_frame* frame, std::string_view name,
                                                  int32_t index, int sides) {
  const char* what = sides == kInput ? "input" : sides == kOutput ? "output" : "argument";
  if (const oneop_arg* arg = FindArg(frame, name, sides)) {
    ThrowText(ONEOP_ERROR_INDEX, {"op \"", frame->op_type_name, "\" has ", Digits(arg->count),
                                  arg->count == 1 ? " tensor in " : " tensors in ", what, " \"",
                                  name, "\", not one of index ", Digits(index)});
  }
  std::string names;
  AppendArgNames(&names, frame, sides);
  ThrowText(ONEOP_ERROR_INDEX, {"op \"", frame->op_type_name, "\" has no ", what, " \"", name,
                                "\"; its ", what, "s are: ", names});
}

ONEOP_NOINLINE inline int32_t NeedTensor(const oneop_frame* frame, std::string_view name,
                                         int32_t index, int sides = kEither) {
  const int32_t number = FindTensor(frame, name, index, sides);
  if (!ONEOP_LIKELY(number >= 0)) {
    ThrowNoTensor(frame, name, index, sides);
  }
  return number;
}

// The same for an argument that need not be given: -1 then. A name that the op does not have, or an
// index beyond its tensors, is a mistake in the author's code, not an absent argument.
ONEOP_NOINLINE inline int32_t FindGivenTensor(const oneop_frame* frame, std::string_view name,
                                              int32_t index) {
  const oneop_arg* arg = FindArg(frame, name, kEither);
  if (ONEOP_LIKELY(arg != nullptr && index >= 0 && index < arg->count)) {
    return arg->first + index;
  }
  if (arg == nullptr || arg->count != 0) {
    ThrowNoTensor(frame, name, index, kEither);
  }
  return -1;
}

// The host may want to know what a callback looked at.
inline void NoteDescRead(const oneop_frame* frame) {
  if (frame->reads != nullptr) {
    frame->reads->shapes = 1;
    frame->reads->dtypes = 1;
  }
}

// --- Attributes ---

ONEOP_NOINLINE inline const oneop_attr* FindAttr(const oneop_frame* frame, std::string_view name) {
  for (int32_t i = 0; i != frame->num_attrs; ++i) {
    const oneop_attr* attr = Element(frame->attrs, frame->attr_size, i);
    if (SameName(attr->name, name)) {
      if (frame->reads != nullptr) {
        frame->reads->attrs |= uint64_t{1} << (i < 63 ? i : 63);
      }
      return attr;
    }
  }
  return nullptr;
}

[[noreturn]] ONEOP_COLD inline void ThrowNoAttr(const oneop_frame* frame, std::string_view name) {
  std::string names(frame->num_attrs == 0 ? "none" : "");
  for (int32_t i = 0; i != frame->num_attrs; ++i) {
    names.append(i == 0 ? "" : ", ").append(Element(frame->attrs, frame->attr_size, i)->name);
  }
  ThrowText(ONEOP_ERROR_VALUE, {"op \"", frame->op_type_name, "\" has no attribute \"", name,
                                "\"; its attributes are: ", names});
}

[[noreturn]] ONEOP_COLD inline void ThrowAttrType(const char* op, const oneop_attr* attr,
                                                  AttrType asked) {
  ThrowText(ONEOP_ERROR_TYPE, {"attribute \"", attr->name, "\" of op \"", op, "\" is a ",
                               OneopEnumName(static_cast<AttrType>(attr->type)),
                               ", the code asks for Attr<", OneopEnumName(asked), ">"});
}

template <class T>
const oneop_attr* NeedAttr(const oneop_frame* frame, std::string_view name) {
  const oneop_attr* attr = FindAttr(frame, name);
  if (!ONEOP_LIKELY(attr != nullptr)) {
    ThrowNoAttr(frame, name);
  }
  if (!ONEOP_LIKELY(IsAttrOf<T>(*attr))) {
    ThrowAttrType(frame->op_type_name, attr, AttrTraits<T>::kType);
  }
  return attr;
}
template <class T>
T GetAttr(const oneop_frame* frame, std::string_view name) {
  return AttrTraits<T>::Get(*NeedAttr<T>(frame, name));
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_FRAME_H_
