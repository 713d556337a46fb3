// runtime.cpp: the table of oneop/runtime.h. Exceptions end here.
#include "oneop/runtime.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <mutex>
#include <set>

#include "c_host/attr_words.h"
#include "c_host/differentiate.h"
#include "c_host/generator.h"
#include "c_host/grad_steps.h"
#include "c_host/named_call.h"
#include "c_host/plain_host.h"
#include "c_host/registration.h"
#include "c_host/request.h"
#include "c_host/run.h"
#include "c_host/threads.h"
#include "engine/ops/abi_read.h"
#include "engine/ops/error.h"
#include "engine/ops/host.h"
#include "engine/registry/registry.h"

struct oneop_plan {
  oneop::CallPlan plan;
};
struct oneop_grad {
  oneop::GradSteps steps;
};

namespace oneop {
namespace {

thread_local std::string error_text;
thread_local const char* error_class = "";

int32_t kind_of(const std::string& cls) {
  if (cls == "ArgumentError" || cls == "OpTypeError") {
    return ONEOP_ERROR_TYPE;
  }
  if (cls == "OpValueError" || cls == "RegistrationError" || cls == "DuplicateOpError") {
    return ONEOP_ERROR_VALUE;
  }
  if (cls == "OpIndexError") {
    return ONEOP_ERROR_INDEX;
  }
  if (cls == "CheckError") {
    return ONEOP_ERROR_CHECK;
  }
  const bool is_missing = cls == "KernelNotFoundError" || cls == "GradientNotFoundError" ||
                          cls == "OpNotImplementedError";
  return is_missing ? ONEOP_ERROR_NOT_IMPLEMENTED : ONEOP_ERROR_RUNTIME;
}

// Runs `act`; an exception becomes this thread's last error, and its kind is returned.
template <typename Act>
int32_t guard(const Act& act) noexcept {
  try {
    act();
    return ONEOP_OK;
  } catch (const Error& error) {
    error_text = error.what();
    error_class = error.cls();
  } catch (const std::exception& error) {
    error_text = error.what();
    error_class = "OpRuntimeError";
  } catch (...) {
    error_text = "an exception of an unknown type";
    error_class = "OpRuntimeError";
  }
  return kind_of(error_class);
}

// The same for functions that return a pointer: null.
template <typename T, typename Make>
T* guard_pointer(const Make& make) noexcept {
  T* made = nullptr;
  guard([&] { made = make(); });
  return made;
}

const OpSlot& slot_of(const oneop_op* op) {
  if (op == nullptr) {
    throw Error("OpNotFoundError", "expected an op, found a null pointer: find_op gave none");
  }
  return *reinterpret_cast<const OpSlot*>(op);
}

RecordPtr record_of(const oneop_op* op) { return Registry::global().get(slot_of(op).name); }

// A request of version 1.0 ends before its numbers of counts, which are 0 then.
oneop_request checked(const oneop_request* request) {
  constexpr size_t kLeast = offsetof(oneop_request, num_input_counts);
  if (request == nullptr || request->size < kLeast) {
    throw Error("AbiError", "oneop_request.size: expected at least " + std::to_string(kLeast));
  }
  oneop_request whole{};
  std::memcpy(&whole, request, std::min<size_t>(request->size, sizeof whole));
  return whole;
}

oneop_plan* make_plan(const oneop_op* op, const oneop_request* request, bool infer_only) {
  return guard_pointer<oneop_plan>([&] {
    const RecordPtr record = record_of(op);
    return new oneop_plan{{record, spec_of(*record->op, checked(request)), infer_only}};
  });
}

oneop_plan* prepare_words(const oneop_op* op, const oneop_request* request, const int64_t* words,
                          int64_t num_words) {
  return guard_pointer<oneop_plan>([&] {
    const RecordPtr record = record_of(op);
    const OpDef& def = *record->op;
    return new oneop_plan{
        {record, spec_of(def, checked(request), values_of(def, words, num_words)), false}};
  });
}

void list_ops(void (*visit)(void* context, const oneop_op* op, const char* name), void* context) {
  guard([&] {
    for (const std::string& name : Registry::global().op_names()) {
      visit(context, reinterpret_cast<const oneop_op*>(Registry::global().find_slot(name)),
            name.c_str());
    }
  });
}

const oneop_op* find_op(const char* name) {
  return guard_pointer<const oneop_op>([&] {
    Registry& registry = Registry::global();
    const std::string whole = registry.resolve(text(name));
    registry.get(whole);
    return reinterpret_cast<const oneop_op*>(registry.find_slot(whole));
  });
}

const oneop_op_def* definition(const oneop_op* op) {
  return guard_pointer<const oneop_op_def>([&] {
    static auto* mutex = new std::mutex;
    static auto* asked = new std::set<RecordPtr>;  // what was handed out stays
    const RecordPtr record = record_of(op);
    const std::lock_guard<std::mutex> lock(*mutex);
    return &(*asked->insert(record).first)->op->abi;
  });
}

oneop_grad* make_grad(const oneop_op* op, const oneop_request* request, const uint8_t* needs_grad) {
  return guard_pointer<oneop_grad>([&] {
    const RecordPtr record = record_of(op);
    const CallSpec spec = spec_of(*record->op, checked(request));
    std::vector<uint8_t> needs;
    if (needs_grad != nullptr) {
      needs.assign(needs_grad, needs_grad + spec.inputs.size());
    }
    return new oneop_grad{GradSteps(differentiate(*record, spec, std::move(needs), ""))};
  });
}

int32_t run_dynamic(const oneop_plan* plan, void* const* data, void* scratch, void* stream,
                    int64_t* const* shapes) {
  return guard([&] {
    CallPlan::Shapes made;
    run_on(plan->plan, data, scratch, stream, &made);
    for (int32_t i = 0; i < plan->plan.num_outputs(); ++i) {
      const oneop_tensor& largest = plan->plan.output(i);
      const int64_t* sizes = made.empty() ? largest.shape : made[i].data();
      if (shapes[i] != nullptr) {
        std::copy(sizes, sizes + largest.ndim, shapes[i]);
      }
    }
  });
}

// long: a line for each function of the header.
oneop_runtime make_table() {
  oneop_runtime table{};
  table.size = sizeof table;
  table.major = ONEOP_RUNTIME_MAJOR;
  table.minor = ONEOP_RUNTIME_MINOR;
  table.last_error = [] { return error_text.c_str(); };
  table.last_error_class = [] { return error_class; };
  table.set_num_threads = [](int32_t count) { return guard([&] { set_num_threads(count); }); };
  table.set_seed = &set_seed;
  table.set_framework = &set_framework;
  table.set_device_memory = &set_device_memory;
  table.load = [](const char* path, const char* name) {
    return guard([&] { register_file(text(path), text(name), ""); });
  };
  table.list_ops = &list_ops;
  table.find_op = &find_op;
  table.definition = &definition;
  table.has_gradient = [](const oneop_op* op) {
    int32_t has = 0;
    guard([&] { has = record_of(op)->grad != nullptr ? 1 : 0; });
    return has;
  };
  table.infer = [](const oneop_op* op, const oneop_request* request) {
    return make_plan(op, request, /*infer_only=*/true);
  };
  table.prepare = [](const oneop_op* op, const oneop_request* request) {
    return make_plan(op, request, /*infer_only=*/false);
  };
  table.release_plan = [](oneop_plan* plan) { delete plan; };
  table.num_outputs = [](const oneop_plan* plan) { return plan->plan.num_outputs(); };
  table.output = [](const oneop_plan* plan, int32_t i) -> const oneop_tensor* {
    return i < 0 || i >= plan->plan.num_outputs() ? nullptr : &plan->plan.output(i);
  };
  table.scratch_bytes = [](const oneop_plan* plan) { return plan->plan.tmp_bytes(); };
  table.run = [](const oneop_plan* plan, void* const* data, void* scratch, void* stream) {
    return guard([&] { run_on(plan->plan, data, scratch, stream); });
  };
  table.run_dynamic = &run_dynamic;
  table.differentiate = &make_grad;
  table.release_grad = [](oneop_grad* grad) { delete grad; };
  table.num_blobs = [](const oneop_grad* grad) { return grad->steps.plan().num_blobs; };
  table.num_steps = [](const oneop_grad* grad) {
    return static_cast<int32_t>(grad->steps.steps().size());
  };
  table.step = [](const oneop_grad* grad, int32_t i) -> const oneop_step* {
    const auto& steps = grad->steps.steps();
    return i < 0 || i >= static_cast<int32_t>(steps.size()) ? nullptr : &steps[i];
  };
  table.grad_of_input = [](const oneop_grad* grad, int32_t i) {
    const auto& grads = grad->steps.plan().grad_of_input;
    return i < 0 || i >= static_cast<int32_t>(grads.size()) ? -1 : grads[i];
  };
  table.prepare_words = &prepare_words;
  table.epoch = [] { return Registry::global().epoch() << 32 | required(); };
  return table;
}

}  // namespace
}  // namespace oneop

extern "C" __attribute__((visibility("default"))) const oneop_runtime* oneop_get_runtime(
    uint32_t major) {
  static const oneop_runtime table = [] {
    oneop::install_plain_host();
    return oneop::make_table();
  }();
  return major == ONEOP_RUNTIME_MAJOR ? &table : nullptr;
}
