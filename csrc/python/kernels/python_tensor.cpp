// python_tensor.cpp: kernels that are Python functions of torch tensors.
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <torch/csrc/autograd/python_variable.h>

#include "python/kernels/python_op.h"
#include "python/kernels/python_spec.h"
#include "torch_host/calls/arranged.h"
#include "torch_host/calls/tensor_rules.h"
#include "torch_host/ops/torch_types.h"

namespace py = pybind11;

namespace oneop {
namespace {

py::object wrap(const at::Tensor& tensor) {
  return py::reinterpret_steal<py::object>(THPVariable_Wrap(tensor));
}

// A result that does not fit the op; the callers say which op.
struct Misfit : std::runtime_error {
  Misfit(int32_t error_kind, const std::string& text)
      : std::runtime_error(text), kind(error_kind) {}
  int32_t kind;
};

// What the function of a kernel is called with. Invariant: what it writes into an input that the op
// changes reaches the caller's tensor. A contiguous copy of one is copied back, as Arranged does.
struct TensorArguments {
  py::list values;
  std::vector<std::pair<at::Tensor, at::Tensor>> changed;  // the caller's, and the copy of it

  void write_back() const {
    for (const auto& [tensor, copy] : changed) {
      tensor.copy_(copy);
    }
  }
};

struct TorchKernel final : PythonKernel, TensorKernel {
  std::vector<std::string> attrs;
  bool takes_out = false;
  std::vector<bool> input_is_list;
  std::vector<bool> input_is_mutable;
  bool arranges = false;  // it reads memory itself, so inputs arrive contiguous

  void run(const Layout& layout, const CallTensors& call, const CallPlan& plan,
           OutputTensors* outputs) const override {
    if (layout.mutates) {
      check_changed(layout, call);
    }
    Gil gil;
    const std::string what = "op " + in_quotes(layout.op->name) + ", kernel at " + source.text();
    try {
      const OutputTensors given = takes_out ? empty_outputs(plan, call) : OutputTensors();
      *outputs = call_function(group(call), attrs_to_python(plan.frame()), given);
      if (!takes_out) {
        check(plan, call, outputs);
      }
    } catch (py::error_already_set& raised) {
      raised.restore();
      throw raised_error(what, source);
    } catch (const Misfit& misfit) {
      throw Error(Status::class_of(misfit.kind), what + ": " + misfit.what());
    }
  }

  OutputTensors trace(const Layout& layout, const c10::IValue* args,
                      const CallTensors& call) const override {
    Gil gil;
    const std::string what = "op " + in_quotes(layout.op->name) + ", kernel at " + source.text();
    try {
      OutputTensors given;
      if (takes_out && layout.op->symbolic != nullptr) {
        for (const at::Tensor& spec : layout.op->symbolic->infer(layout, args, call)) {
          given.push_back(
              at::empty_symint(spec.sym_sizes(), spec.options().device(call.tensors[0]->device())));
        }
      }
      OutputTensors outputs = call_function(group(call), attrs_to_python(layout, args), given);
      make_fresh(call, &outputs);
      return outputs;
    } catch (py::error_already_set& raised) {
      raised.restore();
      throw raised_error(what, source);
    } catch (const Misfit& misfit) {
      throw Error(Status::class_of(misfit.kind), what + ": " + misfit.what());
    }
  }

  // For callers that have a frame only: the same on tensors over its memory.
  int32_t compute(const oneop_frame& frame, oneop_status* status) const {
    Gil gil;
    try {
      CallTensors call;
      std::vector<at::Tensor> tensors;
      for (int32_t i = 0; i < frame.num_input_tensors + frame.num_output_tensors; ++i) {
        tensors.push_back(view(frame.tensors[i]));
      }
      for (int32_t i = 0; i < frame.num_input_tensors; ++i) {
        call.tensors.push_back(&tensors[i]);
      }
      for (int32_t a = 0; a < frame.num_inputs; ++a) {
        call.counts.push_back(frame.inputs[a].count);
      }
      const OutputTensors outputs(tensors.begin() + frame.num_input_tensors, tensors.end());
      const OutputTensors results =
          call_function(group(call), attrs_to_python(frame), takes_out ? outputs : OutputTensors());
      if (takes_out) {
        return ONEOP_OK;
      }
      if (results.size() != outputs.size()) {
        throw Misfit(ONEOP_ERROR_VALUE, count_text(outputs.size(), results.size()));
      }
      for (size_t i = 0; i < outputs.size(); ++i) {
        const oneop_tensor& expected = frame.tensors[frame.num_input_tensors + i];
        if (!fits(results[i], expected)) {
          throw Misfit(ONEOP_ERROR_VALUE, mismatch(i, expected, results[i]));
        }
        if (expected.is_dynamic != 0) {  // then the shape is this call's own, and dense
          std::copy(results[i].sizes().begin(), results[i].sizes().end(), expected.shape);
          at::Tensor target = outputs[i].flatten().narrow(0, 0, results[i].numel());
          target.view(results[i].sizes()).copy_(results[i]);
        } else {
          outputs[i].copy_(results[i]);
        }
      }
      return ONEOP_OK;
    } catch (py::error_already_set& raised) {
      raised.restore();
      return report_raised(status, source);
    } catch (const Misfit& misfit) {
      return Status::fail(status, misfit.kind, misfit.what());
    }
  }

