// symbolic.cpp: guessing output sizes from made-up numbers, and checking the guess.
#include "torch_host/calls/symbolic.h"

#include <array>

#include "engine/ops/error.h"
#include "torch_host/calls/symbols.h"

namespace oneop {
namespace {

std::vector<TensorMeta> outputs_of(const Frame& frame) {
  std::vector<TensorMeta> outputs;
  for (int32_t i = 0; i < frame.get().num_output_tensors; ++i) {
    const oneop_tensor& tensor = frame.output(i);
    TensorMeta meta;
    meta.dtype = tensor.dtype;
    meta.shape.assign(tensor.shape, tensor.shape + tensor.ndim);
    outputs.push_back(std::move(meta));
  }
  return outputs;
}

std::optional<SymbolicOutput> explain_output(const Symbols& symbols, const TensorMeta& first,
                                             const TensorMeta& second, const TensorMeta* real) {
  const auto same_kind = [&](const TensorMeta& other) {
    return other.dtype == first.dtype && other.shape.size() == first.shape.size();
  };
  if (!same_kind(second) || (real != nullptr && !same_kind(*real))) {
    return std::nullopt;
  }
  SymbolicOutput output{first.dtype, {}};
  for (size_t d = 0; d < first.shape.size(); ++d) {
    const std::optional<int64_t> hint =
        real == nullptr ? std::nullopt : std::optional<int64_t>(real->shape[d]);
    auto size = symbols.explain({first.shape[d], second.shape[d]}, hint);
    if (!size) {
      return std::nullopt;
    }
    output.sizes.push_back(std::move(*size));
  }
  return output;
}

}  // namespace

std::optional<std::vector<SymbolicOutput>> infer_symbolic(const OpRecord& record,
                                                          const Layout& layout,
                                                          const c10::IValue* args,
                                                          const CallTensors& call) {
  const c10::Device meta(c10::kMeta);
  Symbols symbols;
  bool tells_dynamic = false;  // without a declaration, which the caller has to refuse
  const auto infer = [&](const SizeReader& number) {
    Frame frame(*record.op, make_spec(layout, args, call, meta, number));
    frame.infer();
    tells_dynamic |= frame.has_dynamic_outputs() && !record.op->has_dynamic_outputs();
    return outputs_of(frame);
  };
  // Those of the last attempt that succeeded. The search goes on from there, and ends with one that
  // does not.
  std::vector<SymbolicOutput> outputs;
  const auto attempt = [&] {
    std::array<std::vector<TensorMeta>, kRuns> runs;
    std::vector<TensorMeta> real;
    try {
      for (size_t run = 0; run < kRuns; ++run) {
        runs[run] = infer([&](const c10::SymInt& size) { return symbols.number(size, run); });
      }
      if (symbols.has_hints()) {
        real = infer([&](const c10::SymInt& size) { return symbols.hint(size); });
      }
    } catch (const Error&) {
      return false;
    }
    std::vector<SymbolicOutput> explained;
    for (size_t i = 0; i < runs[0].size(); ++i) {
      auto output =
          explain_output(symbols, runs[0][i], runs[1][i], real.empty() ? nullptr : &real[i]);
      if (!output) {
        return false;
      }
      explained.push_back(std::move(*output));
    }
    outputs = std::move(explained);
    return true;
  };
  // Where there is no way, guards on all sizes give the answer, or the author's own message.
  if (!symbols.search(attempt) || tells_dynamic) {
    return std::nullopt;
  }
  symbols.guard();
  return outputs;
}

}  // namespace oneop
