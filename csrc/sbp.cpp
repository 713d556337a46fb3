// sbp.cpp: collecting and checking SBP signatures.
#include "sbp.h"

#include "error.h"

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
  const std::string where = "op " + quoted(op.name) + ", SBP signature";
  const oneop_frame& abi = frame.get();
  const auto check_args = [&](const oneop_arg* args, int32_t count, bool knows_shapes) {
    for (int32_t a = 0; a < count; ++a) {
      for (int32_t i = args[a].first; i < args[a].first + args[a].count; ++i) {
        if (i >= static_cast<int32_t>(signature.size()) || signature[i].kind == ONEOP_SBP_UNSET) {
          throw Error("CheckError",
                      where + " says nothing about " + quoted(args[a].name) +
                          "\n  give it Split, Broadcast or PartialSum\n  defined at " +
                          op.source.text());
        }
        const bool is_split = signature[i].kind == ONEOP_SBP_SPLIT;
        const int32_t ndim = abi.tensors[i].ndim;
        if (is_split && knows_shapes && (signature[i].axis < 0 || signature[i].axis >= ndim)) {
          throw Error("CheckError", where + " splits " + quoted(args[a].name) + " along axis " +
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

}  // namespace

std::vector<SbpSignature> sbp_signatures(const OpRecord& record, const CallSpec& spec) {
  const OpDef& op = *record.op;
  check_counts(op, spec.input_counts, spec.output_counts);
  Frame frame(op, spec);
  const bool knows_outputs = op.abi.infer_logical != nullptr;
  if (knows_outputs) {
    frame.infer();
  }
  Sink sink{{sizeof(oneop_sbp_sink), &add}, {}};
  if (op.abi.get_sbp != nullptr) {
    Status status;
    status.check(op.abi.get_sbp(op.abi.self, frame.abi(), &sink.abi, status.abi()),
                 "op " + quoted(op.name) + ", SBP function");
  }
  for (const SbpSignature& signature : sink.signatures) {
    check(op, frame, signature, knows_outputs);
  }
  const size_t count = frame.get().num_input_tensors + frame.get().num_output_tensors;
  sink.signatures.emplace_back(count, oneop_sbp{ONEOP_SBP_BROADCAST, 0});
  return std::move(sink.signatures);
}

}  // namespace oneop
