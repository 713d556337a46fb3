// function_object.cpp: attributes and the life of the Python object of a function.
#include "python/functions/function_object.h"

#include <structmember.h>
#include <torch/csrc/Exceptions.h>

#include <cstddef>
#include <utility>

namespace oneop {
namespace {

int function_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<FunctionObject*>(self)->dict);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int function_clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<FunctionObject*>(self)->dict);
  return 0;
}

void function_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (reinterpret_cast<FunctionObject*>(self)->weakrefs != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  function_clear(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* function_repr(PyObject* self) {
  return PyUnicode_FromFormat("<oneop function %s>",
                              reinterpret_cast<FunctionObject*>(self)->name->c_str());
}

PyObject* get_signatures(PyObject* self, void*) {
  auto* object = reinterpret_cast<FunctionObject*>(self);
  refresh(object);
  PyObject* list = PyTuple_New(static_cast<Py_ssize_t>(object->signatures->size()));
  for (size_t i = 0; i < object->signatures->size(); ++i) {
    PyTuple_SET_ITEM(list, i, PyUnicode_FromString((*object->signatures)[i].def->text.c_str()));
  }
  return list;
}

PyObject* get_doc(PyObject* self, void*) {
  auto* object = reinterpret_cast<FunctionObject*>(self);
  refresh(object);
  return PyUnicode_FromString(
      object->signatures->empty() ? "" : object->signatures->front().def->doc.c_str());
}

PyObject* get_library(PyObject* self, void*) {
  auto* object = reinterpret_cast<FunctionObject*>(self);
  refresh(object);
  return PyUnicode_FromString(
      object->signatures->empty() ? "" : object->signatures->front().def->source.library.c_str());
}

PyMemberDef function_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(FunctionObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(FunctionObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(FunctionObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef function_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {"signatures", &get_signatures, nullptr,
     "The signatures, in the order in which they are tried.", nullptr},
    {"library", &get_library, nullptr, "The library that brought the function.", nullptr},
    {"doc", &get_doc, nullptr, "What the description of the function says of it.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot function_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                                {Py_tp_dealloc, reinterpret_cast<void*>(&function_dealloc)},
                                {Py_tp_traverse, reinterpret_cast<void*>(&function_traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(&function_clear)},
                                {Py_tp_repr, reinterpret_cast<void*>(&function_repr)},
                                {Py_tp_members, function_members},
                                {Py_tp_getset, function_getset},
                                {0, nullptr}};

PyType_Spec function_spec = {"oneop._core.Function", sizeof(FunctionObject), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             function_slots};

PyTypeObject* function_type = nullptr;

}  // namespace

void read_signatures(FunctionObject* object, int64_t version) {
  auto* signatures = new std::vector<FunctionSignature>;
  for (FunctionPtr& def : Functions::global().signatures(*object->name)) {
    signatures->emplace_back(std::move(def));
  }
  object->signatures = signatures;
  object->version = version;
}

bool add_function_type(PyObject* module) {
  PyObject* type = PyType_FromSpec(&function_spec);
  if (type == nullptr) {
    return false;
  }
  function_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "Function", type) == 0;
}

PyObject* make_function_object(const std::string& name, vectorcallfunc vectorcall) {
  auto* object = reinterpret_cast<FunctionObject*>(function_type->tp_alloc(function_type, 0));
  if (object == nullptr) {
    throw python_error();
  }
  object->vectorcall = vectorcall;
  object->name = new std::string(name);
  object->version = -1;
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace oneop
