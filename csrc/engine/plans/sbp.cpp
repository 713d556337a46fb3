// sbp.cpp: collecting and checking SBP signatures.
#include "engine/plans/sbp.h"

#include "engine/frames/arg_counts.h"
#include "engine/ops/error.h"

namespace oneop {
namespace {

struct Sink {
  oneop_sbp_sink abi;
  std::vector<SbpSignature> signatures;
};

int32_t add(oneop_sbp_sink* sink, const oneop_sbp* signature, int32_t count, oneop_status*) {
  reinterpret_cast<Sink*>(sink)->signatures.emplace_back(signature, signature + count);
  return ONEOP_OK;
}

void check(const OpDef& op, const Frame& frame, const SbpSignature& signature, bool knows_outputs) {
  const std::string where = "op " + in_quotes(op.name) + ", SBP signature";
  const oneop_frame& abi = frame.get();
  const auto check_args = [&](const oneop_arg* args, int32_t count, bool knows_shapes) {
    for (int32_t a = 0; a < count; ++a) {
      for (int32_t i = args[a].first; i < args[a].first + args[a].count; ++i) {
        if (i >= static_cast<int32_t>(signature.size()) || signature[i].kind == ONEOP_SBP_UNSET) {
          throw Error("CheckError",
                      where + " says nothing about " + in_quotes(args[a].name) +
                          "\n  give it Split, Broadcast or PartialSum\n  defined at " +
                          op.source.text());
        }
        const bool is_split = signature[i].kind == ONEOP_SBP_SPLIT;
        const int32_t ndim = abi.tensors[i].ndim;
        if (is_split && knows_shapes && (signature[i].axis < 0 || signature[i].axis >= ndim)) {
          throw Error("CheckError", where + " splits " + in_quotes(args[a].name) + " along axis " +
                                        std::to_string(signature[i].axis) + ", it has " +
                                        std::to_string(ndim) + " axes\n  defined at " +
                                        op.source.text());
        }
      }
    }
  };
  check_args(abi.inputs, abi.num_inputs, true);
  check_args(abi.outputs, abi.num_outputs, knows_outputs);
}

// What inference alone looks at. Checks of attributes run in every call on every device, so what
// they read decides nothing here.
oneop_reads inference_reads(const OpDef& op, const CallSpec& spec) {
  Frame frame(op, spec);
  Status status;
  const std::string what = "op " + in_quotes(op.name);
  status.check(op.abi.infer_logical(op.abi.self, frame.abi(), status.abi()), what);
  if (op.abi.infer_dtype != nullptr) {
    status.check(op.abi.infer_dtype(op.abi.self, frame.abi(), status.abi()), what);
  }
  return frame.reads();
}

// Lets callbacks see the mesh. `spread` must outlive the frame's use.
void spread_frame(const OpDef& op, const Spread& spread, Frame* frame) {
  const size_t tensors = frame->get().num_input_tensors + frame->get().num_output_tensors;
  if (spread.dims < 1 || spread.sbp.size() != tensors * spread.dims) {
    throw Error("ArgumentError", "op " + in_quotes(op.name) + ": expected " +
                                     std::to_string(tensors * spread.dims) +
                                     " SBP entries, found " + std::to_string(spread.sbp.size()));
  }
  oneop_frame* abi = frame->abi();
  abi->sbp = spread.sbp.data();
  abi->sbp_dims = spread.dims;
  abi->parallel_num = spread.parallel_num;
  abi->parallel_id = spread.parallel_id;
}

}  // namespace

SbpAnswer sbp_signatures(const OpRecord& record, const CallSpec& spec, int32_t parallel_num) {
  const OpDef& op = *record.op;
  check_counts(op, spec.input_counts, spec.output_counts);
  Frame frame(op, spec);
  const bool knows_outputs = op.abi.infer_logical != nullptr;
  if (knows_outputs) {
    frame.infer();
    frame.reads() = inference_reads(op, spec);
  }
  frame.abi()->parallel_num = parallel_num;
  Sink sink{{sizeof(oneop_sbp_sink), &add}, {}};
  if (op.abi.get_sbp != nullptr) {
    Status status;
    status.check(op.abi.get_sbp(op.abi.self, frame.abi(), &sink.abi, status.abi()),
                 "op " + in_quotes(op.name) + ", SBP function");
  }
  for (const SbpSignature& signature : sink.signatures) {
    check(op, frame, signature, knows_outputs);
  }
  const size_t count = frame.get().num_input_tensors + frame.get().num_output_tensors;
  sink.signatures.emplace_back(count, oneop_sbp{ONEOP_SBP_BROADCAST, 0});
  return {std::move(sink.signatures), frame.reads()};
}

SbpSignature infer_nd_sbp(const OpRecord& record, const CallSpec& spec, const Spread& spread) {
  const OpDef& op = *record.op;
  check_counts(op, spec.input_counts, spec.output_counts);
  Frame frame(op, spec);
  frame.infer();
  spread_frame(op, spread, &frame);
  Sink sink{{sizeof(oneop_sbp_sink), &add}, {}};
  Status status;
  status.check(op.abi.infer_nd_sbp(op.abi.self, frame.abi(), &sink.abi, status.abi()),
               "op " + in_quotes(op.name) + ", SBP inference");
  const size_t count = spread.sbp.size();
  if (sink.signatures.size() != 1 || sink.signatures[0].size() != count) {
    throw Error("CheckError", "op " + in_quotes(op.name) +
                                  ", SBP inference: expected one signature with an entry for each "
                                  "tensor and mesh dimension\n  defined at " +
                                  op.source.text());
  }
  SbpSignature chosen = std::move(sink.signatures[0]);
  for (size_t i = 0; i < count; ++i) {
    const int32_t ndim = frame.get().tensors[i / spread.dims].ndim;
    if (chosen[i].kind == ONEOP_SBP_UNSET) {
      chosen[i] = {ONEOP_SBP_BROADCAST, 0};  // what the author leaves alone
    }
    if (chosen[i].kind == ONEOP_SBP_SPLIT && (chosen[i].axis < 0 || chosen[i].axis >= ndim)) {
      throw Error("CheckError", "op " + in_quotes(op.name) + ", SBP inference splits tensor " +
                                    std::to_string(i / spread.dims) + " along axis " +
                                    std::to_string(chosen[i].axis) + ", it has " +
                                    std::to_string(ndim) + " axes\n  defined at " +
                                    op.source.text());
    }
  }
  return chosen;
}

std::vector<LogicalTensor> infer_physical(const OpRecord& record, const CallSpec& spec,
                                          Spread spread) {
  const OpDef& op = *record.op;
  check_counts(op, spec.input_counts, spec.output_counts);
  Frame frame(op, spec);
  std::vector<oneop_tensor> logical;
  for (LogicalTensor& tensor : spread.logical) {
    oneop_tensor meta{};
    meta.shape = tensor.first.data();
    meta.stride = meta.shape;  // nobody asks for it
    meta.ndim = static_cast<int32_t>(tensor.first.size());
    meta.dtype = tensor.second;
    logical.push_back(meta);
  }
  spread_frame(op, spread, &frame);
  frame.abi()->logical_tensors = logical.empty() ? nullptr : logical.data();
  Status status;
  const std::string what = "op " + in_quotes(op.name) + ", physical inference";
  const auto infer =
      op.abi.infer_physical != nullptr ? op.abi.infer_physical : op.abi.infer_logical;
  status.check(infer(op.abi.self, frame.abi(), status.abi()), what);
  if (op.abi.infer_dtype != nullptr) {
    status.check(op.abi.infer_dtype(op.abi.self, frame.abi(), status.abi()), what);
  }
  std::vector<LogicalTensor> outputs;
  for (int32_t i = 0; i < frame.get().num_output_tensors; ++i) {
    const oneop_tensor& output = frame.output(i);
    outputs.emplace_back(std::vector<int64_t>(output.shape, output.shape + output.ndim),
                         output.dtype);
  }
  return outputs;
}

}  // namespace oneop
