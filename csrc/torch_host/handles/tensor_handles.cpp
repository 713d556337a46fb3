// tensor_handles.cpp: retain, release, view, and errors on their way through a library.
#include "torch_host/handles/tensor_handles.h"

#include <mutex>
#include <set>
#include <vector>

#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

// An exception that went through a library as text, so that it can go on as itself.
struct Kept {
  std::exception_ptr exception;
  std::string text;
};
thread_local Kept kept;

void retain(oneop_handle handle) {
  c10::raw::intrusive_ptr::incref(static_cast<c10::intrusive_ptr_target*>(handle));
}
void release_handle(oneop_handle handle) {
  c10::raw::intrusive_ptr::decref(static_cast<c10::intrusive_ptr_target*>(handle));
}

// What needs no sizes, so that a functor may ask while torch.compile traces with symbols.
void fill_kind(const c10::TensorImpl& impl, oneop_tensor* out) {
  *out = oneop_tensor{};
  out->ndim = static_cast<int32_t>(impl.dim());
  out->dtype = to_abi(c10::typeMetaToScalarType(impl.dtype()));
  out->device_type = to_abi(impl.device().type());
  out->device_index = impl.device().index();
}

int32_t describe(oneop_handle handle, oneop_tensor* out, oneop_status* status) {
  return guard_service(status, [&] { fill_kind(*static_cast<c10::TensorImpl*>(handle), out); });
}

// The numbers behind symbolic sizes. Each is guarded: torch compiles again for other sizes. Lists
// are kept forever, because a view lives as long as its handle, and there are only as many as a
// process traces different shapes.
int64_t* guarded(c10::SymIntArrayRef symbols) {
  std::vector<int64_t> sizes;
  for (const c10::SymInt& symbol : symbols) {
    sizes.push_back(symbol.guard_int(__FILE__, __LINE__));
  }
  static std::mutex* mutex = new std::mutex;
  static auto* lists = new std::set<std::vector<int64_t>>;
  const std::lock_guard<std::mutex> lock(*mutex);
  return const_cast<int64_t*>(lists->insert(std::move(sizes)).first->data());
}

int32_t view(oneop_handle handle, oneop_tensor* out, oneop_status* status) {
  return guard_service(status, [&] {
    const auto& impl = *static_cast<c10::TensorImpl*>(handle);
    fill_kind(impl, out);
    if (!impl.has_symbolic_sizes_strides()) {
      out->shape = const_cast<int64_t*>(impl.sizes().data());
      out->stride = const_cast<int64_t*>(impl.strides().data());
      out->elem_cnt = impl.numel();
      return;
    }
    out->shape = guarded(impl.sym_sizes());
    out->stride = guarded(impl.sym_strides());
    out->elem_cnt = 1;
    for (int32_t i = 0; i < out->ndim; ++i) {
      out->elem_cnt *= out->shape[i];
    }
  });
}

int32_t requires_grad(oneop_handle handle) {
  return static_cast<c10::TensorImpl*>(handle)->requires_grad() ? 1 : 0;
}

}  // namespace

oneop_handle give_handle(at::Tensor tensor) { return std::move(tensor).unsafeReleaseTensorImpl(); }

at::Tensor take_handle(oneop_handle owned) {
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim(
      static_cast<c10::TensorImpl*>(owned)));
}

at::Tensor tensor_of(oneop_handle handle) {
  return at::Tensor(c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>::reclaim_copy(
      static_cast<c10::TensorImpl*>(handle)));
}

int32_t report_service_failure(oneop_status* status) {
  try {
    throw;
  } catch (const std::exception& error) {
    kept = {std::current_exception(), error.what()};
    return Status::fail(status, ONEOP_ERROR_RUNTIME, kept.text);
  } catch (...) {
    return Status::fail(status, ONEOP_ERROR_RUNTIME, "an exception of an unknown type");
  }
}

void check_function(Status* status, int32_t code, const std::string& what) {
  if (code == ONEOP_OK && !status->failed()) {
    return;
  }
  const Kept last = std::move(kept);
  kept = {};
  if (last.exception != nullptr && status->message().rfind(last.text, 0) == 0) {
    try {
      std::rethrow_exception(last.exception);
    } catch (c10::Error& error) {
      error.add_context(what);
      throw;
    }
  }
  status->check(code, what);
}

void fill_tensor_services(oneop_host* table) {
  table->retain = &retain;
  table->release = &release_handle;
  table->view = &view;
  table->describe = &describe;
  table->requires_grad = &requires_grad;
}

}  // namespace oneop
