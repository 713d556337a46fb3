// The text of a schema, `leaky_relu(Tensor x, *, float alpha=0.01) -> Tensor y`, and what it says.
//
// The grammar is that of oneop.define. It is read while the library is compiled, because functors
// are called with the types that it names; what is wrong with it is said when the library is
// loaded.
#ifndef ONEOP_OP_SCHEMA_H_
#define ONEOP_OP_SCHEMA_H_

#include <string_view>

#include "oneop/sdk/config.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

constexpr int kMostArguments = 16;   // inputs, outputs or attributes
constexpr int kMostTensors = 65536;  // as many as the ABI allows for one argument

struct TensorArg {
  std::string_view name;
  int count = 1;
  bool count_is_minimum = false;
  bool is_optional = false;
  bool is_mutable = false;
  bool has_gaps = false;   // Tensor?[]: items may be None
  std::string_view alias;  // the a of Tensor(a!)

  constexpr bool is_plain() const { return count == 1 && !count_is_minimum && !is_optional; }
};

struct AttrArg {
  std::string_view name;
  int type = 0;                // ONEOP_ATTR_*
  bool is_optional = false;    // the value may be None: std::optional for functors
  bool is_positional = false;  // calls may give it by position, after the inputs
  bool has_default = false;
  int list_size = 0;  // the length that a list must have; 0: any
  std::string_view default_text;
};

struct Schema {
  std::string_view text;
  std::string_view name;
  TensorArg inputs[kMostArguments];
  TensorArg outputs[kMostArguments];
  AttrArg attrs[kMostArguments];
  int num_inputs = 0;
  int num_outputs = 0;
  int num_attrs = 0;
  bool has_device = false;        // `Device? device=None` is written out
  const char* problem = nullptr;  // null: the schema is right
  std::string_view culprit;       // the part of the text that the problem is about

  constexpr bool has_only_plain_tensors() const {
    for (int i = 0; i < num_inputs; ++i) {
      if (!inputs[i].is_plain()) {
        return false;
      }
    }
    for (int i = 0; i < num_outputs; ++i) {
      if (!outputs[i].is_plain()) {
        return false;
      }
    }
    return true;
  }
  // Inputs that are changed in place; a functor returns their new elements after the outputs.
  constexpr int num_mutable() const {
    int count = 0;
    for (int i = 0; i < num_inputs; ++i) {
      count += inputs[i].is_mutable ? 1 : 0;
    }
    return count;
  }
};

struct AttrTypeName {
  std::string_view name;
  int type;
};
// The first of several names of a type is the one that messages use.
constexpr AttrTypeName kAttrTypes[] = {
    {"int32", ONEOP_ATTR_INT32},
    {"int", ONEOP_ATTR_INT64},
    {"bool", ONEOP_ATTR_BOOL},
    {"float32", ONEOP_ATTR_FLOAT},
    {"float", ONEOP_ATTR_DOUBLE},
    {"str", ONEOP_ATTR_STRING},
    {"shape", ONEOP_ATTR_SHAPE},
    {"dtype", ONEOP_ATTR_DTYPE},
    {"int32[]", ONEOP_ATTR_LIST_INT32},
    {"int[]", ONEOP_ATTR_LIST_INT64},
    {"float[]", ONEOP_ATTR_LIST_DOUBLE},
    {"float32[]", ONEOP_ATTR_LIST_FLOAT},
    {"dtype[]", ONEOP_ATTR_LIST_DTYPE},
    {"shape[]", ONEOP_ATTR_LIST_SHAPE},
    {"str[]", ONEOP_ATTR_LIST_STRING},
    {"complex", ONEOP_ATTR_COMPLEX_DOUBLE},
    {"bytes", ONEOP_ATTR_BYTES},
    {"bool[]", ONEOP_ATTR_LIST_BOOL},
    {"Scalar", ONEOP_ATTR_SCALAR},
    {"ScalarType", ONEOP_ATTR_DTYPE},
    {"ScalarType[]", ONEOP_ATTR_LIST_DTYPE},
    {"int64", ONEOP_ATTR_INT64},
    {"int64[]", ONEOP_ATTR_LIST_INT64},
    {"double", ONEOP_ATTR_DOUBLE},
    {"SymInt", ONEOP_ATTR_INT64},
    {"SymInt[]", ONEOP_ATTR_LIST_INT64},
    {"string", ONEOP_ATTR_STRING},
    {"string[]", ONEOP_ATTR_LIST_STRING},
};
constexpr int kNumAttrTypeNames = 19;  // those of messages

