// job_call.h: calling a planned job with numpy arrays.
#pragma once

#include <Python.h>

#include <memory>

#include "job.h"

namespace oneop {

// Makes the type oneop._core.JobCall.
bool add_job_call_type(PyObject* module);

// A callable that takes one array for each input and returns one array (`as_tuple`: a tuple of
// them). Whatever is not an array of exactly the expected dtype and shape, or comes by keyword, is
// handed to `general` as it is. `shapes` and `dtypes` (numpy's) describe the outputs, for `empty`
// to make new arrays.
PyObject* make_job_call(std::shared_ptr<JobProgram> program, const std::vector<at::Tensor>& inputs,
                        const std::vector<at::Tensor>& outputs, PyObject* shapes, PyObject* dtypes,
                        bool as_tuple, PyObject* empty, PyObject* general);

}  // namespace oneop
