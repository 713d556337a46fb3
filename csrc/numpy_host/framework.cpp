// framework.cpp: see framework.h.
#include "numpy_host/framework.h"

#include "c_host/named_call.h"
#include "interpreter/attr_values.h"
#include "numpy_host/specs.h"

namespace oneop {
namespace {

// Held forever: a gradient may ask at any time.
PyObject* num_outputs_hook = nullptr;
PyObject* infer_hook = nullptr;

template <typename T>
std::vector<T> items_of(const oneop_span& list) {
  const auto* data = static_cast<const T*>(list.data);
  return std::vector<T>(data, data + list.count);
}

Ref ints(const oneop_span& list) {
  return list_to_python(items_of<int64_t>(list),
                        [](int64_t number) { return Ref(PyLong_FromLongLong(number)); });
}

Ref text(const oneop_span& list) {
  return text_to_python(std::string(static_cast<const char*>(list.data), list.count));
}

Ref dtype(int64_t code) { return text_to_python(dtype_name(static_cast<int32_t>(code))); }

Ref pair(const char* kind, const Ref& value) {
  return Ref(PyTuple_Pack(2, Ref(PyUnicode_InternFromString(kind)).get(), value.get()));
}

Ref arguments(const oneop_value* args, int32_t num_args) {
  return list_to_python(std::vector<oneop_value>(args, args + num_args), &value_to_python);
}

int32_t ask_num_outputs(void*, const char* name, const oneop_value*, int32_t) {
  const Gil gil;
  PyObject* count = PyObject_CallFunction(num_outputs_hook, "s", name);
  const int32_t number =
      count == nullptr || count == Py_None ? -2 : static_cast<int32_t>(PyLong_AsLong(count));
  PyErr_Clear();
  Py_XDECREF(count);
  return number;
}

int32_t ask_infer(void*, const char* name, const oneop_value* args, int32_t num_args,
                  const oneop_tensor* inputs, int32_t num_inputs,
                  void (*add)(void* sink, const int64_t* shape, int32_t ndim, int32_t dtype),
                  void* sink, oneop_status* status) {
  const Gil gil;
  try {
    const Ref specs = list_to_python(
        std::vector<oneop_tensor>(inputs, inputs + num_inputs), [](const oneop_tensor& tensor) {
          return spec_to_python(tensor.shape, tensor.ndim, tensor.dtype);
        });
    const Ref outputs(PyObject_CallFunction(infer_hook, "sOO", name,
                                            arguments(args, num_args).get(), specs.get()));
    for (Py_ssize_t i = 0; i < PyList_Size(outputs.get()); ++i) {
      const TensorMeta meta = meta_from(PyList_GET_ITEM(outputs.get(), i));
      add(sink, meta.shape.data(), static_cast<int32_t>(meta.shape.size()), meta.dtype);
    }
    return ONEOP_OK;
  } catch (const Raised&) {
    return report_raised(status, Source());
  } catch (const std::exception& error) {
    return Status::fail(status, ONEOP_ERROR_RUNTIME, error.what());
  }
}

}  // namespace

Ref value_to_python(const oneop_value& value) {
  const oneop_span& list = value.value.list;
  switch (value.kind) {
    case ONEOP_VALUE_NONE:
      return pair("none", Ref::borrow(Py_None));
    case ONEOP_VALUE_INT:
      return pair("int", Ref(PyLong_FromLongLong(value.value.i)));
    case ONEOP_VALUE_BOOL:
      return pair("bool", Ref(PyBool_FromLong(value.value.i != 0)));
    case ONEOP_VALUE_FLOAT:
      return pair("float", Ref(PyFloat_FromDouble(value.value.f)));
    case ONEOP_VALUE_COMPLEX:
      return pair("complex", Ref(PyComplex_FromDoubles(value.value.c[0], value.value.c[1])));
    case ONEOP_VALUE_STRING:
      return pair("str", text(list));
    case ONEOP_VALUE_INTS:
      return pair("ints", ints(list));
    case ONEOP_VALUE_FLOATS:
      return pair("floats", list_to_python(items_of<double>(list), [](double number) {
                    return Ref(PyFloat_FromDouble(number));
                  }));
    case ONEOP_VALUE_DTYPE:
      return pair("dtype", dtype(value.value.i));
    case ONEOP_VALUE_SCALARS:
      return pair("scalars", list_to_python(items_of<oneop_value>(list), [](const oneop_value& v) {
                    return Ref::borrow(PyTuple_GET_ITEM(value_to_python(v).get(), 1));
                  }));
    case ONEOP_VALUE_BLOB:
      return pair("blob", Ref(PyLong_FromLongLong(value.value.i)));
    case ONEOP_VALUE_BLOBS:
      return pair("blobs", ints(list));
    case ONEOP_VALUE_DEVICE:
      return pair("device", ints(list));
    default:
      return pair("other", Ref(PyLong_FromLong(value.kind)));
  }
}

void set_python_framework(PyObject* num_outputs, PyObject* infer) {
  num_outputs_hook = Py_NewRef(num_outputs);
  infer_hook = Py_NewRef(infer);
  static const oneop_framework table{sizeof(oneop_framework), 0, nullptr, &ask_num_outputs,
                                     &ask_infer};
  set_framework(&table);
}

}  // namespace oneop
