// host.h: what the engine asks of the program that it runs in: torch's process, a test, another
// framework. One host, set before anything else is used.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/ops/tensor_meta.h"

namespace oneop {

// Memory that a kernel asks for while it runs, freed when the pool goes, and that of its tensors.
class ScratchPool {
 public:
  virtual void* allocate(int64_t bytes) = 0;
  // Something that keeps a tensor's memory, for views that outlive the call; null where nothing
  // can.
  virtual std::shared_ptr<void> owner_of(const void*) const { return nullptr; }

 protected:
  ~ScratchPool() = default;
};

// A call of an op of the framework, recorded as a step of a gradient. How it runs is the host's.
class FrameworkCall {
 public:
  virtual ~FrameworkCall() = default;
  // The blobs of all its tensors, one after the other.
  virtual const std::vector<int32_t>& blobs() const = 0;
  // How many tensors it returns; -1 where the shapes of its inputs decide.
  virtual int32_t num_outputs() const = 0;
  // What it returns for tensors like these, which are those of blobs(). Throws GradientError.
  virtual std::vector<TensorMeta> infer(const std::vector<const TensorMeta*>& inputs) const = 0;
};

// What the program asks of every kernel (oneop.require). It holds for the whole process: a backward
// pass runs on threads that its program never saw.
//
// The low bits are those of the ABI, ONEOP_REQUIRE_..., which only kernels that declare the
// property give. The others are for torch.use_deterministic_algorithms, which asks less: a kernel
// that says nothing is taken for deterministic, as torch takes its own.
constexpr uint32_t kAvoidNondeterministic = 1u << 16;
constexpr uint32_t kWarnOnly = 1u << 17;  // rather than refuse the call; only with the one above
uint32_t required();
void set_required(uint32_t bits);
// What kernels are shown of it, in oneop_frame.required.
uint32_t shown_to_kernels(uint32_t required);

class Host {
 public:
  virtual ~Host() = default;
  // What libraries call: threads, log, scratch memory, functions, generators.
  virtual const oneop_host* services() const = 0;
  // Throws what is wrong with the call. Tensors among the arguments are blobs.
  virtual std::shared_ptr<const FrameworkCall> record_call(const char* name,
                                                           const oneop_value* args,
                                                           int32_t num_args) const = 0;
  // Tells the program's user something; may throw where the user wants warnings to be errors.
  virtual void warn(const std::string& text) const;
};

void set_host(const Host* host);  // once; it is never destroyed
const Host& host();

}  // namespace oneop
