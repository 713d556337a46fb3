// direct_call.h: a repeated call on plain tensors, without the dispatcher.
#pragma once

#include "torch_host/autograd/recording.h"
#include "torch_host/calls/calls.h"
#include "torch_host/calls/thread_cache.h"
#include "torch_host/ops/torch_op.h"

namespace oneop {

// The parts of a call are added in the order of the schema. If this thread made the same call of
// this op last, or the record has a plan for it, then that serves again; anything else goes through
// the dispatcher.
//
// Ownership. The caller keeps the tensors until end() has returned. From the constructor to the end
// of prepare() no Python, no op and no destructor of an author's object runs on this thread, so a
// borrowed record and the buffer of the key stay as they are: what prepare() replaces in the
// thread's cache is destroyed with this object. From prepare() on the plan is held, and with it the
// record and its layout.
class DirectCall {
 public:
  // `outputs` is empty, and holds the outputs after end().
  DirectCall(const TorchOp& op, const OpRecord& record, OutputTensors* outputs);
  ~DirectCall();
  DirectCall(const DirectCall&) = delete;
  DirectCall& operator=(const DirectCall&) = delete;

  // False where the tensor is not plain.
  bool add_tensor(const at::Tensor& tensor);
  void end_input();
  void end_inputs();
  PlanKey& key() { return key_; }  // attributes append their words
  ThreadCache& cache() { return cache_; }

  bool prepare();
  // The kernel is Python's: to let go of the GIL for it costs two more switches.
  bool holds_gil() const { return plan_->kernel().holds_gil; }
  // In this order. begin() and end() handle tensors that Python knows and so want the GIL;
  // compute() runs without it.
  void begin();
  void compute();
  void end();

 private:
  bool find_call();
  bool find_gradient();

  // What was in the thread's cache: destroyed last.
  std::shared_ptr<const CallPlan> replaced_plan_;
  RecordPtr replaced_record_;
  std::shared_ptr<const Backward> replaced_grads_[2];
  const TorchOp& op_;
  const OpRecord& record_;
  const Layout& layout_;
  ThreadCache& cache_;
  LastCall& last_;
  CallTensors tensors_;
  size_t first_of_input_ = 0;  // the tensor
  PlanKey& key_;
  size_t first_attr_word_ = 0;
  // Taken out of last_ while the call runs and put back after it, which counts no references: a
  // count would be shared by all threads that call the op.
  std::shared_ptr<const CallPlan> plan_;
  std::shared_ptr<const Backward> grad_;
  PtrOf<OpNode> node_;
  OutputTensors& outputs_;
  c10::SmallVector<uint8_t, 8> needs_;
};

// The one way to make a direct call. `add_input(a, &call)` adds the tensors of input argument `a`
// and says whether all are plain; `add_attrs(&key)` appends the words of attributes and output
// counts, in the order of append_call_key, and says whether it knows them all; `run(&call)` calls
// begin(), compute() and end(), after which `outputs` holds the outputs. False: this is no repeated
// call on plain tensors, and nothing has been done.
template <typename AddInput, typename AddAttrs, typename Run>
bool call_directly(const TorchOp& op, const OpRecord& record, OutputTensors* outputs,
                   const AddInput& add_input, const AddAttrs& add_attrs, const Run& run) {
  const Layout& layout = *record.layout;
  if (layout.mutates || !is_plain_thread()) {
    return false;
  }
  DirectCall call(op, record, outputs);
  for (size_t a = 0; a < layout.inputs.size(); ++a) {
    if (!add_input(a, &call)) {
      return false;
    }
    call.end_input();
  }
  call.end_inputs();
  if (!add_attrs(&call.key()) || !call.prepare()) {
    return false;
  }
  run(&call);
  return true;
}

}  // namespace oneop
