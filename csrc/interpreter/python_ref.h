// python_ref.h: holding Python objects and calling Python from the core, whose threads may not have
// the GIL.
#pragma once

#include <Python.h>

#include <memory>
#include <string>

#include "engine/ops/defs.h"
#include "engine/ops/error.h"

namespace oneop {

class Gil {
 public:
  Gil() : state_(PyGILState_Ensure()) {}
  ~Gil() { PyGILState_Release(state_); }
  Gil(const Gil&) = delete;
  Gil& operator=(const Gil&) = delete;

 private:
  PyGILState_STATE state_;
};

class ReleaseGil {
 public:
  ReleaseGil() : state_(PyEval_SaveThread()) {}
  ~ReleaseGil() { PyEval_RestoreThread(state_); }
  ReleaseGil(const ReleaseGil&) = delete;
  ReleaseGil& operator=(const ReleaseGil&) = delete;

 private:
  PyThreadState* state_;
};

// A reference that may be copied and dropped by any thread, with locks held or at the thread's end:
// dropping the last one never waits for the GIL. A thread that does not hold it puts the object on
// a list, which the main thread works off soon, or drop_released() does.
using PyShared = std::shared_ptr<PyObject>;
PyShared share(PyObject* object);  // adds a reference; null gives null
void drop_released();              // the GIL is held

// The exception that is set, which is cleared; null if there is none.
PyShared take_exception();

// Takes the exception that is set and makes an Error of it: class by its own class, the text it
// has, itself as the cause. `what` names the op and the act.
Error raised_error(const std::string& what, const Source& source);

// The same for a callback of the ABI; returns the kind.
int32_t report_raised(oneop_status* status, const Source& source);

}  // namespace oneop
