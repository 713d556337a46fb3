// op_object.cpp: a vectorcall object for each op.
#include "numpy_host/op_object.h"

#include <structmember.h>

#include <cstddef>
#include <memory>

#include "engine/ops/error.h"
#include "engine/registry/registry.h"
#include "numpy_host/call.h"

namespace oneop {
namespace {

struct OpObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const OpSlot* slot;
  std::shared_ptr<const Signature>* signature;  // of the record that was called last
  LastPlan* last;
  PyObject* dict;
  PyObject* weakrefs;
};

// The signature of the op as it is now, which the caller holds: a call may meet a reload.
std::shared_ptr<const Signature> signature_of(OpObject* object) {
  std::shared_ptr<const Signature>& known = *object->signature;
  if (known == nullptr || known->record.get() != object->slot->address()) {
    known = std::make_shared<const Signature>(Registry::global().get(object->slot->name));
    *object->last = {};
  }
  return known;
}

PyObject* op_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  auto* object = reinterpret_cast<OpObject*>(self);
  return returning([&] {
    const std::shared_ptr<const Signature> signature = signature_of(object);
    const Binding binding(*signature, args, PyVectorcall_NARGS(nargsf), kwnames);
    return call_on_arrays(*signature, binding, object->last);
  });
}

int op_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<OpObject*>(self)->dict);
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int op_clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<OpObject*>(self)->dict);
  return 0;
}

void op_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* object = reinterpret_cast<OpObject*>(self);
  if (object->weakrefs != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  op_clear(self);
  delete object->signature;
  delete object->last;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* op_repr(PyObject* self) {
  return PyUnicode_FromFormat("<oneop op %s on numpy arrays>",
                              reinterpret_cast<OpObject*>(self)->slot->name.c_str());
}

PyMemberDef op_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OpObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(OpObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(OpObject, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef op_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot op_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                          {Py_tp_dealloc, reinterpret_cast<void*>(&op_dealloc)},
                          {Py_tp_traverse, reinterpret_cast<void*>(&op_traverse)},
                          {Py_tp_clear, reinterpret_cast<void*>(&op_clear)},
                          {Py_tp_repr, reinterpret_cast<void*>(&op_repr)},
                          {Py_tp_members, op_members},
                          {Py_tp_getset, op_getset},
                          {0, nullptr}};

PyType_Spec op_spec = {"oneop._numpy_host.Op", sizeof(OpObject), 0,
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

PyObject* make_op_object(const OpSlot* slot) {
  auto* object = reinterpret_cast<OpObject*>(op_type->tp_alloc(op_type, 0));
  if (object == nullptr) {
    return nullptr;
  }
  object->vectorcall = &op_vectorcall;
  object->slot = slot;
  object->signature = new std::shared_ptr<const Signature>;
  object->last = new LastPlan;
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace oneop
