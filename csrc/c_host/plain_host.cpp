// plain_host.cpp: the services that op libraries call. Kernels get threads, scratch memory and
// random numbers; there are no tensors that a library could hold, so what works on them is refused.
#include "c_host/plain_host.h"

#include "c_host/generator.h"
#include "c_host/named_call.h"
#include "c_host/threads.h"
#include "engine/calls/function_call.h"
#include "engine/calls/services.h"
#include "engine/ops/error.h"
#include "engine/registry/registry.h"

namespace oneop {
namespace {

int32_t refuse(oneop_status* status) {
  return Status::fail(status, ONEOP_ERROR_NOT_IMPLEMENTED,
                      "this host runs kernels and records gradients; functions that work on "
                      "tensors need torch");
}

// oneop_host.call_function: in a gradient that is being recorded, or a function of a library on
// what is not a tensor.
int32_t call_function(const char* name, const oneop_value* args, int32_t num_args,
                      oneop_result* result, oneop_status* status) {
  try {
    if (!is_framework_name(name)) {
      return call_library_function(name, args, num_args, result, status);
    }
    oneop_symbol* symbol = find_symbol(args, num_args);
    return symbol == nullptr ? refuse(status)
                             : record_framework_call(symbol, name, args, num_args, result, status);
  } catch (const std::exception& error) {
    return Status::fail(status, ONEOP_ERROR_RUNTIME, error.what());
  }
}

const void* find_op(const char* name, oneop_status* status) {
  try {
    Registry::global().get(name);
    return Registry::global().find_slot(name);
  } catch (const std::exception& error) {
    Status::fail(status, ONEOP_ERROR_RUNTIME, error.what());
    return nullptr;
  }
}

int32_t use_state(oneop_handle, int32_t act, int64_t* value, oneop_status* status) {
  if (act == ONEOP_STATE_GRAD_ENABLED) {
    *value = 0;
    return ONEOP_OK;
  }
  return act == ONEOP_STATE_SET_GRAD_ENABLED ? ONEOP_OK : refuse(status);
}

// Every entry is there: libraries ask for the size of the table, not for each function.
const oneop_host* service_table() {
  static const oneop_host table = [] {
    oneop_host made{};
    made.size = sizeof made;
    made.abi_major = ONEOP_ABI_MAJOR;
    made.abi_minor = ONEOP_ABI_MINOR;
    made.parallel_for = &run_parallel;
    made.num_threads = &num_threads;
    made.log = &log_line;
    made.scratch = &scratch_of_frame;
    made.retain = [](oneop_handle) {};
    made.release = [](oneop_handle) {};
    made.view = [](oneop_handle, oneop_tensor*, oneop_status* status) { return refuse(status); };
    made.describe = made.view;
    made.requires_grad = [](oneop_handle) { return int32_t{0}; };
    made.find_op = &find_op;
    made.dispatch = [](const oneop_call*, oneop_handle*, oneop_status* status) {
      return refuse(status);
    };
    made.call_function = &call_function;
    made.generator = &use_plain_generator;
    made.state = &use_state;
    made.read = [](oneop_handle, void*, int64_t, oneop_status* status) { return refuse(status); };
    return made;
  }();
  return &table;
}

class PlainHost final : public Host {
 public:
  const oneop_host* services() const override { return service_table(); }
  std::shared_ptr<const FrameworkCall> record_call(const char* name, const oneop_value* args,
                                                   int32_t num_args) const override {
    return std::make_shared<const NamedCall>(name, args, num_args);
  }
};

}  // namespace

void install_plain_host() {
  static const auto* host = [] {
    const auto* made = new PlainHost;
    set_host(made);
    return made;
  }();
  (void)host;
}

}  // namespace oneop
