// A line of axes, `b k, k n -> b n`: inference, and the SBP signatures that it implies.
//
// As in Python's infer=: axes with the same name have the same size; a name on the right that no
// input has is an int attribute; an axis that the right lacks is summed over; `...` stands for any
// axes, the same everywhere; a number for an axis of that size; an axis in brackets is mixed, and
// never split.
#ifndef ONEOP_OP_AXES_H_
#define ONEOP_OP_AXES_H_

#include "oneop/op/record.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

constexpr int kMostAxes = 8;  // of one tensor in a line
constexpr int kMostNames = 32;

struct AxesRule {
  static constexpr int kEllipsis = -1;
  struct Tensor {
    int axes[kMostAxes];  // a number of a name, or kEllipsis
    int count = 0;

    bool has_ellipsis() const {
      for (int i = 0; i < count; ++i) {
        if (axes[i] == kEllipsis) {
          return true;
        }
      }
      return false;
    }
  };
  std::string_view text;
  Tensor tensors[2 * kMostArguments];  // inputs, then outputs
  std::string_view names[kMostNames];
  bool is_mixed[kMostNames] = {};
  bool ellipsis_is_mixed = false;
  int num_names = 0;
  int num_inputs = 0;
  int num_tensors = 0;

  bool IsNumber(int name) const { return Cursor::IsDigit(names[name][0]); }
  // Of at most 18 digits, which the parser has seen to.
  int64_t NumberAt(int name) const {
    int64_t value = 0;
    for (const char c : names[name]) {
      value = value * 10 + (c - '0');
    }
    return value;
  }
  bool HaveOneShape() const {
    for (int t = 1; t < num_tensors; ++t) {
      bool is_like_first = tensors[t].count == tensors[0].count;
      for (int i = 0; is_like_first && i < tensors[t].count; ++i) {
        is_like_first = tensors[t].axes[i] == tensors[0].axes[i];
      }
      if (!is_like_first) {
        return false;
      }
    }
    return true;
  }
};

class AxesParser {
 public:
  AxesParser(const OpRecord& record, const char* text) : record_(record), cursor_{text} {
    rule_ = new AxesRule;
    rule_->text = text;
  }
  // Null after noting a mistake.
  ONEOP_COLD const AxesRule* Parse() {
    if (!Side(record_.schema->num_inputs, "inputs")) {
      return nullptr;
    }
    rule_->num_inputs = rule_->num_tensors;
    if (!cursor_.Take("->")) {
      return Fail("expected ->, as in b k, k n -> b n", {});
    }
    if (!Side(record_.schema->num_outputs, "outputs")) {
      return nullptr;
    }
    for (int t = rule_->num_inputs; t < rule_->num_tensors; ++t) {
      for (int i = 0; i < rule_->tensors[t].count; ++i) {
        const int name = rule_->tensors[t].axes[i];
        if (name != AxesRule::kEllipsis && !IsKnown(name)) {
          return Fail("no input has that axis, and no int attribute has that name",
                      rule_->names[name]);
        }
      }
    }
    return rule_;
  }

 private:
  const AxesRule* Fail(std::string_view problem, std::string_view culprit) {
    const std::string_view place = culprit.empty() ? cursor_.text.substr(cursor_.at) : culprit;
    record_.Mistake({"cannot read its axes", Pointed(cursor_.text, place), "\n  ", problem});
    return nullptr;
  }
  ONEOP_COLD bool Side(int wanted, std::string_view what) {
    int count = 0;
    do {
      if (count == kMostArguments || !Tensor(&rule_->tensors[rule_->num_tensors])) {
        return false;
      }
      ++rule_->num_tensors;
      ++count;
    } while (cursor_.Take(","));
    if (count == 1 && wanted == 0 && rule_->tensors[rule_->num_tensors - 1].count == 0) {
      count = 0;
      --rule_->num_tensors;
    }
    if (count != wanted) {
      Fail(sdk::Join({"expected ", sdk::Digits(wanted), " ", what, " as in the schema, found ",
                      sdk::Digits(count)}),
           {});
      return false;
    }
    return true;
  }
  ONEOP_COLD bool Tensor(AxesRule::Tensor* tensor) {
    bool is_inside = false;
    for (;;) {
      if (cursor_.Take(is_inside ? "]" : "[")) {
        is_inside = !is_inside;
        continue;
      }
      int name = AxesRule::kEllipsis;
      if (cursor_.Take("...")) {
        if (tensor->has_ellipsis()) {
          Fail("... stands for any axes, once in a tensor", {});
          return false;
        }
        rule_->ellipsis_is_mixed = rule_->ellipsis_is_mixed || is_inside;
      } else {
        const std::string_view word = Name();
        if (word.empty()) {
          break;
        }
        name = NumberOf(word);
        if (!IsRight(word, name)) {
          return false;
        }
        rule_->is_mixed[name] = rule_->is_mixed[name] || is_inside;
      }
      if (tensor->count == kMostAxes) {
        Fail("a tensor has at most 8 axes in a line", {});
        return false;
      }
      tensor->axes[tensor->count++] = name;
    }
    if (is_inside) {
      Fail("expected the bracket that ends the mixed axes", {});
    }
    return !is_inside;
  }
  std::string_view Name() {
    cursor_.SkipSpace();
    const size_t begin = cursor_.at;
    while (Cursor::IsLetter(cursor_.Next()) || Cursor::IsDigit(cursor_.Next())) {
      ++cursor_.at;
    }
    return cursor_.text.substr(begin, cursor_.at - begin);
  }
  int NumberOf(std::string_view word) {
    for (int i = 0; i < rule_->num_names; ++i) {
      if (rule_->names[i] == word) {
        return i;
      }
    }
    if (rule_->num_names == kMostNames) {
      return -1;
    }
    rule_->names[rule_->num_names] = word;
    return rule_->num_names++;
  }
  ONEOP_COLD bool IsRight(std::string_view word, int name) {
    if (name < 0) {
      Fail("a line has at most 32 different axes", word);
      return false;
    }
    bool is_number = word.size() <= 18;
    for (const char c : word) {
      is_number = is_number && Cursor::IsDigit(c);
    }
    if (rule_->IsNumber(name) && !is_number) {
      Fail("expected a name, or a number of at most 18 digits", word);
      return false;
    }
    return true;
  }
  bool IsKnown(int name) const {
    for (int t = 0; t < rule_->num_inputs; ++t) {
      for (int i = 0; i < rule_->tensors[t].count; ++i) {
        if (rule_->tensors[t].axes[i] == name) {
          return true;
        }
      }
    }
    for (int i = 0; i < record_.schema->num_attrs; ++i) {
      if (record_.schema->attrs[i].name == rule_->names[name] &&
          record_.schema->attrs[i].type == ONEOP_ATTR_INT64 &&
          !record_.schema->attrs[i].is_optional) {
        return true;
      }
    }
    return rule_->IsNumber(name);
  }

