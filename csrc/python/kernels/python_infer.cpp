// python_infer.cpp: shapes, dtypes, SBP signatures and counts of operations from Python functions.
#include <ATen/ops/empty.h>
#include <torch/csrc/Dtype.h>

#include "python/kernels/python_op.h"
#include "python/kernels/python_spec.h"
#include "torch_host/calls/results.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/ops/torch_types.h"

namespace py = pybind11;

namespace oneop {
namespace {

struct PythonOp {
  Source source;
  PyShared infer;  // (inputs, attrs, output_counts) -> [(shape, dtype), ...]
  PyShared sbp;    // (inputs, outputs, attrs) -> [[(kind, axis), ...], ...]
  PyShared flops;  // (inputs, outputs, attrs) -> float
  std::vector<ArgTraits> input_traits;
};

void note_reads(oneop_frame* frame) {  // nobody knows what a Python function looks at
  if (frame->reads != nullptr) {
    frame->reads->shapes = frame->reads->dtypes = 1;
    frame->reads->attrs = ~uint64_t{0};
  }
}

py::list counts_of(const oneop_arg* args, int32_t count) {
  py::list counts;
  for (int32_t a = 0; a < count; ++a) {
    counts.append(args[a].count);
  }
  return counts;
}

int32_t scalar_type_code(const py::handle& dtype) {
  return to_abi(reinterpret_cast<THPDtype*>(dtype.ptr())->scalar_type);
}

// Runs `act` with the GIL; what Python raises goes into the status.
template <typename Act>
int32_t guarded(const Source& source, oneop_status* status, const Act& act) {
  Gil gil;
  try {
    act();
    return ONEOP_OK;
  } catch (py::error_already_set& raised) {
    raised.restore();
    return report_raised(status, source);
  } catch (const std::exception& error) {
    return Status::fail(status, ONEOP_ERROR_RUNTIME, error.what());
  }
}

int32_t infer(void* self, oneop_frame* frame, oneop_status* status) {
  const auto& op = *static_cast<PythonOp*>(self);
  return guarded(op.source, status, [&] {
    note_reads(frame);
    const py::handle function(op.infer.get());
    const py::list outputs =
        function(specs_to_python(*frame, frame->inputs, frame->num_inputs), attrs_to_python(*frame),
                 counts_of(frame->outputs, frame->num_outputs));
    for (int32_t i = 0; i < frame->num_output_tensors; ++i) {
      const py::tuple output = outputs[i];
      const py::tuple shape = output[0];
      oneop_tensor& tensor = frame->tensors[frame->num_input_tensors + i];
      if (shape.size() > ONEOP_MAX_DIMS) {
        throw py::value_error("an output has too many dimensions");
      }
      tensor.ndim = static_cast<int32_t>(shape.size());
      for (size_t d = 0; d < shape.size(); ++d) {
        tensor.shape[d] = py::cast<int64_t>(shape[d]);
      }
      tensor.dtype = scalar_type_code(output[1]);
    }
  });
}

int32_t get_sbp(void* self, oneop_frame* frame, oneop_sbp_sink* sink, oneop_status* status) {
  const auto& op = *static_cast<PythonOp*>(self);
  return guarded(op.source, status, [&] {
    note_reads(frame);
    const py::handle function(op.sbp.get());
    const py::list signatures = function(
        specs_to_python(*frame, frame->inputs, frame->num_inputs),
        specs_to_python(*frame, frame->outputs, frame->num_outputs), attrs_to_python(*frame));
    for (const py::handle& signature : signatures) {
      std::vector<oneop_sbp> entries;
      for (const py::handle& entry : signature) {
        const auto [kind, axis] = py::cast<std::pair<int32_t, int32_t>>(entry);
        entries.push_back({kind, axis});
      }
      sink->add(sink, entries.data(), static_cast<int32_t>(entries.size()), status);
    }
  });
}

int32_t flops(void* self, oneop_frame* frame, double* operations, oneop_status* status) {
  const auto& op = *static_cast<PythonOp*>(self);
  return guarded(op.source, status, [&] {
    const py::handle function(op.flops.get());
    *operations = py::cast<double>(function(
        specs_to_python(*frame, frame->inputs, frame->num_inputs),
        specs_to_python(*frame, frame->outputs, frame->num_outputs), attrs_to_python(*frame)));
  });
}

int32_t modify_inputs(void* self, oneop_frame* frame, oneop_arg_modifier* modifiers,
                      oneop_status*) {
  const auto& op = *static_cast<PythonOp*>(self);
  for (int32_t a = 0; a < frame->num_inputs; ++a) {
    for (int32_t i = 0; i < frame->inputs[a].count; ++i) {
      oneop_arg_modifier& modifier = modifiers[frame->inputs[a].first + i];
      modifier.is_mutable = op.input_traits[a].is_mutable;
      modifier.requires_grad = op.input_traits[a].requires_grad;
    }
  }
  return ONEOP_OK;
}

class PythonInference final : public SymbolicInference {
 public:
  explicit PythonInference(std::shared_ptr<PythonOp> op) : op_(std::move(op)) {}

  OutputTensors infer(const Layout& layout, const c10::IValue* args,
                      const CallTensors& call) const override {
    Gil gil;
    try {
      py::list counts;
      for (int32_t count : output_counts(layout, args)) {
        counts.append(count);
      }
      const py::handle function(op_->infer.get());
      const py::list specs = function(specs_to_python(call), attrs_to_python(layout, args), counts);
      OutputTensors outputs;
      for (const py::handle& item : specs) {
        const auto spec = py::cast<py::tuple>(item);
        std::vector<c10::SymInt> shape;
        for (const py::handle& size : spec[0]) {
          shape.push_back(py::cast<c10::SymInt>(size));
        }
        const auto dtype = to_torch(scalar_type_code(spec[1]));
        outputs.push_back(
            at::empty_symint(shape, at::TensorOptions().dtype(dtype).device(at::kMeta)));
      }
      return outputs;
    } catch (py::error_already_set& raised) {
      raised.restore();
      throw raised_error("op " + in_quotes(layout.op->name), op_->source);
    }
  }

 private:
  std::shared_ptr<PythonOp> op_;
};

}  // namespace

void set_python_inference(const py::dict& info, OpDef* op) {
  auto python = std::make_shared<PythonOp>();
  python->source = op->source;
  for (const py::handle& item : info["inputs"]) {
    const auto arg = py::cast<py::dict>(item);
    python->input_traits.push_back(
        {py::cast<bool>(arg["is_mutable"]), py::cast<bool>(arg["requires_grad"])});
  }
  op->abi.self = python.get();
  op->abi.modify_inputs = &modify_inputs;
  if (!info["infer"].is_none()) {
    python->infer = share(py::object(info["infer"]).ptr());
    op->abi.infer_logical = &infer;
    op->symbolic = std::make_shared<PythonInference>(python);
  }
  if (!info["sbp"].is_none()) {
    python->sbp = share(py::object(info["sbp"]).ptr());
    op->abi.get_sbp = &get_sbp;
  }
  if (!info["flops"].is_none()) {
    python->flops = share(py::object(info["flops"]).ptr());
    op->abi.count_operations = &flops;
  }
  op->owner = std::move(python);
}

}  // namespace oneop
