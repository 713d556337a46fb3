// signature.h: the arguments of an op as Python callers name them, and those of one call in their
// places.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

#include "engine/ops/keyed_cache.h"
#include "engine/registry/record.h"
#include "interpreter/ref.h"

namespace oneop {

// What calls of one record need to know. In this order: inputs, attributes, then output_counts and
// device for the ops that have them.
struct Signature {
  explicit Signature(RecordPtr of);
  Signature(const Signature&) = delete;
  Signature& operator=(const Signature&) = delete;

  const OpDef& op() const { return *record->op; }
  int32_t find(PyObject* name) const;  // -1: there is none
  std::vector<std::string> extra() const;

  RecordPtr record;
  std::vector<Ref> names;         // interned, as the author wrote them
  std::vector<Ref> schema_names;  // `in_` for `in`
  std::vector<PlanKey> default_keys;
  std::vector<int32_t> output_counts;  // of a call that does not say
  size_t num_positional = 0;
  int32_t output_counts_arg = -1;
  int32_t device_arg = -1;
  int32_t num_args = 0;
  bool mutates = false;
};

// The objects of one call, borrowed. Throws ArgumentError for names and positions that do not fit.
class Binding {
 public:
  Binding(const Signature& signature, PyObject* const* args, size_t num_args, PyObject* kwnames);

  PyObject* input(size_t i) const { return objects_[i]; }  // null: not given
  PyObject* attr(size_t i) const { return objects_[signature_.op().inputs.size() + i]; }
  // The tensors of an input: an object, the items of a list, or none. Throws where their number is
  // wrong.
  void each_tensor(size_t i, std::vector<PyObject*>* tensors) const;
  // All values, defaults filled in.
  std::vector<AttrValue> attrs() const;
  std::vector<int32_t> output_counts() const;
  // Throws unless the device is left out or the cpu.
  void check_device() const;

 private:
  const Signature& signature_;
  std::vector<PyObject*> objects_;
  std::vector<Ref> owned_;  // lists without None
};

}  // namespace oneop
