// tensor_state.cpp: questions to autograd, and copies of elements.
#include "torch_host/handles/tensor_state.h"

#include <ATen/ATen.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <c10/core/GradMode.h>

#include <cstring>
#include <string>

#include "engine/ops/error.h"
#include "torch_host/handles/generators.h"
#include "torch_host/handles/tensor_handles.h"

namespace oneop {
namespace {

void set_requires_grad(const at::Tensor& tensor, bool value) {
  if (tensor.requires_grad() == value) {
    return;
  }
  // Each run of a traced program makes the tensor again, and does not repeat this.
  if (is_traced()) {
    throw Error("OpNotImplementedError",
                "a functor sets requires_grad of a tensor while it is traced: the compiled program "
                "would not\n  call requires_grad_() on what the function returns");
  }
  tensor.set_requires_grad(value);
}

}  // namespace

int32_t use_state(oneop_handle handle, int32_t act, int64_t* value, oneop_status* status) {
  return guard_service(status, [&] {
    switch (act) {
      case ONEOP_STATE_GRAD_ENABLED:
        *value = c10::GradMode::is_enabled() ? 1 : 0;
        return;
      case ONEOP_STATE_SET_GRAD_ENABLED:
        c10::GradMode::set_enabled(*value != 0);
        return;
      case ONEOP_STATE_IS_LEAF:
        *value = tensor_of(handle).is_leaf() ? 1 : 0;
        return;
      case ONEOP_STATE_SET_REQUIRES_GRAD:
        set_requires_grad(tensor_of(handle), *value != 0);
        return;
      case ONEOP_STATE_STORAGE_OFFSET:
        *value = tensor_of(handle).sym_storage_offset().guard_int(__FILE__, __LINE__);
        return;
      default:
        throw Error("OpNotImplementedError",
                    "a library asks something about a tensor that this version does not know");
    }
  });
}

int32_t read_elements(oneop_handle handle, void* to, int64_t bytes, oneop_status* status) {
  return guard_service(status, [&] {
    const at::Tensor tensor = tensor_of(handle);
    if (is_traced() || tensor.is_meta() || at::isTensorSubclassLike(tensor)) {
      throw Error("OpNotImplementedError",
                  "a functor reads the elements of a tensor while it is traced or batched: there "
                  "are none yet\n  compute with ops what depends on them");
    }
    const at::Tensor here = tensor.detach().to(at::kCPU).contiguous();
    if (static_cast<int64_t>(here.nbytes()) != bytes) {
      throw Error("ArgumentError", "a tensor of " + std::to_string(here.nbytes()) +
                                       " bytes is read into " + std::to_string(bytes) + " bytes");
    }
    if (bytes != 0) {
      std::memcpy(to, here.const_data_ptr(), static_cast<size_t>(bytes));
    }
  });
}

}  // namespace oneop
