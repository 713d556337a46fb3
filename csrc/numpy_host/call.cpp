// call.cpp: see call.h.
#include "numpy_host/call.h"

#include <cstring>

#include "c_host/run.h"
#include "engine/calls/refusal.h"
#include "engine/frames/arg_counts.h"
#include "engine/ops/error.h"
#include "engine/ops/host.h"
#include "interpreter/objects.h"

namespace oneop {
namespace {

// A kernel with fewer elements than this returns before another thread had taken the GIL.
constexpr int64_t kReleaseAbove = 1 << 14;

// An object that keeps its elements in an array; null where it is none.
Ref array_of(PyObject* object) {
  if (PyArray_CheckExact(object)) {
    return Ref::borrow(object);
  }
  return PyArray_CheckScalar(object) ? Ref(PyArray_FromScalar(object, nullptr)) : Ref();
}

int64_t num_elements(const CallPlan& plan) {
  int64_t count = 0;
  for (int32_t i = 0; i < plan.num_inputs() + plan.num_outputs(); ++i) {
    count += plan.frame().tensors[i].elem_cnt;
  }
  return count;
}

Ref new_array(const oneop_tensor& tensor) {
  static_assert(sizeof(npy_intp) == sizeof(int64_t));
  return Ref(PyArray_Empty(tensor.ndim, reinterpret_cast<npy_intp*>(tensor.shape),
                           descr_of(tensor.dtype), 0));
}

// Makes an output whose size depends on data as small as the kernel left it: a copy, since numpy
// arrays have memory of their size.
void shrink(oneop_tensor largest, std::vector<int64_t> shape, Ref* output) {
  if (largest.is_dynamic == 0) {
    return;
  }
  largest.shape = shape.data();
  Ref made = new_array(largest);
  if (made.get() == nullptr) {
    throw Raised();
  }
  auto* to = reinterpret_cast<PyArrayObject*>(made.get());
  std::memcpy(PyArray_DATA(to), PyArray_DATA(reinterpret_cast<PyArrayObject*>(output->get())),
              static_cast<size_t>(PyArray_NBYTES(to)));
  *output = std::move(made);
}

bool has_shared_elements(PyArrayObject* array) {
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_STRIDE(array, i) == 0 && PyArray_DIM(array, i) > 1) {
      return true;
    }
  }
  return false;
}

