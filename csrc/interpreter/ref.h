// ref.h: owning references to Python objects, for code without pybind11.
#pragma once

#include <Python.h>

#include <exception>
#include <new>
#include <utility>

#include "interpreter/python_error.h"

namespace oneop {

// Thrown where a Python exception is set.
class Raised : public std::exception {};

class Ref {
 public:
  Ref() = default;
  // Takes over a reference; null throws Raised.
  explicit Ref(PyObject* owned) : object_(owned) {
    if (owned == nullptr) {
      throw Raised();
    }
  }
  static Ref borrow(PyObject* object) { return Ref(Py_XNewRef(object)); }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  Ref(const Ref& other) : object_(Py_XNewRef(other.object_)) {}
  ~Ref() { Py_XDECREF(object_); }

  PyObject* get() const { return object_; }
  PyObject* release() { return std::exchange(object_, nullptr); }

 private:
  PyObject* object_ = nullptr;
};

// Runs `act`, which returns a Ref, and sets the Python exception for what it throws.
template <typename Act>
PyObject* returning(const Act& act) {
  try {
    return act().release();
  } catch (const Raised&) {
  } catch (const Error& error) {
    set_python_error(error);
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

}  // namespace oneop
