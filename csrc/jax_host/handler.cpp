// handler.cpp: one XLA FFI handler for all ops. It knows the headers of jaxlib and oneop/runtime.h;
// the runtime is that of the process, whose table is set when this library is loaded.
#include <string>
#include <vector>

#include "jax_host/plans.h"
#include "oneop/runtime.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace oneop {

const oneop_runtime* runtime = nullptr;

namespace {

// XLA's memory for the call that this thread runs on a device. It is given back in the order of the
// stream, when the call ends.
thread_local ffi::ScratchAllocator* current_scratch = nullptr;

void* allocate_scratch(int32_t, int64_t bytes, void*) {
  return current_scratch == nullptr ? nullptr : current_scratch->Allocate(bytes).value_or(nullptr);
}

ffi::Error run(const Place& place, const ffi::RemainingArgs& args, ffi::RemainingRets rets,
               Words words) {
  std::string problem;
  const oneop_plan* plan = find_plan(place, words, args, rets, &problem);
  if (plan == nullptr) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, problem);
  }
  constexpr size_t kInline = 16;
  void* inline_data[kInline];
  std::vector<void*> more;
  void** data = inline_data;
  if (args.size() + rets.size() > kInline) {
    more.resize(args.size() + rets.size());
    data = more.data();
  }
  for (size_t i = 0; i < args.size(); ++i) {
    data[i] = args.get<ffi::AnyBuffer>(i)->untyped_data();
  }
  for (size_t i = 0; i < rets.size(); ++i) {
    data[args.size() + i] = (*rets.get<ffi::AnyBuffer>(i))->untyped_data();
  }
  current_scratch = place.scratch;
  const int32_t code = runtime->run(plan, data, nullptr, place.stream);
  current_scratch = nullptr;
  if (code != ONEOP_OK) {
    return ffi::Error(ffi::ErrorCode::kInternal, runtime->last_error());
  }
  return ffi::Error::Success();
}

ffi::Error call(ffi::RemainingArgs args, ffi::RemainingRets rets, Words words) {
  return run(Place(), args, rets, words);
}

ffi::Error call_on_cuda(void* stream, int32_t device, ffi::ScratchAllocator scratch,
                        ffi::RemainingArgs args, ffi::RemainingRets rets, Words words) {
  return run({ONEOP_DEVICE_CUDA, device, stream, &scratch}, args, rets, words);
}

}  // namespace
}  // namespace oneop

extern "C" __attribute__((visibility("default"))) void oneop_set_runtime(
    const oneop_runtime* runtime) {
  oneop::runtime = runtime;
  runtime->set_device_memory(&oneop::allocate_scratch, [](int32_t, void*, void*) {});
}

#pragma GCC visibility push(default)
XLA_FFI_DEFINE_HANDLER_SYMBOL(
    oneop_xla_call, oneop::call,
    ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<ffi::Span<const int64_t>>("words"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(oneop_xla_call_on_cuda, oneop::call_on_cuda,
                              ffi::Ffi::Bind()
                                  .Ctx<ffi::PlatformStream<void*>>()
                                  .Ctx<ffi::DeviceOrdinal>()
                                  .Ctx<ffi::ScratchAllocator>()
                                  .RemainingArgs()
                                  .RemainingRets()
                                  .Attr<ffi::Span<const int64_t>>("words"));
#pragma GCC visibility pop
