// cost.cpp: asking an op, and checking the answer.
#include "engine/plans/cost.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "engine/frames/arg_counts.h"
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

std::vector<int64_t> infer_batch_axes(const OpRecord& record, const CallSpec& spec,
                                      std::vector<int64_t> axes) {
  const OpDef& op = *record.op;
  check_counts(op, spec.input_counts, spec.output_counts);
  const auto sum = [](const std::vector<int32_t>& counts) {
    return static_cast<size_t>(std::accumulate(counts.begin(), counts.end(), 0));
  };
  const size_t inputs = sum(spec.input_counts), outputs = sum(spec.output_counts);
  axes.resize(inputs, -1);
  const auto first = std::find_if(axes.begin(), axes.end(), [](int64_t axis) { return axis >= 0; });
  const bool is_asked = op.abi.infer_batch_axes != nullptr;
  axes.resize(inputs + outputs, is_asked || first == axes.end() ? -1 : *first);
  if (is_asked) {
    const std::string what = "op " + in_quotes(op.name) + ", batch axes";
    Frame frame(op, spec);
    frame.infer();
    Status status;
    status.check(op.abi.infer_batch_axes(op.abi.self, frame.abi(), axes.data(), status.abi()),
                 what);
    for (size_t i = inputs; i != axes.size(); ++i) {
      const int64_t ndim = frame.abi()->tensors[i].ndim;
      if (axes[i] < -1 || axes[i] >= ndim) {
        throw Error("CheckError", what + ": output " + std::to_string(i - inputs) + " has " +
                                      std::to_string(ndim) + " dimensions, found axis " +
                                      std::to_string(axes[i]) + "\n  defined at " +
                                      op.source.text());
      }
    }
  }
  axes.erase(axes.begin(), axes.begin() + static_cast<std::ptrdiff_t>(inputs));
  return axes;
}

}  // namespace oneop
