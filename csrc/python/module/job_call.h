// job_call.h: calling a planned job with numpy arrays.
#pragma once

#include <Python.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "python/module/job_run.h"

namespace oneop {

// Makes the type oneop._core.JobEntry, the base class of jobs. A call goes to the method `_call` of
// the subclass until enter_job has been called, and then wherever the arguments are not arrays of
// exactly the expected dtype and shape, come by keyword, or an op was registered since.
bool add_job_entry_type(PyObject* module);

// What plans depend on beside their calls, as one number: the registry, and what is required.
uint64_t epoch_of_plans();

// Lets calls of the entry run the program as long as epoch_of_plans() is `epoch`: one array for
// each input gives one array (`as_tuple`: a tuple of them). The dtypes are numpy's. False if
// `entry` is no JobEntry. `training` may not lead back to the entry. Needs the GIL, as leave_job
// does.
bool enter_job(PyObject* entry, std::shared_ptr<JobProgram> program,
               const std::vector<at::Tensor>& inputs, const std::vector<PyObject*>& input_dtypes,
               const std::vector<at::Tensor>& outputs, const std::vector<PyObject*>& output_dtypes,
               bool as_tuple, uint64_t epoch, Training training);

// Sends all calls to `_call` again. False if `entry` is no JobEntry.
bool leave_job(PyObject* entry);

}  // namespace oneop
