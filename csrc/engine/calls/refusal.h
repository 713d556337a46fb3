// refusal.h: what is said of a call whose arguments do not fit its op. The same words in every
// host.
#pragma once

#include <string>
#include <vector>

#include "engine/ops/defs.h"

namespace oneop {

// Throws ArgumentError: `op "x"`, the text, and where the op is defined.
[[noreturn]] void refuse_argument(const OpDef& op, const std::string& text);

// `extra` are the names that the host adds to those of the op: output_counts, device.
[[noreturn]] void refuse_unknown_argument(const OpDef& op, const std::string& name,
                                          const std::vector<std::string>& extra);
[[noreturn]] void refuse_positions(const OpDef& op, size_t found);
// `name` is the one by which it was given the second time.
[[noreturn]] void refuse_twice(const OpDef& op, size_t argument, const std::string& name,
                               bool is_by_position);
[[noreturn]] void refuse_input(const OpDef& op, size_t input, const std::string& text);
// Throws unless the input takes so many tensors.
void check_input_count(const OpDef& op, size_t input, size_t found);
// Throws if an attribute that was not given has no default.
void check_default(const OpDef& op, const AttrDef& attr);
// Throws unless there is a count for each output.
void check_output_counts(const OpDef& op, size_t found);

// What a value of this attribute is called in messages; `dtype` is the host's word for one.
std::string expected_text(const AttrDef& attr, const std::string& dtype);
// Throws unless a list has the length that the definition fixes.
void check_length(const OpDef& op, const AttrDef& attr, const AttrValue& value);
// The text about a value that an attribute does not take.
std::string attr_refusal(const OpDef& op, const AttrDef& attr, const std::string& expected,
                         const std::string& found);

// The text about a missing gradient; `advice` says how the host's callers do without one.
std::string missing_gradient_text(const OpDef& op, const std::string& advice);

}  // namespace oneop
