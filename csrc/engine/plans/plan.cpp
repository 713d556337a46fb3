// plan.cpp: making and running call plans.
#include "engine/plans/plan.h"

#include <utility>

#include "engine/ops/error.h"
#include "engine/plans/match.h"

namespace oneop {
CallPlan::CallPlan(RecordPtr record, const CallSpec& spec, bool infer_only)
    : record_(std::move(record)), frame_(*record_->op, spec) {
  frame_.infer();
  if (!infer_only) {
    choose(spec);
  }
}

CallPlan::CallPlan(RecordPtr record, const CallSpec& spec, std::shared_ptr<const Part> part)
    : record_(std::move(record)), part_(std::move(part)), frame_(*record_->op, spec) {
  if (record_->op->has_dynamic_outputs()) {
    throw Error("OpNotImplementedError",
                "op " + in_quotes(record_->op->name) +
                    ": the size of an output depends on data, so it cannot be split over devices\n"
                    "  call it on whole tensors: x.full_tensor()\n  defined at " +
                    record_->op->source.text());
  }
  part_->fill(&frame_);
  choose(spec);
}

void CallPlan::choose(const CallSpec& spec) {
  const std::shared_ptr<const KernelDef> kernel = choose_kernel(*record_, &frame_, spec.required);
  Status status;
  const oneop_kernel_def& abi = kernel->abi;
  if (abi.infer_tmp_size != nullptr) {
    status.check(abi.infer_tmp_size(abi.self, frame_.abi(), &tmp_bytes_, status.abi()),
                 kernel_text(*kernel) + ", size of its buffer");
    if (tmp_bytes_ < 0) {
      throw Error("CheckError", kernel_text(*kernel) + ": asks for a buffer of " +
                                    std::to_string(tmp_bytes_) + " bytes");
    }
  }
  // Instances serve calls under every requirement, so that state is kept when it changes: none of
  // them may see the one of this call.
  const uint32_t shown = std::exchange(frame_.abi()->required, 0);
  instance_ = record_->kernels_made->get(kernel, &frame_, spec, part_.get());
  frame_.abi()->required = shown;
  if (abi.create_cache != nullptr) {
    status.check(abi.create_cache(instance_->kernel(), frame_.abi(), &cache_, status.abi()),
                 kernel_text(*kernel));
  }
  if (num_outputs() > 0 && !instance_->always_compute()) {
    has_work_ = false;
    for (int32_t i = 0; i < num_outputs(); ++i) {
      has_work_ |= output(i).elem_cnt != 0;
      for (int32_t d = 0; d < output(i).ndim; ++d) {  // a size to find out, if of no elements
        has_work_ |= output(i).shape[d] > 0 && takes_size(output(i), d, 0);
      }
    }
  }
}

CallPlan::~CallPlan() {
  if (cache_ != nullptr && instance_->def().abi.destroy_cache != nullptr) {
    instance_->def().abi.destroy_cache(cache_);
  }
}

void CallPlan::bind(BoundFrame* bound, oneop_tensor* tensors, void* const* data, void* tmp,
                    void* stream, void* host_data) const {
  const int32_t count = num_inputs() + num_outputs();
  const oneop_frame& shared = frame_.get();
  for (int32_t i = 0; i < count; ++i) {
    tensors[i] = shared.tensors[i];
    tensors[i].data = data[i];
  }
  bound->frame = shared;
  bound->frame.tensors = tensors;
  bound->frame.stream = stream;
  bound->frame.host_data = host_data;
  bound->frame.reads = nullptr;
  if (instance_->def().abi.infer_tmp_size !=
      nullptr) {  // of 0 bytes too: no kernel expects a null then
    bound->tmp_shape = tmp_bytes_;
    bound->tmp = {tmp,
                  &bound->tmp_shape,
                  &bound->tmp_stride,
                  tmp_bytes_,
                  1,
                  ONEOP_DTYPE_CHAR,
                  shared.device_type,
                  shared.device_index,
                  0,
                  0};
    bound->frame.tmp_buffer = &bound->tmp;
  }
}

void CallPlan::run_bound(oneop_frame* frame) const {
  const oneop_kernel_def& abi = instance_->def().abi;
  Status status;
  const KernelInstance::Turn turn(instance_.get());
  const int32_t code =
      abi.compute(instance_->kernel(), frame, instance_->state(), cache_, status.abi());
  if (code != ONEOP_OK || status.failed()) {
    status.check(code, kernel_text(instance_->def()));
  }
}

void CallPlan::run(void* const* data, void* tmp, void* stream, void* host_data,
                   Shapes* shapes) const {
  // The frame of the plan is shared, so each call fills in pointers on a copy of its own.
  constexpr int32_t kInline = 12;
  const int32_t count = num_inputs() + num_outputs();
  oneop_tensor inline_tensors[kInline];
  std::vector<oneop_tensor> more;
  oneop_tensor* tensors = inline_tensors;
  if (count > kInline) {
    more.resize(count);
    tensors = more.data();
  }
  BoundFrame bound;
  bind(&bound, tensors, data, tmp, stream, host_data);
  if (has_dynamic_outputs()) {
    return run_dynamic(&bound.frame, shapes);
  }
  run_bound(&bound.frame);
}

namespace {

// "y", or "ys" 2 of an argument with several tensors.
std::string output_text(const oneop_frame& frame, int32_t tensor) {
  for (int32_t i = 0; i < frame.num_outputs; ++i) {
    const oneop_arg& arg = frame.outputs[i];
    if (tensor >= arg.first && tensor < arg.first + arg.count) {
      return in_quotes(arg.name) +
             (arg.count > 1 ? " " + std::to_string(tensor - arg.first) : std::string());
    }
  }
  return std::to_string(tensor - frame.num_input_tensors);
}

}  // namespace

// Gives the kernel shapes to write to, and checks what it wrote: the memory is that of the largest.
void CallPlan::run_dynamic(oneop_frame* frame, Shapes* shapes) const {
  shapes->clear();
  for (int32_t i = 0; i < num_outputs(); ++i) {
    shapes->emplace_back(output(i).shape, output(i).shape + output(i).ndim);
  }
  for (int32_t i = 0; i < num_outputs(); ++i) {
    frame->tensors[num_inputs() + i].shape = (*shapes)[i].data();
  }
  run_bound(frame);
  for (int32_t i = 0; i < num_outputs(); ++i) {
    const oneop_tensor& largest = output(i);
    const std::vector<int64_t>& shape = (*shapes)[i];
    bool fits = true;
    for (int32_t d = 0; d < largest.ndim; ++d) {
      fits &= takes_size(largest, d, shape[d]);
    }
    if (!fits) {
      throw Error("CheckError", kernel_text(kernel()) + ": output " +
                                    output_text(*frame, num_inputs() + i) +
                                    " was given the shape " +
                                    tensor_text(largest.dtype, shape.data(), largest.ndim) +
                                    "\n  inference says at most " +
                                    tensor_text(largest.dtype, largest.shape, largest.ndim) +
                                    ", and which axes may be smaller");
    }
  }
}

std::vector<std::array<int32_t, 3>> CallPlan::inplace_proposals() const {
  struct Sink {
    oneop_inplace_sink abi;
    std::vector<std::array<int32_t, 3>> pairs;
  };
  const oneop_kernel_def& abi = instance_->def().abi;
  Sink sink{{sizeof(oneop_inplace_sink), nullptr}, {}};
  if (abi.propose_inplace == nullptr) {
    return {};
  }
  sink.abi.add = [](oneop_inplace_sink* self, int32_t output, int32_t input, int32_t is_mutable,
                    oneop_status*) -> int32_t {
    reinterpret_cast<Sink*>(self)->pairs.push_back({output, input, is_mutable});
    return ONEOP_OK;
  };
  Status status;
  oneop_frame frame = frame_.get();
  status.check(abi.propose_inplace(abi.self, &frame, &sink.abi, status.abi()),
               kernel_text(instance_->def()) + ", in-place proposal");
  return sink.pairs;
}

}  // namespace oneop
