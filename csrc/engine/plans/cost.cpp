// cost.cpp: asking an op for its count, and checking the answer.
#include "engine/plans/cost.h"

#include <cmath>
#include <sstream>

#include "engine/ops/error.h"

namespace oneop {

double count_operations(const OpRecord& record, const CallSpec& spec) {
  const OpDef& op = *record.op;
  const std::string what = "op " + in_quotes(op.name);
  const std::string place = "\n  defined at " + op.source.text();
  if (op.abi.count_operations == nullptr) {
    throw Error("OpNotImplementedError",
                what + " does not say how many operations a call takes: add " +
                    (op.source.is_python() ? "flops=fn to oneop.define"
                                           : ".flops(fn) or .SetComputeComplexityFn(fn)") +
                    place);
  }
  check_counts(op, spec.input_counts, spec.output_counts);
  Frame frame(op, spec);
  frame.infer();
  double operations = std::nan("");  // for a function that forgets to write
  Status status;
  status.check(op.abi.count_operations(op.abi.self, frame.abi(), &operations, status.abi()),
               what + ", count of operations");
  if (!std::isfinite(operations) || operations < 0) {
    std::ostringstream number;
    number << operations;
    throw Error("CheckError", what +
                                  ", count of operations: expected a finite number that is not "
                                  "negative, found " +
                                  number.str() + place);
  }
  return operations;
}

}  // namespace oneop