 private:
  at::Tensor arranged(const at::Tensor& tensor, bool is_mutable, TensorArguments* to) const {
    if (!arranges) {
      return tensor;
    }
    at::Tensor contiguous = tensor.contiguous();
    if (is_mutable && !contiguous.is_same(tensor)) {
      to->changed.emplace_back(tensor, contiguous);
    }
    return contiguous;
  }

  TensorArguments group(const CallTensors& call) const {
    TensorArguments arguments;
    size_t at = 0;
    for (size_t a = 0; a < call.counts.size(); ++a) {
      const auto next = [&] {
        return wrap(arranged(*call.tensors[at++], input_is_mutable[a], &arguments));
      };
      if (input_is_list[a]) {
        py::list list;
        for (int32_t k = 0; k < call.counts[a]; ++k) {
          list.append(next());
        }
        arguments.values.append(std::move(list));
      } else if (call.counts[a] == 0) {
        arguments.values.append(py::none());
      } else {
        arguments.values.append(next());
      }
    }
    return arguments;
  }

  OutputTensors call_function(const TensorArguments& inputs, const py::dict& all_attrs,
                              const OutputTensors& given) const {
    py::dict keywords;
    for (const std::string& name : attrs) {
      keywords[name.c_str()] = all_attrs[name.c_str()];
    }
    if (takes_out) {
      py::tuple out(given.size());
      for (size_t i = 0; i < given.size(); ++i) {
        out[i] = wrap(given[i]);
      }
      keywords["out"] = given.size() == 1 ? py::object(out[0]) : py::object(out);
    }
    const py::object result = py::handle(function.get())(*inputs.values, **keywords);
    inputs.write_back();
    if (takes_out) {
      return given;
    }
    OutputTensors outputs;
    const auto add = [&](const py::handle& item) {
      if (!THPVariable_Check(item.ptr())) {
        throw Misfit(ONEOP_ERROR_TYPE,
                     std::string("expected a torch.Tensor as its result, found ") +
                         Py_TYPE(item.ptr())->tp_name);
      }
      outputs.push_back(THPVariable_Unpack(item.ptr()));
    };
    if (py::isinstance<py::tuple>(result) || py::isinstance<py::list>(result)) {
      for (const py::handle& item : result) {
        add(item);
      }
    } else if (!result.is_none()) {
      add(result);
    }
    return outputs;
  }

  static OutputTensors empty_outputs(const CallPlan& plan, const CallTensors& call) {
    OutputTensors outputs;
    for (int32_t i = 0; i < plan.num_outputs(); ++i) {
      const oneop_tensor& output = plan.output(i);
      const auto device = call.tensors.empty() ? c10::Device(c10::kCPU) : call.tensors[0]->device();
      outputs.push_back(
          at::empty(c10::IntArrayRef(output.shape, output.ndim),
                    at::TensorOptions().dtype(to_torch(output.dtype)).device(device)));
    }
    return outputs;
  }

  static at::Tensor view(const oneop_tensor& tensor) {
    const auto type = tensor.device_type == ONEOP_DEVICE_CUDA ? c10::kCUDA : c10::kCPU;
    const c10::Device device(type, type == c10::kCUDA ? tensor.device_index : -1);
    return at::from_blob(tensor.data, c10::IntArrayRef(tensor.shape, tensor.ndim),
                         c10::IntArrayRef(tensor.stride, tensor.ndim),
                         at::TensorOptions().dtype(to_torch(tensor.dtype)).device(device));
  }

