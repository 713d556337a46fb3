// job_run.h: one run of a planned job on numpy arrays.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "interpreter/python_ref.h"
#include "torch_host/jobs/job.h"

namespace oneop {

// What a train job does around the steps of a run, in its gate: it sets the learning rate before
// them and counts them afterwards, unless one failed. All are null for other jobs.
struct Training {
  PyShared set_rate;  // called without arguments; null if the rate never changes
  at::Tensor count;   // int64
  PyShared explain;   // called with the exception of a failed run and the number of its step
};

// An input or output of a job, and the arrays that serve as it.
struct JobSlot {
  at::Tensor buffer;
  void* own_data;                   // of the buffer
  std::vector<oneop_tensor*> uses;  // where its address may be replaced; empty: data must be copied
  PyShared dtype;
  std::vector<Py_intptr_t> shape;
};

// A planned job as its entry calls it. `users` counts the entry and the calls that are under way;
// it is only touched with the GIL, so that a new plan can replace this one while it runs.
struct JobCall {
  std::shared_ptr<JobProgram> program;
  std::vector<JobSlot> inputs;
  std::vector<JobSlot> outputs;
  bool as_tuple;
  uint64_t epoch;  // epoch_of_plans() when the ops were last seen to be those that were traced
  Training training;
  int64_t users = 1;
};

// One user less; the last one frees it.
void drop_call(JobCall* call);

std::vector<JobSlot> make_slots(JobProgram& program, const std::vector<at::Tensor>& buffers,
                                const std::vector<PyObject*>& dtypes);

// Runs the job on as many arrays as it has inputs. Null, with no Python error, where an argument is
// not what the quick way takes. Where a step fails, `failed_at` is set to its number.
PyObject* run_job_on(JobCall& call, PyObject* const* args, std::optional<size_t>* failed_at);

}  // namespace oneop
