// python_ref.cpp: references and exceptions.
#include "interpreter/python_ref.h"

#include <mutex>
#include <vector>

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

namespace {

bool is_finalizing() {
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsFinalizing() != 0;
#else
  return _Py_IsFinalizing() != 0;
#endif
}

class ReleasedObjects {
 public:
  void add(PyObject* object) {
    bool is_first = false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_first = objects_.empty();
      objects_.push_back(object);
    }
    if (is_first) {
      Py_AddPendingCall(
          [](void*) {
            drop_released();
            return 0;
          },
          nullptr);  // if its queue is full, the objects wait for the next drop_released()
    }
  }
  void drop() {
    std::vector<PyObject*> objects;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      objects.swap(objects_);
    }
    for (PyObject* object : objects) {
      Py_DECREF(object);
    }
  }

 private:
  std::mutex mutex_;
  std::vector<PyObject*> objects_;
};

ReleasedObjects& released_objects() {
  static auto* objects = new ReleasedObjects;  // threads may outlive main()
  return *objects;
}

}  // namespace

void drop_released() { released_objects().drop(); }

PyShared share(PyObject* object) {
  if (object == nullptr) {
    return nullptr;
  }
  Py_INCREF(object);
  return PyShared(object, [](PyObject* held) {
    if (Py_IsInitialized() == 0 || is_finalizing()) {
      return;  // caches of threads go after the interpreter
    }
    if (PyGILState_Check() != 0) {
      Py_DECREF(held);
    } else {
      released_objects().add(held);
    }
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
