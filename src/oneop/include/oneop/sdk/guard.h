// The edge: what an exception inside a callback becomes. No exception leaves a callback.
#ifndef ONEOP_SDK_GUARD_H_
#define ONEOP_SDK_GUARD_H_

#include "oneflow/core/framework/user_op_tensor.h"

ONEOP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Where an author's function was registered: the place of an error that has none of its own.
struct Place {
  const char* file;
  int32_t line;
};

// Called in a catch block. Returns the kind, as the callback then does.
ONEOP_COLD inline int32_t ReportCurrentException(const oneop_frame* frame, oneop_status* status,
                                                 Place place) {
  int32_t kind = ONEOP_ERROR_RUNTIME;
  const auto report = [&](std::string_view text) {
    status->report(status, kind, text.data(), static_cast<int64_t>(text.size()), place.file,
                   place.line);
    return kind;
  };
  try {
    throw;
  } catch (const oneflow::Exception& e) {
    const oneflow::Error::Contents* contents = e.error().contents();
    kind = contents->kind;
    if (contents->file != nullptr) {
      place = {contents->file, contents->line};
    }
    if (contents->tensor == nullptr) {
      return report(e.what());
    }
    return report(NameTensor(frame, contents->tensor, e.what()));
  } catch (const std::exception& e) {
    return report(e.what());
  } catch (...) {
    return report("an exception of an unknown type");
  }
}

}  // namespace sdk
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_SDK_GUARD_H_
