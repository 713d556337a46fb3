// objects.h: numbers, texts and lists from Python objects, and objects in messages.
#pragma once

#include <Python.h>

#include <cstdint>
#include <string>

#include "interpreter/python_ref.h"
#include "oneop/abi.h"

namespace oneop {

inline bool is_sequence(PyObject* object) { return PyList_Check(object) || PyTuple_Check(object); }

// Each returns false where the object is not of that kind. The Python exception is set then if the
// object's own code raised it. An int serves where a float is asked for, nothing else bends.
bool to_int(PyObject* object, int64_t* value);
bool to_int32(PyObject* object, int64_t* value);
bool to_double(PyObject* object, double* value);
bool to_complex(PyObject* object, double (*value)[2]);

// A number that keeps its kind: ONEOP_ATTR_INT64, DOUBLE, BOOL or COMPLEX_DOUBLE.
struct ScalarParts {
  int32_t type = 0;
  int64_t i = 0;  // an int, a bool
  double parts[2] = {0, 0};
};
bool to_scalar(PyObject* object, ScalarParts* value);
// Splits a list in which some items are None: new references to a list of the others, and to a list
// of bools that says which items are there. False where there is no None in it, or no list.
bool split_gaps(PyObject* object, PyObject** items, PyObject** given);
// Python's own bools alone.
bool to_bool(PyObject* object, bool* value);
bool to_text(PyObject* object, std::string* value);
bool to_bytes(PyObject* object, std::string* value);  // a str serves too, as UTF-8

// The items of a list or tuple as they are now, owned; null where it is neither. `is_simple` says
// that to convert them runs no code of Python: then the object itself is as good.
PyObject* items_of_sequence(PyObject* object, bool is_simple);

// Calls `act` with each item of a list or tuple; false if it is neither or `act` returns false.
// Converting an item may run its own code, which may change the list: the items are those that the
// list had at first, and they are owned meanwhile.
template <typename Act>
bool for_each_item(PyObject* object, bool is_simple, const Act& act) {
  PyObject* items = items_of_sequence(object, is_simple);
  if (items == nullptr) {
    return false;
  }
  bool is_done = true;
  const Py_ssize_t size = PySequence_Fast_GET_SIZE(items);
  for (Py_ssize_t i = 0; is_done && i < size; ++i) {
    is_done = act(PySequence_Fast_GET_ITEM(items, i));
  }
  Py_DECREF(items);
  return is_done;
}

std::string python_type_name(PyObject* object);
std::string repr_of(PyObject* object);     // shortened
std::string found_text(PyObject* object);  // "int 3"

// An interrupt in the object's own code goes on as itself. Ctrl-C gives it no text: say where it
// was.
void name_interrupt(PyObject* exception, const std::string& where);

}  // namespace oneop
