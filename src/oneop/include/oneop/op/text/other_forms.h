// Forms of torch's schemas that schemas here have not, and what to write instead; as
// oneop.authoring.other_forms.
#ifndef ONEOP_OP_TEXT_OTHER_FORMS_H_
#define ONEOP_OP_TEXT_OTHER_FORMS_H_

#include <string_view>

#include "oneop/sdk/config.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

struct OtherForm {
  std::string_view piece;
  const char* instead;
};
// How an argument begins.
constexpr OtherForm kBeginnings[] = {
    {"(", "a tuple is no attribute; write one for each item, or a list such as int[2] k"},
    {"...", "an op has a fixed number of arguments; write Tensor[] xs for any number of tensors"},
    {"*", "an op has a fixed number of arguments; write Tensor[] xs for any number of tensors"},
    {"Tensor[][]", "write Tensor[] xs, and an int[] of the lengths of the lists"},
    {"int[][]", "write shape[] k"},
    {"list[", "a list is written int[] k"},
    {"List[", "a list is written int[] k"},
    {"Sequence[", "a list is written int[] k"},
    {"Optional[", "what may be None is written int? k"},
};
// What stands anywhere in an argument.
constexpr OtherForm kParts[] = {
    {"[][]", "a list of lists is shape[] k, and holds ints alone"},
    {"?[",
     "only the items of Tensor?[] may be None; write two lists, of the values and of which are "
     "there"},
};
// How an output begins.
constexpr OtherForm kOutputForms[] = {
    {"None", "write -> () where nothing is returned"},
    {"...", "an op has a fixed number of outputs; write -> Tensor[] for any number of tensors"},
    {"(", "all outputs stand in one pair of brackets; write -> (Tensor, Tensor)"},
};

constexpr const char* kEmptyArgument = "a comma has no argument before or after it; leave it out";
constexpr const char* kViewArgument =
    "a view; only Tensor(a!), which is changed in place, is possible; write Tensor x, and return a "
    "copy";

// What is said of an argument that cannot be read; `usual` of one that is in no table.
constexpr const char* InsteadOf(std::string_view part, const char* usual) {
  for (const OtherForm& form : kBeginnings) {
    if (part.substr(0, form.piece.size()) == form.piece) {
      return form.instead;
    }
  }
  for (const OtherForm& form : kParts) {
    if (part.find(form.piece) != std::string_view::npos) {
      return form.instead;
    }
  }
  return usual;
}
// The same of an output, or nullptr.
constexpr const char* InsteadOfOutput(std::string_view part) {
  for (const OtherForm& form : kOutputForms) {
    if (part.substr(0, form.piece.size()) == form.piece) {
      return form.instead;
    }
  }
  return nullptr;
}

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_TEXT_OTHER_FORMS_H_
