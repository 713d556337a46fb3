// kept_calls.cpp: a call is one that was kept if its arguments are as many arrays and its keywords
// are the same, by names, types and values. It takes no Python code to find that out.
#include "numpy_host/kept_calls.h"

#include <structmember.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "engine/ops/error.h"
#include "interpreter/ref.h"

namespace oneop {
namespace {

// A program, and the calls that are its.
struct Kept {
  Ref edition;             // of the op's library
  std::vector<Ref> names;  // of the keywords, in their order
  std::vector<Ref> values;
  Ref program;
};

constexpr size_t kMaxKept = 8;

struct KeptCalls {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* general;
  PyTypeObject* array_type;
  Py_ssize_t num_arrays;
  PyObject* name;
  PyObject* editions;  // by names of ops
  std::vector<Kept>* kept;
  size_t turn;
  PyObject* dict;
  PyObject* weakrefs;
};

KeptCalls* calls_of(PyObject* self) { return reinterpret_cast<KeptCalls*>(self); }

bool is_kept_type(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
}

// Both have a type of is_kept_type. 1, 1.0 and True differ; a NaN is itself, and 0.0 is not -0.0.
bool is_same(PyObject* one, PyObject* other) {
  if (one == other) {
    return true;
  }
  if (Py_TYPE(one) != Py_TYPE(other)) {
    return false;
  }
  if (PyFloat_CheckExact(one)) {
    const double a = PyFloat_AS_DOUBLE(one);
    const double b = PyFloat_AS_DOUBLE(other);
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  return PyObject_RichCompareBool(one, other, Py_EQ) == 1;
}

bool is_call(const Kept& kept, PyObject* edition, PyObject* const* values, PyObject* kwnames) {
  const size_t count = kwnames == nullptr ? 0 : PyTuple_GET_SIZE(kwnames);
  if (kept.edition.get() != edition || kept.names.size() != count) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!is_same(kept.names[i].get(), PyTuple_GET_ITEM(kwnames, i)) ||
        !is_same(kept.values[i].get(), values[i])) {
      return false;
    }
  }
  return true;
}

PyObject* call(PyObject* self, PyObject* const* args, size_t nargsf, PyObject* kwnames) {
  KeptCalls* calls = calls_of(self);
  const Py_ssize_t count = PyVectorcall_NARGS(nargsf);
  bool is_plain = count == calls->num_arrays;
  for (Py_ssize_t i = 0; is_plain && i < count; ++i) {
    is_plain = Py_TYPE(args[i]) == calls->array_type;
  }
  PyObject* edition = is_plain ? PyDict_GetItemWithError(calls->editions, calls->name) : nullptr;
  if (edition != nullptr) {
    for (const Kept& kept : *calls->kept) {
      if (is_call(kept, edition, args + count, kwnames)) {
        const Ref program = kept.program;  // what it runs may keep other calls here
        return PyObject_Vectorcall(program.get(), args, count, nullptr);
      }
    }
  } else if (PyErr_Occurred() != nullptr) {
    return nullptr;
  }
  return PyObject_Vectorcall(calls->general, args, count, kwnames);
}

// keep(edition, keywords, program): calls with these keywords are calls of the program. Nothing is
// kept for values that may change.
PyObject* keep(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    if (count != 3 || !PyDict_Check(args[1])) {
      throw Error("ArgumentError", "keep: expected an edition, a dict and a program");
    }
    Kept made{Ref::borrow(args[0]), {}, {}, Ref::borrow(args[2])};
    PyObject* name = nullptr;
    PyObject* value = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(args[1], &at, &name, &value);) {
      if (!is_kept_type(value)) {
        return Ref::borrow(Py_False);
      }
      made.names.push_back(Ref::borrow(name));
      made.values.push_back(Ref::borrow(value));
    }
    KeptCalls* calls = calls_of(self);
    if (calls->kept->size() < kMaxKept) {
      calls->kept->push_back(std::move(made));
    } else {
      std::swap((*calls->kept)[calls->turn++ % kMaxKept], made);
    }
    return Ref::borrow(Py_True);
  });
}

int traverse(PyObject* self, visitproc visit, void* arg) {
  KeptCalls* calls = calls_of(self);
  Py_VISIT(calls->general);
  Py_VISIT(calls->array_type);
  Py_VISIT(calls->name);
  Py_VISIT(calls->editions);
  Py_VISIT(calls->dict);
  for (const Kept& kept : *calls->kept) {
    Py_VISIT(kept.program.get());
  }
  Py_VISIT(Py_TYPE(self));
  return 0;
}

int clear(PyObject* self) {
  KeptCalls* calls = calls_of(self);
  std::vector<Kept>().swap(*calls->kept);
  Py_CLEAR(calls->general);
  Py_CLEAR(calls->array_type);
  Py_CLEAR(calls->name);
  Py_CLEAR(calls->editions);
  Py_CLEAR(calls->dict);
  return 0;
}

void dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (calls_of(self)->weakrefs != nullptr) {
    PyObject_ClearWeakRefs(self);
  }
  clear(self);
  delete calls_of(self)->kept;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* repr(PyObject* self) { return PyObject_Repr(calls_of(self)->general); }

PyMethodDef kept_methods[] = {
    {"keep", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(&keep)), METH_FASTCALL,
     nullptr},
    {nullptr, nullptr, 0, nullptr}};

PyMemberDef kept_members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(KeptCalls, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(KeptCalls, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(KeptCalls, weakrefs), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyGetSetDef kept_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

PyType_Slot kept_slots[] = {{Py_tp_call, reinterpret_cast<void*>(&PyVectorcall_Call)},
                            {Py_tp_dealloc, reinterpret_cast<void*>(&dealloc)},
                            {Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                            {Py_tp_repr, reinterpret_cast<void*>(&repr)},
                            {Py_tp_methods, kept_methods},
                            {Py_tp_members, kept_members},
                            {Py_tp_getset, kept_getset},
                            {0, nullptr}};

PyType_Spec kept_spec = {"oneop._numpy_host.KeptCalls", sizeof(KeptCalls), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_HAVE_GC |
                             Py_TPFLAGS_DISALLOW_INSTANTIATION,
                         kept_slots};

PyTypeObject* kept_type = nullptr;

}  // namespace

bool add_kept_calls_type(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kept_spec);
  if (type == nullptr) {
    return false;
  }
  kept_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "KeptCalls", type) == 0;
}

PyObject* keep_calls(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    if (count != 5 || !PyType_Check(args[1]) || !PyLong_Check(args[2]) || !PyDict_Check(args[4])) {
      throw Error("ArgumentError",
                  "keep_calls: expected a callable, the type and number of its arrays, the op's "
                  "name and the editions of all ops");
    }
    auto kept = std::make_unique<std::vector<Kept>>();
    kept->reserve(kMaxKept);
    Ref made(kept_type->tp_alloc(kept_type, 0));
    KeptCalls* calls = calls_of(made.get());
    calls->kept = kept.release();
    calls->vectorcall = &call;
    calls->general = Py_NewRef(args[0]);
    calls->array_type = reinterpret_cast<PyTypeObject*>(Py_NewRef(args[1]));
    calls->num_arrays = PyLong_AsSsize_t(args[2]);
    calls->name = Py_NewRef(args[3]);
    calls->editions = Py_NewRef(args[4]);
    return made;
  });
}

}  // namespace oneop
