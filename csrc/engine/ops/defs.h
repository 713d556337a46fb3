// defs.h: what a registration says. OpDef, KernelDef and GradDef are the records everything else is
// derived from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/ops/codes.h"
#include "engine/ops/values.h"

namespace oneop {

// What works on torch's tensors, and so cannot be a callback of the ABI. tensor_rules.h
class SymbolicInference;
class TensorKernel;
class GradRule;
class ForwardRule;

struct Source {
  std::string file;
  int32_t line = 0;
  std::string library;  // what it was loaded from, and with that what replaces it

  std::string text() const { return file + ":" + std::to_string(line); }
  bool is_python() const { return library.rfind("python:", 0) == 0; }
};

struct ArgDef {
  std::string name;
  int32_t count = 1;
  bool count_is_minimum = false;
  bool is_optional = false;
  bool on_host = false;       // an input that kernels of every device read in host memory
  uint32_t dynamic_axes = 0;  // of an output, bit i: its size along axis i depends on data
  bool has_gaps = false;      // items of the list may be None; see gap_attr

  bool is_list() const { return count != 1 || count_is_minimum; }
  bool takes(int64_t given) const {
    return (given == 0 && is_optional) || (count_is_minimum ? given >= count : given == count);
  }
  std::string counts_text() const;  // "exactly 1 tensor", "none or at least 5 tensors"
};

struct AttrDef {
  std::string name;
  int32_t type = 0;
  bool has_default = false;
  bool is_optional = false;    // the value may be None (ONEOP_ATTR_NONE)
  bool is_positional = false;  // calls may give it by position, after the inputs
  int32_t list_size = 0;       // the length that a list must have; 0: any
  AttrValue default_value;

  bool takes_type(int32_t of_value) const {
    return of_value == type || (is_optional && of_value == ONEOP_ATTR_NONE) ||
           (type == ONEOP_ATTR_SCALAR && is_scalar_kind(of_value));
  }
  bool takes_length(const AttrValue& value) const {
    return list_size == 0 || value.type == ONEOP_ATTR_NONE || value.list_length() == list_size;
  }
  std::string type_text() const;     // "int64", "list of int64 of length 2"
  std::string default_text() const;  // "" where there is none
};

// The flags of one tensor argument, as modify_inputs and modify_outputs leave them.
struct ArgTraits {
  bool is_mutable = false;
  bool requires_grad = true;
};

// `in` is a keyword for Python and for torch's schema parser: such names get an underscore.
std::string schema_name(const std::string& name);
// That of an attribute, which torch sees among keywords: `device_` for `device` too.
std::string attr_schema_name(const std::string& name);

// A flag of the host's own beside ONEOP_OP_..., set at registration: some output has dynamic axes.
constexpr uint32_t kDynamicOutputs = 1u << 31;

struct OpDef {
  std::string name;
  Source source;
  uint32_t flags = 0;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  std::vector<ArgTraits> input_traits;  // one for each argument, filled in at registration
  std::vector<ArgTraits> output_traits;
  oneop_op_def abi{};                                 // callbacks
  std::shared_ptr<void> owner;                        // keeps what the callbacks need
  std::shared_ptr<const SymbolicInference> symbolic;  // null: symbolic sizes become numbers

  bool has_flag(uint32_t flag) const { return (flags & flag) != 0; }
  // An op that gives nothing back is called for what it does.
  bool has_side_effect() const { return has_flag(ONEOP_OP_SIDE_EFFECT) || outputs.empty(); }
  // True where the definition says that the size of an output depends on data.
  bool has_dynamic_outputs() const { return has_flag(kDynamicOutputs); }
  // True where the number of outputs is not fixed by the definition.
  bool has_open_outputs() const;
  // The attribute that says which items of an input are given, -1 where none may be left out.
  int32_t gap_attr(size_t input) const;
  std::vector<std::string> input_names() const;
  std::vector<std::string> output_names() const;
  std::vector<std::string> attr_names() const;
};

struct Fact {
  int32_t kind = ONEOP_FACT_OTHER;
  int32_t value = 0;
  int32_t index = 0;
  std::string arg;
  std::string text;
};

struct KernelDef {
  std::string op_type_name;
  Source source;
  uint32_t flags = 0;
  int32_t priority = 0;
  std::vector<Fact> facts;
  std::string predicate;
  std::string language = "c++";
  oneop_kernel_def abi{};
  std::shared_ptr<void> owner;
  std::shared_ptr<const TensorKernel> on_tensors;  // takes the call's tensors in place of a frame
  bool holds_gil = false;                          // most of its time is Python's
};

struct GradDef {
  std::string op_type_name;
  std::string package;  // whose ops its backward ops are looked up among first, "" if none
  Source source;
  oneop_grad_def abi{};
  std::shared_ptr<void> owner;
  std::shared_ptr<const GradRule> rule;  // in place of a generator
  std::shared_ptr<const GradDef> eager;  // a second one, for eager mode, which is only compared
};

// Forward-mode differentiation.
struct ForwardDef {
  std::string op_type_name;
  Source source;
  std::shared_ptr<const ForwardRule> rule;
};

// The name of an op that a package ships, "pkg__gelu" for "gelu" of "pkg": torch's have no dots.
std::string packaged_name(const std::string& package, const std::string& name);

struct FunctionDef;  // functions.h

struct LibraryDefs {
  std::string library;
  std::vector<std::shared_ptr<OpDef>> ops;
  std::vector<std::shared_ptr<KernelDef>> kernels;
  std::vector<std::shared_ptr<GradDef>> grads;
  std::vector<std::shared_ptr<ForwardDef>> forwards;
  std::vector<std::shared_ptr<const FunctionDef>> functions;
};

}  // namespace oneop
