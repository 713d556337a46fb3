// call_binding.h: the arguments of one call from Python, put in the order of the schema.
#pragma once

#include <Python.h>
#include <c10/util/SmallVector.h>

#include "torch_host/autograd/direct_call.h"

namespace oneop {

// Interned names of the arguments, in the order of the schema.
struct ArgNames {
  int64_t layout_id;
  std::vector<PyObject*> own;     // as the op's author wrote them
  std::vector<PyObject*> schema;  // as torch knows them: `in_` for `in`

  explicit ArgNames(const Layout& of) : layout_id(of.id) {
    for (const ArgDef& arg : of.op->inputs) {
      add(arg.name, schema_name(arg.name));
    }
    for (const AttrDef& attr : of.op->attrs) {
      add(attr.name, attr_schema_name(attr.name));
    }
    if (of.output_counts_arg >= 0) {
      add("output_counts", "output_counts");
    }
    if (of.device_arg >= 0) {
      add("device", "device");
    }
  }
  ~ArgNames() {
    for (const auto* names : {&own, &schema}) {
      for (PyObject* name : *names) {
        Py_DECREF(name);
      }
    }
  }
  ArgNames(const ArgNames&) = delete;
  ArgNames& operator=(const ArgNames&) = delete;

 private:
  void add(const std::string& name, const std::string& known_to_torch) {
    own.push_back(PyUnicode_InternFromString(name.c_str()));
    schema.push_back(PyUnicode_InternFromString(known_to_torch.c_str()));
  }
};

// One call's arguments: as Python objects in schema order, then as values on torch's stack.
//
// Ownership. The caller of the op keeps the arguments themselves. What a list holds is another
// matter: code of Python, on this thread or while the GIL is released, may change the list. Tensors
// of lists are therefore owned from the moment they are read, and attributes whose conversion runs
// code of Python are converted once, before anything else is read.
class Binding {
 public:
  static constexpr size_t kInline = 24;

  Binding(const Layout& layout, const ArgNames& names, PyObject* const* args, size_t num_args,
          PyObject* kwnames);
  ~Binding();
  Binding(const Binding&) = delete;
  Binding& operator=(const Binding&) = delete;

  // False where an attribute's conversion runs code of Python: convert_attrs() must come first.
  bool has_simple_attrs() const;
  // Converts all but symbolic numbers. False where there is one: torch must see the call itself.
  bool convert_attrs();
  // True if the call was one that this thread has made before, on plain tensors; it has run then.
  bool run_directly(const TorchOp& op, const OpRecord& record, OutputTensors* outputs);
  // False where torch must see the call itself: subclasses of Tensor.
  bool fill(torch::jit::Stack* stack);
  // The same call through torch.ops.
  PyObject* call(PyObject* overload);

 private:
  // Turns a list with None in it into one of tensors, and the attribute that says where they stood.
  void take_gaps();
  // False for anything but exact tensors in the expected places: the general way knows what to do
  // or say.
  bool add_input(PyObject* object, bool is_list, DirectCall* call);
  bool add_attr(size_t i, PlanKey* key) const;
  bool push_tensor(size_t i, PyObject* object, torch::jit::Stack* stack);
  // Returns for anything that torch may take as a tensor.
  void refuse_non_tensor(size_t i, PyObject* object) const;
  PyObject* sole_item(size_t i, PyObject* list) const;
  bool push_input(size_t i, torch::jit::Stack* stack);
  bool push_list(size_t i, PyObject* object, torch::jit::Stack* stack);
  void push_attr(size_t i, torch::jit::Stack* stack) const;
  c10::IValue attr_value(size_t i) const;
  void push_output_counts(torch::jit::Stack* stack);
  void push_device(torch::jit::Stack* stack);
  [[noreturn]] void refuse_device(PyObject* object) const;
  void check_absent(size_t i) const;
  PyObject* attr_for_torch(size_t i) const;
  PyObject* input_for_torch(size_t i) const;

  const Layout& layout_;
  const ArgNames& names_;
  c10::SmallVector<PyObject*, kInline> objects_;
  c10::SmallVector<PyObject*, 8> owned_;  // tensors of lists, lists without None
  std::vector<c10::IValue> converted_;    // one for each attribute, or none at all
};

}  // namespace oneop
