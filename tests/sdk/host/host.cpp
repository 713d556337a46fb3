// tests/sdk/host/host.cpp: a host without torch. It loads op libraries and drives their callbacks
// with frames that a script on standard input describes, one command a line; the answers go to
// standard output.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "sinks.h"

// Counts what libraries allocate too: the host is linked with -rdynamic.
static long news = 0;
// Not inlined: g++ 12 would see the free() of memory that came from new, and warn.
__attribute__((noinline)) void* operator new(size_t bytes) {
  __atomic_add_fetch(&news, 1, __ATOMIC_RELAXED);
  void* memory = std::malloc(bytes);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

using namespace test_host;  // NOLINT

namespace {

class Host {
 public:
  int Run() {
    for (std::string line; std::getline(std::cin, line);) {
      Words words;
      std::istringstream stream(line);
      for (std::string word; stream >> word;) {
        words.push_back(word);
      }
      if (!words.empty()) {
        Do(words);
      }
    }
    return 0;
  }

 private:
  void Do(const Words& w) {
    const std::string& verb = w[0];
    if (verb == "lib") {
      Load(w[1], w.size() > 2 ? std::stoul(w[2]) : ONEOP_ABI_MAJOR);
    } else if (verb == "describe") {
      Describe(library_);
    } else if (verb == "op") {
      call_ = std::make_unique<Call>();
      call_->type = w[1];
      call_->name = w.size() > 2 ? w[2] : w[1] + "_0";
      call_->frame.device_type = ONEOP_DEVICE_CPU;
    } else if (verb == "device") {
      call_->frame.device_type = std::stoi(w[1]);
    } else if (verb == "in") {  // in ARG, then a line `t` for each tensor
      call_->inputs.emplace_back();
      call_->inputs.back().arg = {call_->Text(w[1]), static_cast<int32_t>(call_->tensors.size()),
                                  0};
    } else if (verb == "t") {
      BigTensor tensor;
      tensor.tensor = call_->NewTensor(w, 1);
      call_->tensors.push_back(tensor);
      ++call_->inputs.back().arg.count;
    } else if (verb == "strides") {
      for (size_t i = 1; i < w.size(); ++i) {
        call_->tensors.back().tensor.stride[i - 1] = std::stoll(w[i]);
      }
    } else if (verb == "out") {
      call_->AddOutputs(w[1], w.size() > 2 ? std::stoi(w[2]) : 1);
    } else if (verb == "attr") {
      call_->AddAttr(w);
    } else if (verb == "needs" || verb == "has") {
      auto& flags = verb == "needs" ? call_->needs_grad : call_->has_grad;
      for (size_t i = 1; i < w.size(); ++i) {
        flags.push_back(w[i] == "1");
      }
    } else if (verb == "mesh") {  // one dimension; S0, B, P for each tensor
      call_->frame.sbp_dims = 1;
      for (size_t i = 1; i < w.size(); ++i) {
        const int32_t kind = w[i][0] == 'S' ? 1 : w[i][0] == 'B' ? 2 : 3;
        call_->sbp.push_back({kind, kind == 1 ? std::stoi(w[i].substr(1)) : 0});
      }
    } else if (verb == "infer" || verb == "infer_physical" || verb == "infer_dtype" ||
               verb == "check") {
      const oneop_op_def* op = Op();
      const auto fn = verb == "infer"            ? op->infer_logical
                      : verb == "infer_physical" ? op->infer_physical
                      : verb == "infer_dtype"    ? op->infer_dtype
                                                 : op->check_attrs;
      Status status;
      const int32_t code = fn(op->self, call_->Frame(), &status);
      std::cout << verb << " " << code << "\n";
      if (code == ONEOP_OK && verb != "check") {
        PrintOutputs(false);
      }
    } else if (verb == "match") {
      for (int32_t i = 0; i != library_->num_kernels; ++i) {
        if (call_->type != library_->kernels[i]->op_type_name) {
          continue;
        }
        const std::string matched = Matches(library_->kernels[i]);
        std::cout << "match " << matched << " " << library_->kernels[i]->predicate << "\n";
      }
    } else if (verb == "allocations") {  // of the last kernel that ran
      std::cout << "allocations " << allocations_ << "\n";
    } else if (verb == "run") {
      Compute(w.size() > 1 ? std::stoi(w[1]) : 1);
    } else if (verb == "inplace") {
      InplaceSink sink;
      Status status;
      const oneop_kernel_def* kernel = Kernel();
      const int32_t code = kernel->propose_inplace(kernel->self, call_->Frame(), &sink, &status);
      std::cout << "done " << code << "\n";
    } else if (verb == "grad") {
      Grad();
    } else if (verb == "sbp" || verb == "nd_sbp") {
      SbpSink sink;
      Status status;
      const auto fn = verb == "sbp" ? Op()->get_sbp : Op()->infer_nd_sbp;
      const int32_t code = fn(Op()->self, call_->Frame(), &sink, &status);
      std::cout << "done " << code << "\n";
    } else if (verb == "count") {
      double operations = -1;
      Status status;
      const int32_t code = Op()->count_operations(Op()->self, call_->Frame(), &operations, &status);
      std::cout << "count " << code << " " << operations << "\n";
    } else if (verb == "modify_inputs" || verb == "modify_outputs") {
      Modify(verb == "modify_inputs");
    } else {
      std::cout << "unknown command " << verb << "\n";
    }
  }

  void Load(const std::string& path, uint32_t major) {
    void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::cout << "error dlopen " << dlerror() << "\n";
      return;
    }
    const auto plugin = reinterpret_cast<oneop_plugin_fn>(dlsym(handle, "oneop_plugin"));
    oneop_handshake handshake{};
    handshake.size = sizeof handshake;
    handshake.host_abi_major = major;
    handshake.host = &kHost;
    const int32_t code = plugin(&handshake);
    library_ = handshake.library;
    std::cout << "lib " << code << " " << handshake.library_abi_major << "."
              << handshake.library_abi_minor << " " << handshake.library_sdk
              << (library_ ? "" : " refused") << "\n";
  }
  const oneop_op_def* Op() const {
    for (int32_t i = 0; i != library_->num_ops; ++i) {
      if (call_->type == library_->ops[i]->name) {
        return library_->ops[i];
      }
    }
    std::cout << "no such op\n" << std::flush;
    std::exit(3);
  }
  std::string Matches(const oneop_kernel_def* kernel) {
    int32_t matched = 1;
    Status status;
    if (kernel->is_matched == nullptr) {
      return "1";
    }
    const int32_t code = kernel->is_matched(kernel->self, call_->Frame(), &matched, &status);
    return code == ONEOP_OK ? std::to_string(matched) : "failed";
  }
  const oneop_kernel_def* Kernel() {
    const oneop_kernel_def* best = nullptr;
    for (int32_t i = 0; i != library_->num_kernels; ++i) {
      const oneop_kernel_def* k = library_->kernels[i];
      if (call_->type != k->op_type_name || Matches(k) != "1") {
        continue;
      }
      if (best == nullptr || k->priority > best->priority) {
        best = k;
      }
    }
    return best;
  }
  void PrintOutputs(bool values) {
    for (size_t i = call_->tensors.size() - call_->frame.num_output_tensors;
         i != call_->tensors.size(); ++i) {
      PrintTensor("out", call_->tensors[i].tensor, values);
    }
  }
  void Compute(int times) {
    const oneop_op_def* op = Op();
    Status status;
    if (op->infer_logical && op->infer_logical(op->self, call_->Frame(), &status)) {
      return;
    }
    if (op->infer_dtype && op->infer_dtype(op->self, call_->Frame(), &status)) {
      return;
    }
    for (size_t i = call_->tensors.size() - call_->frame.num_output_tensors;
         i != call_->tensors.size(); ++i) {
      call_->Allocate(&call_->tensors[i].tensor);
    }
    const oneop_kernel_def* kernel = Kernel();
    if (kernel == nullptr) {
      std::cout << "no kernel\n";
      return;
    }
    int64_t bytes = 0;
    if (kernel->infer_tmp_size &&
        kernel->infer_tmp_size(kernel->self, call_->Frame(), &bytes, &status)) {
      return;
    }
    if (bytes > 0) {
      std::cout << "tmp " << bytes << "\n";
      call_->tmp.dtype = ONEOP_DTYPE_CHAR;
      call_->tmp.ndim = 1;
      call_->tmp.shape = call_->Dims();
      call_->tmp.stride = call_->Dims();
      call_->tmp.shape[0] = bytes;
      call_->Allocate(&call_->tmp);
      call_->frame.tmp_buffer = &call_->tmp;
    }
    void *object = nullptr, *state = nullptr, *cache = nullptr;
    if (kernel->create(kernel->self, call_->Frame(), &object, &status)) {
      return;
    }
    std::cout << "always_compute " << kernel->always_compute(object) << "\n";
    int32_t code = ONEOP_OK;
    if (kernel->create_state) {
      code = kernel->create_state(object, call_->Frame(), &state, &status);
    }
    if (code == ONEOP_OK && kernel->create_cache) {
      code = kernel->create_cache(object, call_->Frame(), &cache, &status);
    }
    for (int i = 0; i != times && code == ONEOP_OK; ++i) {
      oneop_frame* frame = call_->Frame();
      const long before = news;
      code = kernel->compute(object, frame, state, cache, &status);
      allocations_ = news - before;
      if (code == ONEOP_OK) {
        PrintOutputs(true);
      }
    }
    std::cout << "run " << code << "\n";
    if (cache) {
      kernel->destroy_cache(cache);
    }
    if (state) {
      kernel->destroy_state(state);
    }
    kernel->destroy(object);
  }
  void Grad() {
    for (int32_t i = 0; i != library_->num_grads; ++i) {
      const oneop_grad_def* grad = library_->grads[i];
      if (call_->type != grad->op_type_name) {
        continue;
      }
      GradSink sink;
      Status status;
      const int32_t code = grad->generate(grad->self, call_->Frame(), &sink, &status);
      std::cout << "grad " << code << "\n";
    }
  }
  void Modify(bool inputs) {
    const oneop_frame* frame = call_->Frame();
    std::vector<oneop_arg_modifier> modifiers(
        static_cast<size_t>(inputs ? frame->num_input_tensors : frame->num_output_tensors),
        {0, 1, 1, 0});
    Status status;
    const auto fn = inputs ? Op()->modify_inputs : Op()->modify_outputs;
    const int32_t code = fn(Op()->self, call_->Frame(), modifiers.data(), &status);
    std::cout << "modify " << code;
    for (const auto& m : modifiers) {
      std::cout << " " << m.is_mutable << m.requires_grad << m.header_inferred_before_compute;
    }
    std::cout << "\n";
  }

  const oneop_library* library_ = nullptr;
  std::unique_ptr<Call> call_;
  long allocations_ = 0;
};

}  // namespace

int main() { return Host().Run(); }
