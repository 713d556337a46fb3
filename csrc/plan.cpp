// plan.cpp: making and running call plans.
#include "plan.h"

#include <algorithm>

#include "error.h"

namespace oneop {
namespace {

std::string kernel_text(const KernelDef& kernel) {
  return "op " + in_quotes(kernel.op_type_name) + ", kernel at " + kernel.source.text();
}

}  // namespace

KernelInstance::KernelInstance(std::shared_ptr<const KernelDef> def, Frame* frame)
    : def_(std::move(def)) {
  const oneop_kernel_def& abi = def_->abi;
  Status status;
  status.check(abi.create(abi.self, frame->abi(), &kernel_, status.abi()), kernel_text(*def_));
  if (kernel_ == nullptr) {
    throw Error("RegistrationError", kernel_text(*def_) + ": its create function gave no kernel");
  }
  always_compute_ = abi.always_compute == nullptr || abi.always_compute(kernel_) != 0;
  if (abi.create_state == nullptr) {
    return;
  }
  const int32_t code = abi.create_state(kernel_, frame->abi(), &state_, status.abi());
  if (code != ONEOP_OK || status.failed()) {
    destroy();  // a constructor that throws has no destructor
    status.check(code, kernel_text(*def_));
  }
}

KernelInstance::~KernelInstance() { destroy(); }

// One call's turn with the state of a kernel; nothing where the kernel has none.
class KernelInstance::Turn {
 public:
  explicit Turn(KernelInstance* instance)
      : instance_(instance->state_ == nullptr ? nullptr : instance) {
    if (instance_ == nullptr) {
      return;
    }
    const std::thread::id self = std::this_thread::get_id();
    if (instance_->turn_of_.load(std::memory_order_relaxed) == self) {
      throw Error("OpRuntimeError",
                  kernel_text(*instance_->def_) +
                      ": the kernel called its own op, and its state is in use\n"
                      "  call another op, or one with other attributes, from the kernel");
    }
    instance_->state_mutex_.lock();
    instance_->turn_of_.store(self, std::memory_order_relaxed);
  }
  ~Turn() {
    if (instance_ != nullptr) {
      instance_->turn_of_.store({}, std::memory_order_relaxed);
      instance_->state_mutex_.unlock();
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  KernelInstance* instance_;
};

void KernelInstance::destroy() {
  if (state_ != nullptr && def_->abi.destroy_state != nullptr) {
    def_->abi.destroy_state(state_);
  }
  if (kernel_ != nullptr && def_->abi.destroy != nullptr) {
    def_->abi.destroy(kernel_);
  }
}

CallPlan::CallPlan(RecordPtr record, const CallSpec& spec, bool infer_only)
    : record_(std::move(record)), frame_(*record_->op, spec) {
  frame_.infer();
  if (!infer_only) {
    choose(spec);
  }
}

CallPlan::CallPlan(RecordPtr record, const CallSpec& spec, std::shared_ptr<const Part> part)
    : record_(std::move(record)), part_(std::move(part)), frame_(*record_->op, spec) {
  part_->fill(&frame_);
  choose(spec);
}

void CallPlan::choose(const CallSpec& spec) {
  const std::shared_ptr<const KernelDef> kernel = choose_kernel(*record_, &frame_);
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
  instance_ = record_->plans->instance(kernel, &frame_, spec, part_.get());
  if (abi.create_cache != nullptr) {
    status.check(abi.create_cache(instance_->kernel_, frame_.abi(), &cache_, status.abi()),
                 kernel_text(*kernel));
  }
  if (num_outputs() > 0 && !instance_->always_compute()) {
    has_work_ = false;
    for (int32_t i = 0; i < num_outputs(); ++i) {
      has_work_ |= output(i).elem_cnt != 0;
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
  std::copy(shared.tensors, shared.tensors + count, tensors);
  for (int32_t i = 0; i < count; ++i) {
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
      abi.compute(instance_->kernel_, frame, instance_->state_, cache_, status.abi());
  if (code != ONEOP_OK || status.failed()) {
    status.check(code, kernel_text(instance_->def()));
  }
}

void CallPlan::run(void* const* data, void* tmp, void* stream, void* host_data) const {
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
  run_bound(&bound.frame);
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

size_t PlanKeyHash::operator()(const PlanKey& key) const {
  uint64_t hash = 0x9e3779b97f4a7c15ull;
  for (int64_t word : key) {
    hash ^= static_cast<uint64_t>(word);
    hash *= 0xff51afd7ed558ccdull;
    hash ^= hash >> 32;
  }
  return hash;
}

std::shared_ptr<const CallPlan> PlanCache::find(const PlanKey& key) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto plan = plans_.find(key);
  return plan == plans_.end() ? nullptr : plan->second;
}

void PlanCache::insert(const PlanKey& key, std::shared_ptr<const CallPlan> plan) {
  Plans dropped;  // destroyed after the lock is released
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_closed_) {
    return;
  }
  if (plans_.size() >= kLimit) {
    dropped.swap(plans_);
  }
  plans_[key].swap(plan);
}

size_t PlanCache::size() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return plans_.size();
}

void PlanCache::close() {
  Plans plans;
  Instances instances;
  Instances stateful;
  std::lock_guard<std::mutex> lock(mutex_);
  is_closed_ = true;
  plans.swap(plans_);
  instances.swap(instances_);
  stateful.swap(stateful_);
}

std::shared_ptr<KernelInstance> PlanCache::instance(std::shared_ptr<const KernelDef> kernel,
                                                    Frame* frame, const CallSpec& spec,
                                                    const Part* part) {
  PlanKey key{reinterpret_cast<int64_t>(kernel.get()), spec.device_type, spec.device_index};
  for (const AttrValue& attr : spec.attrs) {
    attr.append_key(&key);
  }
  if (part != nullptr) {
    key.insert(key.end(), part->words().begin(), part->words().end());
  }
  const auto known = [&]() -> std::shared_ptr<KernelInstance> {
    for (const Instances* instances : {&stateful_, &instances_}) {
      if (const auto found = instances->find(key); found != instances->end()) {
        return found->second;
      }
    }
    return nullptr;
  };
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto found = known()) {
      return found;
    }
  }
  // Two threads may both come here. The first to insert wins, so that all calls share one state.
  auto made = std::make_shared<KernelInstance>(std::move(kernel), frame);
  std::shared_ptr<KernelInstance> spare;  // these two are destroyed after the lock is released
  Instances dropped;
  std::lock_guard<std::mutex> lock(mutex_);
  if (auto found = known()) {
    spare = std::move(made);
    return found;
  }
  if (is_closed_) {
    return made;
  }
  if (made->has_state()) {
    stateful_[key] = made;
    return made;
  }
  if (instances_.size() >= kLimit) {
    dropped.swap(instances_);
  }
  instances_[key] = made;
  return made;
}

}  // namespace oneop
