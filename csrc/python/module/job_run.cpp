// job_run.cpp: from numpy arrays to buffers and back.
#include "python/module/job_run.h"

#include <c10/util/SmallVector.h>
#include <pybind11/numpy.h>
#include <torch/csrc/Exceptions.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace py = pybind11;

namespace oneop {
namespace {

using Api = py::detail::npy_api;

// The data of an array of exactly this dtype and shape, else null.
void* data_of(PyObject* object, const JobSlot& slot) {
  const Api& api = Api::get();
  if (Py_TYPE(object) != api.PyArray_Type_) {
    return nullptr;
  }
  const auto* array = py::detail::array_proxy(object);
  constexpr int kPlain = Api::NPY_ARRAY_C_CONTIGUOUS_ | Api::NPY_ARRAY_ALIGNED_;
  const bool fits = array->descr == slot.dtype.get() && (array->flags & kPlain) == kPlain &&
                    array->nd == static_cast<int>(slot.shape.size()) &&
                    std::equal(slot.shape.begin(), slot.shape.end(), array->dimensions);
  return fits ? array->data : nullptr;
}

PyObject* new_array(const JobSlot& slot) {
  const Api& api = Api::get();
  Py_INCREF(slot.dtype.get());  // taken over by the array
  PyObject* array = api.PyArray_NewFromDescr_(api.PyArray_Type_, slot.dtype.get(),
                                              static_cast<int>(slot.shape.size()),
                                              slot.shape.data(), nullptr, nullptr, 0, nullptr);
  if (array == nullptr) {
    throw python_error();
  }
  return array;
}

// A kernel may read whole vectors at once, so its data must lie where an element may lie.
bool is_aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 16 == 0; }

void place(JobSlot& slot, void* data) {
  for (oneop_tensor* use : slot.uses) {
    use->data = data;
  }
}

using Pointers = c10::SmallVector<void*, 8>;

// Lets the kernels of a program work on the caller's arrays where they can. The buffers' own
// addresses are put back at the end, whatever happened: nothing of a call stays in the plan.
class Placement {
 public:
  Placement(JobCall& call, const Pointers& input_data, const Pointers& output_data) : call_(call) {
    for (size_t i = 0; i < input_data.size(); ++i) {
      JobSlot& slot = call.inputs[i];
      if (can_move(slot, input_data[i])) {
        place(slot, input_data[i]);
      } else {
        std::memcpy(slot.buffer.mutable_data_ptr(), input_data[i], slot.buffer.nbytes());
      }
    }
    for (size_t i = 0; i < output_data.size(); ++i) {
      if (can_move(call.outputs[i], output_data[i])) {
        place(call.outputs[i], output_data[i]);
      }
    }
  }
  ~Placement() {
    for (std::vector<JobSlot>* slots : {&call_.inputs, &call_.outputs}) {
      for (JobSlot& slot : *slots) {
        place(slot, slot.own_data);
      }
    }
  }
  Placement(const Placement&) = delete;
  Placement& operator=(const Placement&) = delete;

  static bool can_move(const JobSlot& slot, const void* data) {
    return !slot.uses.empty() && is_aligned(data);
  }

 private:
  JobCall& call_;
};

void set_rate(const Training& training) {
  const Gil gil;
  PyObject* done = PyObject_CallNoArgs(training.set_rate.get());
  if (done == nullptr) {
    python_error error;
    error.persist();  // the GIL may be released before it is handled
    throw error;
  }
  Py_DECREF(done);
}

// `failed_at` is set if a step throws. It is read here: after the gate the program is another's.
void run_between(JobCall& call, const Pointers& input_data, const Pointers& output_data,
                 std::optional<size_t>* failed_at) {
  const Placement placement(call, input_data, output_data);
  if (call.training.set_rate != nullptr) {
    set_rate(call.training);
  }
  try {
    call.program->run();
  } catch (...) {
    *failed_at = call.program->failed_at();
    throw;
  }
  if (call.training.count.defined()) {
    ++*call.training.count.mutable_data_ptr<int64_t>();
  }
  for (size_t i = 0; i < output_data.size(); ++i) {
    const JobSlot& slot = call.outputs[i];
    if (!Placement::can_move(slot, output_data[i])) {
      std::memcpy(output_data[i], slot.own_data, slot.buffer.nbytes());
    }
  }
}

class InGate {  // leaves it at the end
 public:
  explicit InGate(JobGate& gate) : gate_(gate) {}
  ~InGate() { gate_.leave(); }
  InGate(const InGate&) = delete;
  InGate& operator=(const InGate&) = delete;

 private:
  JobGate& gate_;
};

// Runs without the GIL, unless all steps are kernels that would take it back at once.
void run_in_turn(JobCall& call, const Pointers& input_data, const Pointers& output_data,
                 std::optional<size_t>* failed_at) {
  JobGate& gate = call.program->gate();
  if (call.program->holds_gil()) {
    if (!gate.try_enter()) {
      ReleaseGil released;
      gate.enter();
    }
    const InGate inside(gate);
    run_between(call, input_data, output_data, failed_at);
  } else {
    ReleaseGil released;
    gate.enter();
    const InGate inside(gate);
    run_between(call, input_data, output_data, failed_at);
  }
}

}  // namespace

void drop_call(JobCall* call) {
  if (call != nullptr && --call->users == 0) {
    delete call;
  }
}

std::vector<JobSlot> make_slots(JobProgram& program, const std::vector<at::Tensor>& buffers,
                                const std::vector<PyObject*>& dtypes) {
  std::vector<JobSlot> slots;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const at::Tensor& buffer = buffers[i];
    slots.push_back({buffer,
                     buffer.mutable_data_ptr(),
                     program.movable_uses(buffer),
                     share(dtypes[i]),
                     {buffer.sizes().begin(), buffer.sizes().end()}});
  }
  return slots;
}

PyObject* run_job_on(JobCall& call, PyObject* const* args, std::optional<size_t>* failed_at) {
  Pointers input_data;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    void* data = data_of(args[i], call.inputs[i]);
    if (data == nullptr) {
      return nullptr;
    }
    input_data.push_back(data);
  }
  Pointers output_data;
  c10::SmallVector<py::object, 4> results;
  for (const JobSlot& slot : call.outputs) {
    results.push_back(py::reinterpret_steal<py::object>(new_array(slot)));
    output_data.push_back(py::detail::array_proxy(results.back().ptr())->data);
  }
  ++call.users;
  const std::unique_ptr<JobCall, decltype(&drop_call)> used(&call, &drop_call);
  run_in_turn(call, input_data, output_data, failed_at);
  if (!call.as_tuple) {
    return results[0].release().ptr();
  }
  PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(results.size()));
  if (tuple == nullptr) {
    throw python_error();
  }
  for (size_t i = 0; i < results.size(); ++i) {
    PyTuple_SET_ITEM(tuple, i, results[i].release().ptr());
  }
  return tuple;
}

}  // namespace oneop
