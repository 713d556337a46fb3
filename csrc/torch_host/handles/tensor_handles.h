// tensor_handles.h: tensors and calls as op libraries see them, through oneop_host.
#pragma once

#include <ATen/core/Tensor.h>

#include <exception>
#include <string>

#include "engine/ops/error.h"
#include "oneop/abi.h"

namespace oneop {

inline oneop_handle borrow_handle(const at::Tensor& tensor) { return tensor.unsafeGetTensorImpl(); }
oneop_handle give_handle(at::Tensor tensor);  // the library owns it then
at::Tensor take_handle(oneop_handle owned);   // the other way
at::Tensor tensor_of(oneop_handle handle);    // a further reference
void fill_tensor_services(oneop_host* table);

// For a catch block of a service: the exception goes into the status, and is kept for the one who
// called the library.
int32_t report_service_failure(oneop_status* status);
template <typename Act>
int32_t guard_service(oneop_status* status, const Act& act) {
  try {
    act();
    return ONEOP_OK;
  } catch (...) {
    return report_service_failure(status);
  }
}
// Throws for a callback that failed: the kept exception if that is why, else one made from the
// status.
void check_function(Status* status, int32_t code, const std::string& what);

}  // namespace oneop
