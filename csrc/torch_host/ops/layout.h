// layout.h: the schema of an op, and where things are on the dispatcher's stack.
#pragma once

#include <ATen/core/enum_tag.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

#include <memory>
#include <vector>

#include "engine/ops/defs.h"
#include "engine/ops/keyed_cache.h"

namespace oneop {

// The arguments on the stack: inputs, attributes, then `output_counts` and `device` for the ops
// that have them.
struct Layout {
  Layout();
  const int64_t id;  // of no other layout ever, so that it can be remembered in place of an address

  enum class Input { kTensor, kOptional, kList };

  std::shared_ptr<const OpDef> op;
  std::vector<Input> inputs;
  std::vector<int32_t> fixed_output_counts;
  int32_t num_args = 0;
  int32_t first_attr = 0;
  int32_t num_positional = 0;      // attributes that a call may give by position
  int32_t output_counts_arg = -1;  // ops whose number of outputs is open return one list
  int32_t device_arg = -1;         // ops that may be called without any tensor
  bool mutates = false;
  bool has_host_inputs = false;
  bool has_gaps = false;                   // an input is a list of which items may be None
  int32_t schema_version = 0;              // another one: other arguments
  std::vector<c10::IValue> attr_defaults;  // none where there is no default
  std::vector<PlanKey> attr_default_keys;  // the words that the defaults have in a call's key
  c10::IValue default_output_counts;

  bool returns_list() const { return output_counts_arg >= 0; }
};

c10::FunctionSchema make_schema(const OpDef& op, Layout* layout);
// What torch's compilers are told of an op with this schema and these flags.
std::vector<at::Tag> schema_tags(const c10::FunctionSchema& schema, uint32_t flags);

// Throws unless the stack fits the layout: a call by torch.ops may have met a redefinition.
void check_stack(const Layout& layout, const torch::jit::Stack& stack);

}  // namespace oneop
