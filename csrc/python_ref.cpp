// python_ref.cpp: references and exceptions.
#include "python_ref.h"

namespace oneop {
namespace {

struct Raised {
  int32_t kind = ONEOP_ERROR_RUNTIME;
  std::string text;
  PyShared exception;
};

int32_t kind_of(PyObject* exception) {
  const std::pair<PyObject*, int32_t> kinds[] = {
      {PyExc_TypeError, ONEOP_ERROR_TYPE},
      {PyExc_ValueError, ONEOP_ERROR_VALUE},
      {PyExc_IndexError, ONEOP_ERROR_INDEX},
      {PyExc_NotImplementedError, ONEOP_ERROR_NOT_IMPLEMENTED},
      {PyExc_AssertionError, ONEOP_ERROR_CHECK},
  };
  for (const auto& [type, kind] : kinds) {
    if (PyObject_IsInstance(exception, type) == 1) {
      return kind;
    }
  }
  return ONEOP_ERROR_RUNTIME;
}

Raised take_raised() {
  Raised raised;
  raised.exception = take_exception();
  PyObject* value = raised.exception.get();
  raised.kind = kind_of(value);
  raised.text = Py_TYPE(value)->tp_name;
  PyObject* text = PyObject_Str(value);
  PyObject* utf8 =
      text == nullptr ? nullptr : PyUnicode_AsEncodedString(text, "utf-8", "backslashreplace");
  if (utf8 != nullptr && PyBytes_GET_SIZE(utf8) > 0) {
    raised.text += std::string(": ") + PyBytes_AS_STRING(utf8);
  }
  PyErr_Clear();
  Py_XDECREF(utf8);
  Py_XDECREF(text);
  return raised;
}

}  // namespace

PyShared take_exception() {
  if (PyErr_Occurred() == nullptr) {
    return nullptr;
  }
  PyObject* type = nullptr;
  PyObject* value = nullptr;
  PyObject* traceback = nullptr;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (traceback != nullptr) {
    PyException_SetTraceback(value, traceback);
  }
  PyShared exception = share(value);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  return exception;
}

PyShared share(PyObject* object) {
  if (object == nullptr) {
    return nullptr;
  }
  Py_INCREF(object);
  return PyShared(object, [](PyObject* held) {
    if (Py_IsInitialized() == 0) {
      return;
    }  // caches of threads go after the interpreter
    Gil gil;
    Py_DECREF(held);
  });
}

Error raised_error(const std::string& what, const Source& source) {
  Raised raised = take_raised();
  return Error(Status::class_of(raised.kind), what + ": " + raised.text + "\n  at " + source.text(),
               std::move(raised.exception));
}

int32_t report_raised(oneop_status* status, const Source& source) {
  Raised raised = take_raised();
  status->report(status, raised.kind, raised.text.data(), static_cast<int64_t>(raised.text.size()),
                 source.file.c_str(), source.line);
  Status::set_cause(status, std::move(raised.exception));
  return raised.kind;
}

}  // namespace oneop