// The words of the attributes in a call's key. False where one needs a conversion that is not done
// here: the general way does it.
bool append_simple_attrs(const Signature& signature, const Binding& binding, PlanKey* key) {
  const std::vector<AttrDef>& attrs = signature.op().attrs;
  for (size_t i = 0; i < attrs.size(); ++i) {
    PyObject* object = binding.attr(i);
    if (object == nullptr) {
      const PlanKey& words = signature.default_keys[i];
      key->insert(key->end(), words.begin(), words.end());
      if (!attrs[i].has_default) {
        return false;
      }
    } else if (attrs[i].type == ONEOP_ATTR_DOUBLE && PyFloat_CheckExact(object)) {
      const double value = PyFloat_AS_DOUBLE(object);
      key->push_back(attrs[i].type);
      key->emplace_back();
      std::memcpy(&key->back(), &value, sizeof value);
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

int32_t CallArrays::total() const {
  int32_t sum = 0;
  for (int32_t count : counts_) {
    sum += count;
  }
  return sum;
}

void CallArrays::add(size_t input, PyObject* object) {
  const OpDef& op = signature_.op();
  Ref given = array_of(object);
  if (given.get() == nullptr) {
    refuse_input(op, input, "expected a numpy.ndarray, found " + python_type_name(object));
  }
  auto* array = reinterpret_cast<PyArrayObject*>(given.get());
  if (code_of(PyArray_DESCR(array)) == ONEOP_DTYPE_INVALID) {
    refuse_input(op, input,
                 "arrays of dtype " + repr_of(reinterpret_cast<PyObject*>(PyArray_DESCR(array))) +
                     " are not supported");
  }
  inputs_.push_back(input);
  if (op.input_traits[input].is_mutable) {
    add_mutable(input, array);
  } else {
    arrays_.push_back(is_arranged(array, any_strides()) ? std::move(given) : arranged_copy(array));
  }
}

void CallArrays::add_mutable(size_t input, PyArrayObject* given) {
  if (!PyArray_ISWRITEABLE(given)) {
    refuse_input(signature_.op(), input, "the op changes it, and the array is read-only");
  }
  if (has_shared_elements(given)) {
    refuse_input(signature_.op(), input,
                 "the op changes it, and several of its elements share memory\n"
                 "  give it a copy: x.copy()");
  }
  auto* object = reinterpret_cast<PyObject*>(given);
  if (is_arranged(given, any_strides())) {
    arrays_.push_back(Ref::borrow(object));
    return;
  }
  arrays_.push_back(arranged_copy(given));
  write_back_.emplace_back(Ref::borrow(object), arrays_.size() - 1);
}

// Invariant: an op reads its inputs as they were before the call, also those that share memory with
// one that it changes.
void CallArrays::keep_apart() {
  const OpDef& op = signature_.op();
  for (size_t i = 0; i < arrays_.size(); ++i) {
    for (size_t k = 0; k < arrays_.size(); ++k) {
      if (i == k || !op.input_traits[inputs_[k]].is_mutable || !may_overlap(array(i), array(k))) {
        continue;
      }
      if (op.input_traits[inputs_[i]].is_mutable) {
        refuse_argument(op,
                        " changes two of its inputs in place, and they share memory\n  give it "
                        "arrays of their own: x.copy()");
      }
      arrays_[i] = arranged_copy(array(i));
      break;
    }
  }
}

void CallArrays::append_key(PlanKey* key) const {
  key->push_back(required());
  key->insert(key->end(), counts_.begin(), counts_.end());
  for (const Ref& ref : arrays_) {
    auto* one = reinterpret_cast<PyArrayObject*>(ref.get());
    const int ndim = PyArray_NDIM(one);
    key->push_back(code_of(PyArray_DESCR(one)) | static_cast<int64_t>(ndim) << 8);
    key->insert(key->end(), PyArray_DIMS(one), PyArray_DIMS(one) + ndim);
    if (any_strides()) {
      key->insert(key->end(), PyArray_STRIDES(one), PyArray_STRIDES(one) + ndim);
    }
  }
}

CallSpec CallArrays::spec(std::vector<AttrValue> attrs, std::vector<int32_t> output_counts) const {
  CallSpec spec;
  spec.input_counts = counts_;
  for (size_t i = 0; i < arrays_.size(); ++i) {
    spec.inputs.push_back(meta_of_array(array(i), any_strides()));
  }
  spec.attrs = std::move(attrs);
  spec.output_counts = std::move(output_counts);
  check_counts(signature_.op(), spec.input_counts, spec.output_counts);
  return spec;
}

std::vector<Ref> CallArrays::run(const CallPlan& plan) {
  if (signature_.mutates) {
    keep_apart();
  }
  std::vector<Ref> outputs;
  std::vector<void*> data;
  data.reserve(arrays_.size() + plan.num_outputs());
  for (size_t i = 0; i < arrays_.size(); ++i) {
    data.push_back(PyArray_DATA(array(i)));
  }
  for (int32_t i = 0; i < plan.num_outputs(); ++i) {
    outputs.push_back(new_array(plan.output(i)));
    data.push_back(PyArray_DATA(reinterpret_cast<PyArrayObject*>(outputs.back().get())));
  }
  CallPlan::Shapes shapes;
  if (num_elements(plan) < kReleaseAbove) {
    run_on(plan, data.data(), nullptr, nullptr, &shapes);
  } else {
    const ReleaseGil released;
    run_on(plan, data.data(), nullptr, nullptr, &shapes);
  }
  for (size_t i = 0; i < shapes.size(); ++i) {
    shrink(plan.output(static_cast<int32_t>(i)), shapes[i], &outputs[i]);
  }
  for (const auto& [target, copy] : write_back_) {
    if (PyArray_CopyInto(reinterpret_cast<PyArrayObject*>(target.get()), array(copy)) != 0) {
      throw Raised();
    }
  }
  return outputs;
}

std::shared_ptr<const CallPlan> find_plan(const Signature& signature, const CallArrays& arrays,
                                          std::vector<AttrValue> attrs,
                                          const std::vector<int32_t>& output_counts) {
  PlanKey key;
  arrays.append_key(&key);
  for (const AttrValue& attr : attrs) {
    attr.append_key(&key);
  }
  key.insert(key.end(), output_counts.begin(), output_counts.end());
  std::shared_ptr<const CallPlan> plan = signature.record->plans->find(key);
  if (plan == nullptr) {
    plan = std::make_shared<const CallPlan>(
        signature.record, arrays.spec(std::move(attrs), output_counts), /*infer_only=*/false);
    signature.record->plans->insert(key, plan);
  }
  return plan;
}

Ref call_on_arrays(const Signature& signature, const Binding& binding, LastPlan* last) {
  CallArrays arrays(signature);
  std::vector<PyObject*> tensors;
  for (size_t i = 0; i < signature.op().inputs.size(); ++i) {
    tensors.clear();
    binding.each_tensor(i, &tensors);
    for (PyObject* tensor : tensors) {
      arrays.add(i, tensor);
    }
    arrays.end_input();
  }
  // A call like the last one needs no values of attributes, only their words.
  PlanKey key;
  key.reserve(32);
  arrays.append_key(&key);
  const bool is_simple =
      signature.output_counts_arg < 0 && append_simple_attrs(signature, binding, &key);
  std::shared_ptr<const CallPlan> plan;
  if (is_simple && last->plan != nullptr && &last->plan->record() == signature.record.get() &&
      last->key == key) {
    plan = last->plan;
  } else {
    binding.check_device();
    plan = find_plan(signature, arrays, binding.attrs(), binding.output_counts());
    if (is_simple) {
      *last = {std::move(key), plan};
    }
  }
  std::vector<Ref> outputs = arrays.run(*plan);
  if (outputs.size() == 1 && signature.output_counts_arg < 0) {
    return std::move(outputs[0]);
  }
  Ref tuple(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
  for (size_t i = 0; i < outputs.size(); ++i) {
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), outputs[i].release());
  }
  return tuple;
}

}  // namespace oneop