// Types of torch that schemas here have not, and what to write; as INSTEAD of
// oneop.authoring.other_forms.
struct Instead {
  std::string_view type;
  const char* problem;
};
constexpr Instead kInstead[] = {
    {"Layout", "there is no such type of attributes; write str k, and its name"},
    {"MemoryFormat", "there is no such type of attributes; write str k, and its name"},
    {"Stream",
     "there is no such type of attributes; leave it out: kernels run on torch's current stream"},
    {"Storage",
     "there is no such type of attributes; write Tensor x, and give a tensor of the storage"},
    {"Generator",
     "there is no such type of attributes; leave it out and say random: kernels draw from torch's "
     "generator"},
    {"QScheme", "there is no such type of attributes; write str k, and its name"},
    {"Dimname", "there is no such type of attributes; write str k"},
    {"Any",
     "there is no such type of attributes; write a type; a choice of several is an attribute for "
     "each, with a default"},
    {"Dict", "there is no such type of attributes; write two lists, of keys and of values"},
    {"DeviceIndex",
     "there is no such type of attributes; leave it out: the inputs say where it runs"},
    {"Capsule",
     "there is no such type of attributes; leave it out: an op takes tensors, numbers, texts, "
     "dtypes and lists of them"},
    {"NoneType", "there is no such type of attributes; leave it out: its value is always None"},
    {"None", "there is no such type of attributes; leave it out: its value is always None"},
    {"SymFloat", "there is no such type of attributes; write float k"},
    {"SymBool", "there is no such type of attributes; write bool k"},
    {"complex[]",
     "there is no such type of attributes; write float[] k, real and imaginary parts in turn"},
    {"Scalar[]", "there is no such type of attributes; write float[] k, or int[] k"},
};

constexpr std::string_view kInputNames[] = {"input0", "input1", "input2", "input3",
                                            "input4", "input5", "input6", "input7"};
constexpr std::string_view kOutputNames[] = {"out0", "out1", "out2", "out3",
                                             "out4", "out5", "out6", "out7"};
constexpr int kNumNames = 8;

// Whether a text stops inside of quotes.
constexpr bool EndsInText(std::string_view text) {
  char quote = '\0';
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote == '\0') {
      quote = c == '"' || c == '\'' ? c : quote;
    } else if (c == '\\') {
      ++at;
    } else if (c == quote) {
      quote = '\0';
    }
  }
  return quote != '\0';
}

// Walks through a text.
struct Cursor {
  std::string_view text;
  size_t at = 0;

  static constexpr bool IsLetter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  }
  static constexpr bool IsDigit(char c) { return c >= '0' && c <= '9'; }
  static constexpr bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  constexpr char Next() const { return at < text.size() ? text[at] : '\0'; }
  constexpr void SkipSpace() {
    while (at < text.size() && IsSpace(text[at])) {
      ++at;
    }
  }
  constexpr bool Take(std::string_view wanted) {
    SkipSpace();
    if (text.substr(at, wanted.size()) != wanted) {
      return false;
    }
    at += wanted.size();
    return true;
  }
  constexpr std::string_view Word() {
    SkipSpace();
    const size_t begin = at;
    while (at < text.size() && (IsLetter(text[at]) || (at != begin && IsDigit(text[at])))) {
      ++at;
    }
    return text.substr(begin, at - begin);
  }
  // -1 where no number stands.
  constexpr int Number() {
    int value = IsDigit(Next()) ? 0 : -1;
    while (IsDigit(Next())) {
      value = value > kMostTensors ? value : value * 10 + (text[at] - '0');
      ++at;
    }
    return value;
  }
  // Up to a comma or closing bracket that is in no brackets and no quotes.
  constexpr std::string_view Rest() {
    SkipSpace();
    const size_t begin = at;
    int depth = 0;
    char quote = '\0';
    for (; at < text.size(); ++at) {
      const char c = text[at];
      if (quote != '\0') {
        quote = c == quote ? '\0' : quote;
        at += c == '\\' ? 1 : 0;
      } else if (c == '"' || c == '\'') {
        quote = c;
      } else if (c == '(' || c == '[') {
        ++depth;
      } else if (c == ')' || c == ']') {
        if (--depth < 0) {
          break;
        }
      } else if (c == ',' && depth == 0) {
        break;
      }
    }
    size_t end = at;
    while (end > begin && IsSpace(text[end - 1])) {
      --end;
    }
    return text.substr(begin, end - begin);
  }
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_SCHEMA_H_