  const OpRecord& record_;
  Cursor cursor_;
  AxesRule* rule_;
};

// The axes of a call: `...` has become so many axes.
class BoundAxes {
 public:
  ONEOP_COLD BoundAxes(const AxesRule& rule, const oneop_frame* frame)
      : rule_(rule), frame_(frame) {
    for (int64_t& size : sizes_) {
      size = -1;
    }
    if (frame->num_input_tensors != rule.num_inputs) {
      Refuse({"its axes \"", rule.text, "\" are for a tensor in each input"});
    }
    for (int t = 0; t < rule.num_inputs; ++t) {
      BindInput(t);
    }
  }
  // The number of hidden axes stands for `...`.
  int hidden() const { return hidden_ < 0 ? 0 : hidden_; }

  ONEOP_COLD void PutOutputs(int32_t dtype) const {
    for (int t = rule_.num_inputs; t < rule_.num_tensors; ++t) {
      int64_t shape[ONEOP_MAX_DIMS];
      int32_t ndim = 0;
      for (int i = 0; i < rule_.tensors[t].count; ++i) {
        const int name = rule_.tensors[t].axes[i];
        const int added = name == AxesRule::kEllipsis ? hidden() : 1;
        if (ndim + added > ONEOP_MAX_DIMS) {
          Refuse({"its axes \"", rule_.text, "\" give an output more than ",
                  sdk::Digits(ONEOP_MAX_DIMS), " axes"});
        }
        for (int k = 0; k < added; ++k) {
          shape[ndim++] = name == AxesRule::kEllipsis ? hidden_sizes_[k] : SizeOf(name);
        }
      }
      PutOutput(sdk::TensorAt(frame_, t), shape, ndim, dtype);
    }
  }

 private:
  ONEOP_COLD int64_t SizeOf(int name) const {
    if (sizes_[name] >= 0) {
      return sizes_[name];
    }
    const std::string_view text = rule_.names[name];
    return rule_.IsNumber(name) ? rule_.NumberAt(name) : sdk::GetAttr<int64_t>(frame_, text);
  }
  ONEOP_COLD void BindInput(int t) {
    const AxesRule::Tensor& axes = rule_.tensors[t];
    const oneop_tensor& tensor = *sdk::TensorAt(frame_, t);
    const int hidden = tensor.ndim - axes.count + (axes.has_ellipsis() ? 1 : 0);
    const bool fits =
        axes.has_ellipsis() ? hidden >= 0 && (hidden_ < 0 || hidden_ == hidden) : hidden == 0;
    if (!fits) {
      Refuse({"its axes are \"", rule_.text, "\", input ", sdk::Digits(t), " has shape ",
              ShapeText(tensor)});
    }
    int32_t at = 0;
    for (int i = 0; i < axes.count; ++i) {
      if (axes.axes[i] != AxesRule::kEllipsis) {
        Bind(&sizes_[axes.axes[i]], axes.axes[i], tensor.shape[at++], t);
        continue;
      }
      for (int k = 0; k < hidden; ++k) {
        hidden_sizes_[k] = hidden_ < 0 ? -1 : hidden_sizes_[k];
        Bind(&hidden_sizes_[k], AxesRule::kEllipsis, tensor.shape[at++], t);
      }
      hidden_ = hidden;
    }
  }
  ONEOP_COLD void Bind(int64_t* known, int name, int64_t size, int input) {
    if (name != AxesRule::kEllipsis && rule_.IsNumber(name)) {
      *known = rule_.NumberAt(name);
    }
    if (*known >= 0 && *known != size) {
      const std::string_view text = name == AxesRule::kEllipsis ? "..." : rule_.names[name];
      Refuse({"its axes are \"", rule_.text, "\": axis ", text, " is ", sdk::Digits(*known),
              " and, in input ", sdk::Digits(input), ", ", sdk::Digits(size)});
    }
    *known = size;
  }

  const AxesRule& rule_;
  const oneop_frame* frame_;
  int64_t sizes_[kMostNames];
  int64_t hidden_sizes_[ONEOP_MAX_DIMS];
  int hidden_ = -1;
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_AXES_H_
