// oneop/sdk/guard.h: the edge. Every callback that the host gets runs inside Guard, which lets no exception out.
#ifndef ONEOP_SDK_GUARD_H_
#define ONEOP_SDK_GUARD_H_

#include "oneflow/core/framework/user_op_tensor.h"

namespace oneop ONEOP_HIDDEN {
namespace sdk {

// Where an author's function was registered: the place of an error that has none of its own.
struct Place {
  const char* file;
  int32_t line;
};

ONEOP_COLD inline int32_t Report(oneop_status* status, int32_t kind, std::string_view message,
                                 const char* file, int32_t line) {
  status->report(status, kind, message.data(), static_cast<int64_t>(message.size()), file, line);
  return kind;
}

ONEOP_COLD inline int32_t ReportError(oneop_status* status, const oneflow::Error& error,
                                      Place place) {
  const bool located = error.file() != nullptr;
  return Report(status, error.kind(), error.Message(), located ? error.file() : place.file,
                located ? error.line() : place.line);
}

// Called in a catch block.
ONEOP_COLD inline int32_t ReportCurrentException(const oneop_frame* frame, oneop_status* status,
                                                 Place place) {
  try {
    throw;
  } catch (const TensorTypeMismatch& e) {
    return Report(status, ONEOP_ERROR_TYPE, e.Describe(frame), place.file, place.line);
  } catch (const oneflow::Exception& e) {
    return ReportError(status, e.error(), place);
  } catch (const std::exception& e) {
    return Report(status, ONEOP_ERROR_RUNTIME, e.what(), place.file, place.line);
  } catch (...) {
    return Report(status, ONEOP_ERROR_RUNTIME, "an exception of an unknown type", place.file,
                  place.line);
  }
}

template <class Body>
int32_t Guard(const oneop_frame* frame, oneop_status* status, Place place, const Body& body) {
  try {
    body();
    return ONEOP_OK;
  } catch (...) {
    return ReportCurrentException(frame, status, place);
  }
}

}  // namespace sdk
}  // namespace oneop

#endif  // ONEOP_SDK_GUARD_H_
