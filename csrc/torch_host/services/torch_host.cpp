// torch_host.cpp: the services that op libraries call.
#include "torch_host/services/torch_host.h"

#include <ATen/Parallel.h>

#include <string>

#include "engine/calls/function_call.h"
#include "engine/calls/services.h"
#include "engine/ops/error.h"
#include "engine/ops/host.h"
#include "torch_host/handles/generators.h"
#include "torch_host/handles/tensor_handles.h"
#include "torch_host/handles/tensor_state.h"
#include "torch_host/handles/torch_call.h"
#include "torch_host/interpreter/python_throw.h"
#include "torch_host/ops/torch_op.h"
#include "torch_host/services/library_call.h"

namespace oneop {
namespace {

void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  void (*body)(void* context, int64_t b, int64_t e), void* context) {
  at::parallel_for(begin, end, grain, [&](int64_t b, int64_t e) { body(context, b, e); });
}

int32_t num_threads() { return at::get_num_threads(); }

// One of torch's own functions, `aten::name.overload`.
int32_t call_torch(const char* name, const oneop_value* args, int32_t num_args,
                   oneop_result* result, oneop_status* status) {
  if (oneop_symbol* symbol = find_symbol(args, num_args)) {
    return record_framework_call(symbol, name, args, num_args, result, status);
  }
  const std::vector<at::Tensor> tensors = run_torch_call(name, args, num_args);
  std::vector<oneop_handle> handles;
  for (const at::Tensor& tensor : tensors) {
    handles.push_back(borrow_handle(tensor));
  }
  oneop_value out{};
  if (handles.size() == 1) {
    out.kind = ONEOP_VALUE_TENSOR;
    out.value.tensor = handles[0];
  } else {
    out.kind = ONEOP_VALUE_TENSORS;
    out.value.list = {handles.data(), static_cast<int64_t>(handles.size())};
  }
  result->set(result, &out);
  return ONEOP_OK;
}

// oneop_host.call_function: a function of another library, or one of torch's.
int32_t call_function(const char* name, const oneop_value* args, int32_t num_args,
                      oneop_result* result, oneop_status* status) {
  int32_t code = ONEOP_OK;
  const int32_t failed = guard_service(status, [&] {
    code = is_framework_name(name) ? call_torch(name, args, num_args, result, status)
                                   : call_library_function(name, args, num_args, result, status);
  });
  return failed != ONEOP_OK ? failed : code;
}

const void* find_op(const char* name, oneop_status* status) {
  const void* op = nullptr;
  guard_service(status, [&] { op = &TorchOp::find(name); });
  return op;
}

const oneop_host* service_table() {
  static const oneop_host table = [] {
    oneop_host made{sizeof(oneop_host), ONEOP_ABI_MAJOR, ONEOP_ABI_MINOR, 0,
                    &parallel_for,      &num_threads,    &log_line,       &scratch_of_frame};
    fill_tensor_services(&made);
    made.find_op = &find_op;
    made.dispatch = &dispatch_call;
    made.call_function = &call_function;
    made.generator = &use_generator;
    made.state = &use_state;
    made.read = &read_elements;
    return made;
  }();
  return &table;
}

class TorchHost final : public Host {
 public:
  const oneop_host* services() const override { return service_table(); }
  std::shared_ptr<const FrameworkCall> record_call(const char* name, const oneop_value* args,
                                                   int32_t num_args) const override {
    return std::make_shared<const RecordedCall>(name, args, num_args);
  }
  void warn(const std::string& text) const override { warn_python(text); }
};

}  // namespace

void install_torch_host() {
  static const auto* host = new TorchHost;
  set_host(host);
}

}  // namespace oneop
