// match.cpp: which kernel runs, and why no other.
#include "engine/plans/match.h"

#include <algorithm>

#include "engine/ops/error.h"
#include "engine/ops/host.h"

namespace oneop {
namespace {

std::string pad(std::string text, size_t width) {
  if (text.size() < width) {
    text.append(width - text.size(), ' ');
  }
  return text;
}

// What kernels of one op look like side by side.
struct Row {
  std::string device = "any device";
  std::string dtype = "any dtype";
  std::string where;
  std::string reason;
};

// The first condition that this call does not meet, expected and found.
std::string why_not(const KernelDef& kernel, const Frame& frame) {
  for (const Fact& fact : kernel.facts) {
    if (fact.kind == ONEOP_FACT_DEVICE && fact.value != frame.get().device_type) {
      return "the call is on " + device_name(frame.get().device_type) + ", the kernel is for " +
             device_name(fact.value);
    }
    if (fact.kind == ONEOP_FACT_DTYPE) {
      const oneop_tensor* tensor = frame.find(fact.arg, fact.index);
      if (tensor == nullptr) {
        return "it needs the argument " + in_quotes(fact.arg);
      }
      if (tensor->dtype != fact.value) {
        return in_quotes(fact.arg) + " is " + dtype_name(tensor->dtype) + ", the kernel is for " +
               dtype_name(fact.value);
      }
    }
  }
  std::string others;
  for (const Fact& fact : kernel.facts) {
    if (fact.kind == ONEOP_FACT_OTHER) {
      others += (others.empty() ? "" : " and ") + fact.text;
    }
  }
  if (others.empty()) {
    others = kernel.predicate.empty() ? "its predicate" : kernel.predicate;
  }
  return "does not hold: " + others;
}

Row row_of(const KernelDef& kernel) {
  Row row;
  std::string dtypes;
  for (const Fact& fact : kernel.facts) {
    if (fact.kind == ONEOP_FACT_DEVICE) {
      row.device = device_name(fact.value);
    }
    if (fact.kind == ONEOP_FACT_DTYPE) {
      dtypes += (dtypes.empty() ? "" : "/") + dtype_name(fact.value);
    }
  }
  if (!dtypes.empty()) {
    row.dtype = dtypes;
  }
  row.where = kernel.source.text();
  return row;
}

std::string table(const std::vector<Row>& rows) {
  constexpr size_t kShown = 6;
  size_t device = 0;
  size_t dtype = 0;
  for (const Row& row : rows) {
    device = std::max(device, row.device.size());
    dtype = std::max(dtype, row.dtype.size());
  }
  std::string text;
  for (size_t i = 0; i < rows.size() && i < kShown; ++i) {
    text += "\n    " + pad(rows[i].device, device) + "  " + pad(rows[i].dtype, dtype) + "  " +
            rows[i].where + "  " + rows[i].reason;
  }
  if (rows.size() > kShown) {
    text += "\n    and " + std::to_string(rows.size() - kShown) + " more: see oneop.show";
  }
  return text;
}

Error ambiguous(const OpRecord& record, const Frame& frame,
                const std::vector<std::shared_ptr<const KernelDef>>& ties) {
  std::vector<Row> rows;
  for (const auto& kernel : ties) {
    rows.push_back(row_of(*kernel));
    rows.back().reason = "priority " + std::to_string(kernel->priority);
  }
  return Error("AmbiguousKernelError",
               std::to_string(ties.size()) + " kernels of op " + in_quotes(record.op->name) +
                   " match with the same priority\n  " + frame.call_text() + table(rows) +
                   "\n  give one of them .SetPriority(n) or narrow its predicate");
}

// What withheld kernels that would take the call.
std::string requirement_text(uint32_t required) {
  const bool is_deterministic = (required & ONEOP_REQUIRE_DETERMINISTIC) != 0;
  const bool is_invariant = (required & ONEOP_REQUIRE_BATCH_INVARIANT) != 0;
  std::string text;
  if (is_deterministic || is_invariant) {
    text = "oneop.require(" + std::string(is_deterministic ? "deterministic=True" : "") +
           (is_deterministic && is_invariant ? ", " : "") +
           (is_invariant ? "batch_invariant=True)" : ")");
  }
  if ((required & kAvoidNondeterministic) != 0) {
    text += std::string(text.empty() ? "" : " and ") + "torch.use_deterministic_algorithms(True)";
  }
  return text;
}

Error withheld(const OpRecord& record, const Frame& frame, const std::vector<Row>& misses,
               uint32_t required) {
  return Error("KernelNotFoundError",
               "no kernel of op " + in_quotes(record.op->name) +
                   " gives what is required\n  in force: " + requirement_text(required) + "\n  " +
                   frame.call_text() + "\n  registered kernels:" + table(misses) +
                   "\n  declare what holds: register_kernel(..., deterministic=True, "
                   "batch_invariant=True)\n  in C++ .SetDeterministic().SetBatchInvariant(), in "
                   "oneop/op.h .deterministic().batch_invariant(); oneop check proves it");
}

// For torch's warn_only. Once for each kernel that is chosen for a new kind of call.
void warn(const KernelDef& kernel, const std::string& op) {
  const std::string text = "op " + op + ": the kernel at " + kernel.source.text() +
                           " is declared nondeterministic, and torch.use_deterministic_algorithms"
                           "(True, warn_only=True) is in force";
  host().warn(text);
}

Error no_kernel(const OpRecord& record, const Frame& frame, const std::vector<Row>& misses) {
  const oneop_frame& abi = frame.get();
  const int32_t dtype = abi.num_output_tensors > 0  ? frame.output(0).dtype
                        : abi.num_input_tensors > 0 ? abi.tensors[0].dtype
                                                    : 0;
  const std::string op = in_quotes(record.op->name);
  std::string text = "no kernel for op " + op + " on " + device_name(abi.device_type);
  if (dtype != 0) {
    text += ", dtype " + dtype_name(dtype);
  }
  text += "\n  " + frame.call_text();
  if (misses.empty()) {
    text += "\n  no kernel is registered at all";
  } else {
    text += "\n  registered kernels:" + table(misses);
  }
  text += "\n  add one: " +
          (record.op->source.is_python()
               ? "@oneop.ops." + record.op->name + ".register_kernel(...)"
               : "REGISTER_USER_KERNEL(" + op + "), in oneop/op.h OP(...).kernel") +
          ", or convert the inputs";
  if (abi.device_type == ONEOP_DEVICE_CUDA) {
    text += "\n  or let such calls run on the cpu, with copies: oneop.config.cpu_fallback(True)";
  }
  return Error("KernelNotFoundError", std::move(text));
}

}  // namespace

std::string requirement_missed(const KernelDef& kernel, uint32_t required) {
  const bool wants_deterministic = (required & ONEOP_REQUIRE_DETERMINISTIC) != 0;
  const bool is_refused = wants_deterministic || (required & kAvoidNondeterministic) != 0;
  std::string missed;
  if (is_refused && (kernel.flags & ONEOP_KERNEL_NONDETERMINISTIC) != 0) {
    missed = "is declared nondeterministic";
  } else if (wants_deterministic && (kernel.flags & ONEOP_KERNEL_DETERMINISTIC) == 0) {
    missed = "is not declared deterministic";
  }
  if ((required & ONEOP_REQUIRE_BATCH_INVARIANT) != 0 &&
      (kernel.flags & ONEOP_KERNEL_BATCH_INVARIANT) == 0) {
    missed += std::string(missed.empty() ? "" : ", and ") + "is not declared batch invariant";
  }
  return missed;
}

std::shared_ptr<const KernelDef> choose_kernel(const OpRecord& record, Frame* frame,
                                               uint32_t required) {
  const std::string op = in_quotes(record.op->name);
  if (record.op->has_flag(ONEOP_OP_CPU_ONLY) && frame->get().device_type != ONEOP_DEVICE_CPU) {
    throw Error("KernelNotFoundError", "op " + op + " runs on the cpu only, the call is on " +
                                           device_name(frame->get().device_type) +
                                           "\n  move its inputs: x.cpu()\n  defined at " +
                                           record.op->source.text());
  }
  std::shared_ptr<const KernelDef> best;
  std::vector<std::shared_ptr<const KernelDef>> ties;
  std::vector<Row> misses;
  bool is_withheld = false;
  for (const auto& kernel : record.kernels) {
    const oneop_kernel_def& abi = kernel->abi;
    int32_t matched = 1;
    Row row = row_of(*kernel);
    if (abi.is_matched != nullptr) {
      Status status;
      status.check(abi.is_matched(abi.self, frame->abi(), &matched, status.abi()),
                   "op " + op + ", predicate of the kernel at " + kernel->source.text());
    }
    if (matched == 0) {
      row.reason = why_not(*kernel, *frame);
      misses.push_back(std::move(row));
    } else if (std::string miss = requirement_missed(*kernel, required); !miss.empty()) {
      is_withheld = true;
      row.reason = "it " + miss;
      misses.push_back(std::move(row));
    } else if (best == nullptr || kernel->priority > best->priority) {
      best = kernel;
      ties = {kernel};
    } else if (kernel->priority == best->priority) {
      ties.push_back(kernel);
    }
  }
  if (ties.size() == 1) {
    return best;
  }
  if (!ties.empty()) {
    throw ambiguous(record, *frame, ties);
  }
  if (!is_withheld) {
    throw no_kernel(record, *frame, misses);
  }
  if ((required & kWarnOnly) == 0) {
    throw withheld(record, *frame, misses, required);
  }
  best = choose_kernel(record, frame, required & ~(kAvoidNondeterministic | kWarnOnly));
  if ((best->flags & ONEOP_KERNEL_NONDETERMINISTIC) != 0) {
    warn(*best, op);
  }
  return best;
}

}  // namespace oneop