  static std::string text(const at::Tensor& tensor) {
    return tensor_text(to_abi(tensor.scalar_type()), tensor.sizes().data(),
                       static_cast<int32_t>(tensor.dim()));
  }
  static bool fits(const at::Tensor& found, const oneop_tensor& expected) {
    if (to_abi(found.scalar_type()) != expected.dtype || found.dim() != expected.ndim) {
      return false;
    }
    for (int32_t d = 0; d < expected.ndim; ++d) {
      if (!takes_size(expected, d, found.size(d))) {
        return false;
      }
    }
    return true;
  }
  static std::string mismatch(size_t i, const oneop_tensor& expected, const at::Tensor& found) {
    return "output " + std::to_string(i) + ": expected " +
           (expected.is_dynamic != 0 ? "at most " : "") +
           tensor_text(expected.dtype, expected.shape, expected.ndim) + ", found " + text(found);
  }
  static std::string count_text(size_t expected, size_t found) {
    return "expected " + std::to_string(expected) + (expected == 1 ? " tensor" : " tensors") +
           ", found " + std::to_string(found);
  }

  static bool shares_memory(const at::Tensor& one, const at::Tensor& other) {
    if (!one.has_storage() || !other.has_storage()) {  // wrappers of functorch
      return one.is_same(other);
    }
    return one.is_alias_of(other);
  }

  // Invariant, the same as check() keeps in eager mode: no output shares memory with an input, with
  // another output or with what the kernel holds on to, and all are contiguous. Here torch records
  // what is done, and saves results for backward, so who holds them says nothing.
  static void make_fresh(const CallTensors& call, OutputTensors* outputs) {
    for (size_t i = 0; i < outputs->size(); ++i) {
      at::Tensor& output = (*outputs)[i];
      const bool is_recorded = output.requires_grad() && !output.is_leaf();
      bool is_shared = output.is_view() || (!is_recorded && output.use_count() > 1);
      for (const at::Tensor* input : call.tensors) {
        is_shared |= shares_memory(output, *input);
      }
      for (size_t k = 0; k < i; ++k) {
        is_shared |= shares_memory(output, (*outputs)[k]);
      }
      output = is_shared ? output.clone(at::MemoryFormat::Contiguous) : output.contiguous();
    }
  }

  // Results become the outputs themselves where they may: an op gives fresh, contiguous tensors.
  static void check(const CallPlan& plan, const CallTensors& call, OutputTensors* outputs) {
    if (static_cast<int32_t>(outputs->size()) != plan.num_outputs()) {
      throw Misfit(ONEOP_ERROR_VALUE, count_text(plan.num_outputs(), outputs->size()));
    }
    for (size_t i = 0; i < outputs->size(); ++i) {
      at::Tensor& output = (*outputs)[i];
      const oneop_tensor& expected = plan.output(static_cast<int32_t>(i));
      if (!fits(output, expected)) {
        throw Misfit(ONEOP_ERROR_VALUE, mismatch(i, expected, output));
      }
      // Memory that anything else holds (an input, another output, a constant of the kernel) is
      // not the output's own.
      const bool is_shared = output.use_count() > 1 || output.storage().use_count() > 1;
      output = is_shared ? output.clone(at::MemoryFormat::Contiguous) : output.contiguous();
    }
  }
};

int32_t compute_tensor(void* self, oneop_frame* frame, void*, const void*, oneop_status* status) {
  return static_cast<const TorchKernel*>(PythonKernel::of(self))->compute(*frame, status);
}

}  // namespace

void set_tensor_kernel(const py::dict& info, KernelDef* def) {
  auto kernel = std::make_shared<TorchKernel>();
  kernel->attrs = py::cast<std::vector<std::string>>(info["attrs"]);
  kernel->takes_out = py::cast<bool>(info["takes_out"]);
  kernel->arranges = py::cast<bool>(info["arranges"]);
  kernel->input_is_list = py::cast<std::vector<bool>>(info["input_is_list"]);
  kernel->input_is_mutable = py::cast<std::vector<bool>>(info["input_is_mutable"]);
  def->abi.compute = &compute_tensor;
  def->on_tensors = kernel;
  def->holds_gil = true;
  set_matching(info, std::move(kernel), def);
}

}  // namespace oneop
