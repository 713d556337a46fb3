// call.h: one call of an op on numpy arrays: plan, outputs, kernel.
#pragma once

#include <memory>
#include <vector>

#include "engine/plans/plan.h"
#include "numpy_host/arrays.h"
#include "numpy_host/signature.h"

namespace oneop {

// The call that an op object made last. Under the GIL.
struct LastPlan {
  PlanKey key;
  std::shared_ptr<const CallPlan> plan;
};

// The arrays of a call, arranged as kernels read them.
class CallArrays {
 public:
  explicit CallArrays(const Signature& signature) : signature_(signature) {}
  CallArrays(const CallArrays&) = delete;
  CallArrays& operator=(const CallArrays&) = delete;

  // An object that is an array or a scalar of numpy. Throws ArgumentError for others.
  void add(size_t input, PyObject* object);
  void end_input() { counts_.push_back(static_cast<int32_t>(arrays_.size()) - total()); }

  void append_key(PlanKey* key) const;
  CallSpec spec(std::vector<AttrValue> attrs, std::vector<int32_t> output_counts) const;
  // Runs the plan and returns the outputs.
  std::vector<Ref> run(const CallPlan& plan);

 private:
  int32_t total() const;
  PyArrayObject* array(size_t i) const {
    return reinterpret_cast<PyArrayObject*>(arrays_[i].get());
  }
  bool any_strides() const { return signature_.op().has_flag(ONEOP_OP_NON_CONTIGUOUS); }
  void add_mutable(size_t input, PyArrayObject* given);
  void keep_apart();

  const Signature& signature_;
  std::vector<int32_t> counts_;
  std::vector<Ref> arrays_;
  std::vector<size_t> inputs_;  // of each array
  std::vector<std::pair<Ref, size_t>> write_back_;
};

// A call with arguments from Python; the result is an array, or a tuple of them.
Ref call_on_arrays(const Signature& signature, const Binding& binding, LastPlan* last);

// The plan of a call by its key, from the op's cache or made now.
std::shared_ptr<const CallPlan> find_plan(const Signature& signature, const CallArrays& arrays,
                                          std::vector<AttrValue> attrs,
                                          const std::vector<int32_t>& output_counts);

}  // namespace oneop
