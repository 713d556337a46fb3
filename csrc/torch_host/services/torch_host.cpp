// torch_host.cpp: the services that op libraries call.
#include "torch_host/services/torch_host.h"

#include <ATen/Parallel.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "engine/ops/abi_read.h"
#include "engine/ops/error.h"
#include "engine/ops/functions.h"
#include "engine/ops/host.h"
#include "torch_host/handles/generators.h"
#include "torch_host/handles/tensor_handles.h"
#include "torch_host/handles/tensor_state.h"
#include "torch_host/handles/torch_call.h"
#include "torch_host/ops/torch_op.h"
#include "torch_host/services/library_call.h"

namespace oneop {
namespace {

void parallel_for(int64_t begin, int64_t end, int64_t grain,
                  void (*body)(void* context, int64_t b, int64_t e), void* context) {
  at::parallel_for(begin, end, grain, [&](int64_t b, int64_t e) { body(context, b, e); });
}

int32_t num_threads() { return at::get_num_threads(); }

void log(int32_t level, const char* message, int64_t length, const char* file, int32_t line) {
  static const char* const kNames[] = {"debug", "info", "warning", "error"};
  const char* name = kNames[level < 0 ? 0 : level > 3 ? 3 : level];
  std::fprintf(stderr, "oneop %s: %.*s (%s:%d)\n", name, static_cast<int>(length), message,
               file == nullptr ? "?" : file, line);
}

void* scratch(const oneop_frame* frame, int64_t bytes, oneop_status* status) {
  if (frame->host_data == nullptr) {
    Status::fail(status, ONEOP_ERROR_RUNTIME,
                 "scratch memory is available only while a kernel runs");
    return nullptr;
  }
  try {
    return static_cast<ScratchPool*>(frame->host_data)->allocate(bytes);
  } catch (const std::exception&) {  // it must not pass through a library's frames
    Status::fail(status, ONEOP_ERROR_RUNTIME,
                 std::to_string(bytes) + " bytes of scratch memory cannot be allocated");
    return nullptr;
  }
}

// The first symbol among the arguments, or null.
oneop_symbol* find_symbol(const oneop_value* args, int32_t num_args) {
  const auto symbol_of = [](oneop_handle handle) {
    const auto address = reinterpret_cast<uintptr_t>(handle);
    return (address & 1) != 0 ? reinterpret_cast<oneop_symbol*>(address - 1) : nullptr;
  };
  for (int32_t i = 0; i < num_args; ++i) {
    const bool is_list = args[i].kind == ONEOP_VALUE_TENSORS;
    const auto* handles =
        is_list ? static_cast<const oneop_handle*>(args[i].value.list.data) : &args[i].value.tensor;
    const int64_t count = is_list                              ? args[i].value.list.count
                          : args[i].kind == ONEOP_VALUE_TENSOR ? 1
                                                               : 0;
    for (int64_t k = 0; k < count; ++k) {
      if (oneop_symbol* symbol = symbol_of(handles[k])) {
        return symbol;
      }
    }
  }
  return nullptr;
}

// One of torch's own functions, `aten::name.overload`.
int32_t call_torch(const char* name, const oneop_value* args, int32_t num_args,
                   oneop_result* result, oneop_status* status) {
  if (oneop_symbol* symbol = find_symbol(args, num_args)) {
    const auto record = take(symbol).record_function;
    if (record == nullptr) {
      throw Error("OpNotImplementedError",
                  text(name) +
                      " is called in a gradient of a library that was built with an older oneop\n"
                      "  rebuild that library");
    }
    return record(symbol, name, args, num_args, result, status);
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
    if (std::strstr(name, "::") != nullptr) {
      code = call_torch(name, args, num_args, result, status);
      return;
    }
    const FunctionPtr def = Functions::global().find_cpp(name, args, num_args);
    code = def->abi.call(def->abi.self, args, num_args, result, status);
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
    oneop_host made{sizeof(oneop_host),
                    ONEOP_ABI_MAJOR,
                    ONEOP_ABI_MINOR,
                    0,
                    &parallel_for,
                    &num_threads,
                    &log,
                    &scratch};
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
};

}  // namespace

void install_torch_host() {
  static const auto* host = new TorchHost;
  set_host(host);
}

}  // namespace oneop
