// call_entry.cpp: a vectorcall object for each op. It skips pybind11 and schema matching, and for a
// repeated call the dispatcher too.
#include "python/calls/call_entry.h"

#include <ATen/PythonTorchFunctionTLS.h>
#include <structmember.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include <cstddef>

#include "engine/ops/error.h"
#include "interpreter/python_error.h"
#include "interpreter/python_ref.h"
#include "python/calls/call_binding.h"
#include "torch_host/calls/results.h"

namespace oneop {
namespace {

struct OpObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const TorchOp* op;
  std::shared_ptr<const ArgNames>* names;  // of the layout that was called last
  PyObject* overload;
  PyObject* dict;
  PyObject* weakrefs;
};

PyObject* wrap_outputs(bool returns_list, OutputTensors* outputs) {
  if (outputs->size() == 1 && !returns_list) {
    return THPVariable_Wrap(std::move((*outputs)[0]));
  }
  PyObject* result = PyTuple_New(static_cast<Py_ssize_t>(outputs->size()));
  if (result == nullptr) {
    return nullptr;
  }
  for (size_t i = 0; i < outputs->size(); ++i) {
    PyTuple_SET_ITEM(result, i, THPVariable_Wrap(std::move((*outputs)[i])));
  }
  return result;
}

// One call by one record of the op. False if the op got other arguments meanwhile: nothing was
// called, and the call must be read by the new record.
bool call_op(OpObject* object, PyObject* const* args, size_t num_args, PyObject* kwnames,
             PyObject** result) {
  const TorchOp& op = *object->op;
  CallRecord record(op);
  const Layout& layout = record.layout();
  if ((*object->names)->layout_id != layout.id) {
    *object->names = std::make_shared<const ArgNames>(layout);
  }
  Binding binding(layout, **object->names, args, num_args, kwnames);
  const bool returns_list = layout.returns_list();
  const bool is_watched = at::impl::torch_function_mode_enabled();
  std::shared_ptr<const ArgNames> names;
  bool is_symbolic = false;
  const bool has_run_code = !binding.has_simple_attrs();  // converting them may run any code
  if (has_run_code) {
    record.hold();
    names = *object->names;
    is_symbolic = !binding.convert_attrs();
  }
  OutputTensors outputs;
  if (!is_symbolic && !is_watched && binding.run_directly(op, *record, &outputs)) {
    *result = wrap_outputs(returns_list, &outputs);
    return true;
  }
  record.hold();
  if (names == nullptr) {
    names = *object->names;
  }
  torch::jit::Stack stack;
  if (is_symbolic || !binding.fill(&stack) || is_watched) {
    const DispatchWindow window(op.schema(), layout.schema_version, /*is_watched=*/true);
    if (window.fits()) {
      *result = binding.call(object->overload);
      return true;
    }
    if (has_run_code) {
      op.refuse_redefined();
    }
    return false;
  }
  bool is_called = false;
  {
    ReleaseGil released;
    if (has_run_code) {  // a second conversion could give other values, so the call is not read
                         // again
      op.dispatch_or_throw(layout, &stack);
      is_called = true;
    } else {
      is_called = op.dispatch(layout, &stack);
    }
  }
  if (is_called) {
    outputs = take_outputs(layout, &stack);
    *result = wrap_outputs(returns_list, &outputs);
  }
  return is_called;
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* object = reinterpret_cast<OpObject*>(self);
  try {
    PyObject* result = nullptr;
    while (!call_op(object, args, PyVectorcall_NARGS(nargsf), kwnames, &result)) {
    }
    return result;
  } catch (const Error& error) {
    set_python_error(error);
    return nullptr;
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
    return nullptr;
  }
}

int op_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* object = reinterpret_cast<OpObject*>(self);
  Py_VISIT(object->overload);
  Py_VISIT(object->dict);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int op_clear(PyObject* self) {
  auto* object = reinterpret_cast<OpObject*>(self);
  Py_CLEAR(object->overload);
  Py_CLEAR(object->dict);
  return 0;
}

void op_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* object = reinterpret_cast<OpObject*>(self);
  if (object->weakrefs != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  op_clear(self);
  delete object->names;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* op_repr(PyObject* self) {
  return PyUnicode_FromFormat("<oneop op %s>",
                              reinterpret_cast<OpObject*>(self)->op->name().c_str());
}

// As for every object; where there is no such attribute the nearest name is told.
PyObject* op_getattro(PyObject* self, PyObject* name) {
  PyObject* value = PyObject_GenericGetAttr(self, name);
  if (value != nullptr || PyErr_ExceptionMatches(PyExc_AttributeError) == 0) {
    return value;
  }
  const pybind11::error_already_set raised;  // takes it
  const char* text = PyUnicode_AsUTF8(name);
  std::vector<std::string> known;
  const auto names = pybind11::reinterpret_steal<pybind11::object>(
      text == nullptr || text[0] == '_' ? nullptr : PyObject_Dir(self));
  for (Py_ssize_t i = 0; names && i < PyList_GET_SIZE(names.ptr()); ++i) {
    const char* other = PyUnicode_AsUTF8(PyList_GET_ITEM(names.ptr(), i));
    if (other != nullptr && other[0] != '_') {
      known.emplace_back(other);
    }
  }
  PyErr_Clear();
  const std::string& op = reinterpret_cast<OpObject*>(self)->op->name();
  PyErr_Format(PyExc_AttributeError, "op %s has no attribute %R%s", in_quotes(op).c_str(), name,
               did_you_mean(text == nullptr ? "" : text, known).c_str());
  return nullptr;
}

// A global by its name: op objects are shared, so copying gives the same one and pickling needs its
// name only.
PyObject* op_reduce(PyObject* self, PyObject*) {
  return PyUnicode_FromString(reinterpret_cast<OpObject*>(self)->op->name().c_str());
}

PyMethodDef op_methods[] = {{"__reduce__", &op_reduce, METH_NOARGS, nullptr},
                            {nullptr, nullptr, 0, nullptr}};

PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(OpObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(OpObject, weakrefs), READONLY, nullptr},
    {"overload", T_OBJECT_EX, offsetof(OpObject, overload), READONLY,
     "The op as torch knows it: torch.ops.oneop.<name>.default"},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef op_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot op_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                          {Py_tp_dealloc, reinterpret_cast<void*>(&op_dealloc)},
                          {Py_tp_traverse, reinterpret_cast<void*>(&op_traverse)},
                          {Py_tp_clear, reinterpret_cast<void*>(&op_clear)},
                          {Py_tp_getattro, reinterpret_cast<void*>(&op_getattro)},
                          {Py_tp_repr, reinterpret_cast<void*>(&op_repr)},
                          {Py_tp_methods, op_methods},
                          {Py_tp_members, op_members},
                          {Py_tp_getset, op_getset},
                          {0, nullptr}};

PyType_Spec op_spec = {"oneop._core.Op", sizeof(OpObject), 0,
                       Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC |
                           Py_TPFLAGS_DISALLOW_INSTANTIATION,
                       op_slots};

PyTypeObject* op_type = nullptr;

}  // namespace

bool add_op_type(PyObject* module) {
  PyObject* type = PyType_FromSpec(&op_spec);
  if (type == nullptr) {
    return false;
  }
  op_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "Op", type) == 0;
}

bool set_traced_call(PyObject* function) {
  // Dynamo follows type(op).__call__ when that is a Python function. Going through setattr would
  // also replace the slot, and with it the quick entry, so the entry of the dict is set alone.
  if (PyDict_SetItemString(op_type->tp_dict, "__call__", function) != 0) {
    return false;
  }
  PyType_Modified(op_type);
  return true;
}

PyObject* make_op_object(const TorchOp* op, PyObject* overload) {
  auto* object = reinterpret_cast<OpObject*>(op_type->tp_alloc(op_type, 0));
  if (object == nullptr) {
    return nullptr;
  }
  object->vectorcall = &op_vectorcall;
  object->op = op;
  object->names =
      new std::shared_ptr<const ArgNames>(std::make_shared<const ArgNames>(*op->record()->layout));
  object->overload = Py_NewRef(overload);
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace oneop
