// arg_counts.cpp: what is said of a wrong number of tensors.
#include "engine/frames/arg_counts.h"

#include <string>

#include "engine/ops/abi_read.h"
#include "engine/ops/error.h"

namespace oneop {
namespace {

void check_side(const OpDef& op, const std::vector<ArgDef>& args,
                const std::vector<int32_t>& counts, const char* side) {
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_taken = args[i].takes(counts[i]);
    if (is_taken && counts[i] <= kMaxCount) {
      continue;
    }
    const std::string expected =
        is_taken ? "at most " + std::to_string(kMaxCount) + " tensors" : args[i].counts_text();
    throw Error("ArgumentError", "op " + in_quotes(op.name) + ", " + side + " " +
                                     in_quotes(args[i].name) + ": expected " + expected +
                                     ", found " + std::to_string(counts[i]) + "\n  defined at " +
                                     op.source.text());
  }
}

}  // namespace

int32_t total_count(const std::vector<int32_t>& counts) {
  int32_t sum = 0;
  for (int32_t count : counts) {
    sum += count;
  }
  return sum;
}

void check_counts(const OpDef& op, const std::vector<int32_t>& input_counts,
                  const std::vector<int32_t>& output_counts) {
  check_side(op, op.inputs, input_counts, "input");
  check_side(op, op.outputs, output_counts, "output");
}

void check_gap_count(const OpDef& op, size_t input, int64_t found, int64_t expected) {
  if (found != expected) {
    throw Error("ArgumentError",
                "op " + in_quotes(op.name) + ", input " + in_quotes(op.inputs[input].name) +
                    ": found " + std::to_string(found) + " tensors, and " +
                    in_quotes(op.attrs[op.gap_attr(input)].name) + " says that " +
                    std::to_string(expected) + " are given\n  defined at " + op.source.text());
  }
}

}  // namespace oneop
