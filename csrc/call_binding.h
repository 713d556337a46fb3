// call_binding.h: the arguments of one call from Python, put in the order of the schema.
#pragma once

#include <Python.h>
#include <c10/util/SmallVector.h>

#include "direct_call.h"

namespace oneop {

// Interned names of the arguments, in the order of the schema.
struct ArgNames {
  const Layout* layout;
  std::vector<PyObject*> own;     // as the op's author wrote them
  std::vector<PyObject*> schema;  // as torch knows them: `in_` for `in`

  explicit ArgNames(const Layout& of) : layout(&of) {
    for (const ArgDef& arg : of.op->inputs) {
      add(arg.name);
    }
    for (const AttrDef& attr : of.op->attrs) {
      add(attr.name);
    }
    if (of.output_counts_arg >= 0) {
      add("output_counts");
    }
    if (of.device_arg >= 0) {
      add("device");
    }
  }

 private:
  void add(const std::string& name) {
    own.push_back(PyUnicode_InternFromString(name.c_str()));
    schema.push_back(PyUnicode_InternFromString(schema_name(name).c_str()));
  }
};

// One call's arguments: as Python objects in schema order, then as values on torch's stack.
class Binding {
 public:
  static constexpr size_t kInline = 24;

  Binding(const Layout& layout, const ArgNames& names, PyObject* const* args, size_t num_args,
          PyObject* kwnames);
  // True if the call was one that this thread has made before, on plain tensors; it has run then.
  bool run_directly(const TorchOp& op, OutputTensors* outputs);
  // False where torch must see the call itself: subclasses, symbolic numbers.
  bool fill(torch::jit::Stack* stack);
  // The same call through torch.ops.
  PyObject* call(PyObject* overload);

 private:
  std::string where(size_t i) const;
  // False for anything but exact tensors in the expected places: the general way knows what to do
  // or say.
  static bool add_input(PyObject* object, bool is_list, DirectCall* call);
  bool add_attr(size_t i, PlanKey* key) const;
  bool push_tensor(size_t i, PyObject* object, torch::jit::Stack* stack);
  // Returns for anything that torch may take as a tensor.
  void refuse_non_tensor(size_t i, PyObject* object) const;
  PyObject* sole_item(size_t i, PyObject* list) const;
  bool push_input(size_t i, torch::jit::Stack* stack);
  bool push_list(size_t i, PyObject* object, torch::jit::Stack* stack);
  bool push_attr(size_t i, torch::jit::Stack* stack);
  void push_output_counts(torch::jit::Stack* stack);
  void push_device(torch::jit::Stack* stack);
  [[noreturn]] void refuse_device(PyObject* object) const;
  // torch has no lists of dtypes: they go as numbers.
  PyObject* attr_for_torch(int32_t i) const;
  PyObject* input_for_torch(size_t i) const;

  const Layout& layout_;
  const ArgNames& names_;
  c10::SmallVector<PyObject*, kInline> objects_;
};

}  // namespace oneop
