// questions.cpp: signatures, shapes, operations and batch axes of a call, from specs of its inputs.
#include "python/module/questions.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/plans/cost.h"
#include "engine/plans/sbp.h"
#include "python/kernels/python_op.h"
#include "python/module/call_spec.h"
#include "torch_host/ops/torch_types.h"

namespace py = pybind11;

namespace oneop {
namespace {

using SbpEntries = std::vector<std::pair<int32_t, int32_t>>;
using TensorSpecs = std::vector<std::pair<std::vector<int64_t>, at::ScalarType>>;

py::list sbp_to_python(const SbpSignature& signature) {
  py::list entries;
  for (const oneop_sbp& sbp : signature) {
    entries.append(py::make_tuple(sbp.kind, sbp.axis));
  }
  return entries;
}

// (signatures, the attributes that inference and the SBP function read)
py::tuple list_sbp(const std::string& name, const TensorsByArgument& inputs,
                   const std::vector<int32_t>& output_counts, const py::dict& attrs,
                   int32_t parallel_num) {
  return raising([&] {
    const RecordPtr held = Registry::global().get(name);
    const OpRecord& record = *held;
    const SbpAnswer answer = sbp_signatures(
        record, make_call_spec(*record.op, inputs, output_counts, attrs), parallel_num);
    py::list signatures;
    for (const SbpSignature& signature : answer.signatures) {
      signatures.append(sbp_to_python(signature));
    }
    py::list read;
    for (size_t i = 0; i < record.op->attrs.size(); ++i) {
      if ((answer.reads.attrs >> std::min<size_t>(i, 63) & 1) != 0) {
        read.append(record.op->attrs[i].name);
      }
    }
    return py::make_tuple(signatures, read);
  });
}

Spread make_spread(const SbpEntries& sbp, int32_t dims, int32_t parallel_num, int32_t parallel_id) {
  Spread spread;
  for (const auto& [kind, axis] : sbp) {
    spread.sbp.push_back({kind, axis});
  }
  spread.dims = dims;
  spread.parallel_num = parallel_num;
  spread.parallel_id = parallel_id;
  return spread;
}

py::list nd_sbp(const std::string& name, const TensorsByArgument& inputs,
                const std::vector<int32_t>& output_counts, const py::dict& attrs,
                const SbpEntries& hints, int32_t dims, int32_t parallel_num) {
  return raising([&] {
    const RecordPtr held = Registry::global().get(name);
    const OpRecord& record = *held;
    return sbp_to_python(infer_nd_sbp(record,
                                      make_call_spec(*record.op, inputs, output_counts, attrs),
                                      make_spread(hints, dims, parallel_num, 0)));
  });
}

TensorSpecs infer_outputs(const std::string& name, const TensorsByArgument& inputs,
                          const std::vector<int32_t>& output_counts, const py::dict& attrs,
                          const SbpEntries& sbp, int32_t dims, int32_t parallel_num,
                          int32_t parallel_id, const TensorSpecs& logical) {
  return raising([&] {
    const RecordPtr held = Registry::global().get(name);
    const OpRecord& record = *held;
    Spread spread = make_spread(sbp, dims, parallel_num, parallel_id);
    for (const auto& [shape, dtype] : logical) {
      spread.logical.emplace_back(shape, to_abi(dtype));
    }
    TensorSpecs outputs;
    for (auto& [shape, dtype] : infer_physical(
             record, make_call_spec(*record.op, inputs, output_counts, attrs), std::move(spread))) {
      outputs.emplace_back(std::move(shape), to_torch(dtype));
    }
    return outputs;
  });
}

double count_call(const std::string& name, const TensorsByArgument& inputs,
                  const std::vector<int32_t>& output_counts, const py::dict& attrs) {
  return raising([&] {
    const RecordPtr record = Registry::global().get(name);
    return count_operations(*record, make_call_spec(*record->op, inputs, output_counts, attrs));
  });
}

std::vector<int64_t> batch_axes(const std::string& name, const TensorsByArgument& inputs,
                                const std::vector<int32_t>& output_counts, const py::dict& attrs,
                                std::vector<int64_t> axes) {
  return raising([&] {
    const RecordPtr record = Registry::global().get(name);
    return infer_batch_axes(*record, make_call_spec(*record->op, inputs, output_counts, attrs),
                            std::move(axes));
  });
}

}  // namespace

void bind_questions(py::module_& m) {
  m.def("list_sbp", &list_sbp, py::arg("name"), py::arg("inputs"), py::arg("output_counts"),
        py::arg("attrs"), py::arg("parallel_num"));
  m.def("nd_sbp", &nd_sbp, py::arg("name"), py::arg("inputs"), py::arg("output_counts"),
        py::arg("attrs"), py::arg("hints"), py::arg("dims"), py::arg("parallel_num"));
  m.def("infer_outputs", &infer_outputs, py::arg("name"), py::arg("inputs"),
        py::arg("output_counts"), py::arg("attrs"), py::arg("sbp"), py::arg("dims"),
        py::arg("parallel_num"), py::arg("parallel_id"), py::arg("logical"));
  m.def("count_operations", &count_call, py::arg("name"), py::arg("inputs"),
        py::arg("output_counts"), py::arg("attrs"));
  m.def("infer_batch_axes", &batch_axes, py::arg("name"), py::arg("inputs"),
        py::arg("output_counts"), py::arg("attrs"), py::arg("axes"));
}

}  // namespace oneop
