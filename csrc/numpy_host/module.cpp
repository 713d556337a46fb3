// module.cpp: oneop._numpy_host, the engine without torch as Python sees it.
#include <Python.h>

#include "c_host/generator.h"
#include "c_host/plain_host.h"
#include "c_host/registration.h"
#include "c_host/request.h"
#include "c_host/threads.h"
#include "engine/ops/error.h"
#include "engine/ops/host.h"
#include "engine/registry/registry.h"
#include "interpreter/attr_values.h"
#include "interpreter/objects.h"
#include "numpy_host/call.h"
#include "numpy_host/framework.h"
#include "numpy_host/kept_calls.h"
#include "numpy_host/op_object.h"
#include "numpy_host/questions.h"
#include "numpy_host/specs.h"
#include "oneop/runtime.h"

namespace oneop {
namespace {

// Any bytes may be in a file name.
std::string path_from(PyObject* path) {
  PyObject* bytes = nullptr;
  if (PyUnicode_FSConverter(path, &bytes) == 0) {
    throw Raised();
  }
  const Ref owner(bytes);
  return std::string(PyBytes_AS_STRING(bytes), PyBytes_GET_SIZE(bytes));
}

// Reads the arguments of a function of this module; each must be there.
template <size_t N>
void take(PyObject* const* args, Py_ssize_t count, PyObject* (&into)[N]) {
  if (count != static_cast<Py_ssize_t>(N)) {
    PyErr_SetString(PyExc_TypeError, "a function of the engine got a wrong number of arguments");
    throw Raised();
  }
  std::copy(args, args + N, into);
}

RecordPtr record_of(PyObject* name) { return Registry::global().get(text_from(name)); }

// load(path, library, package) -> names of the ops
PyObject* load(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    PyObject* given[3];
    take(args, count, given);
    const std::string path = path_from(given[0]);
    const std::string library = path_from(given[1]);
    const std::string package = text_from(given[2]);
    std::vector<std::string> names;
    {
      const ReleaseGil released;
      names = register_file(path, library, package);
    }
    return list_to_python(names, &text_to_python);
  });
}

PyObject* op_names(PyObject*, PyObject*) {
  return returning([] { return list_to_python(Registry::global().op_names(), &text_to_python); });
}

PyObject* resolve(PyObject*, PyObject* name) {
  return returning([&] {
    const std::string whole = Registry::global().resolve(text_from(name));
    Registry::global().get(whole);
    return text_to_python(whole);
  });
}

PyObject* op_info(PyObject*, PyObject* name) {
  return returning([&] { return describe_op(*record_of(name)); });
}

PyObject* make_op(PyObject*, PyObject* name) {
  return returning([&] {
    record_of(name);
    return Ref(make_op_object(Registry::global().find_slot(text_from(name))));
  });
}

// bind(name, args, kwargs) -> (tensors of each input, attributes, output counts)
PyObject* bind(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    PyObject* given[3];
    take(args, count, given);
    const Signature signature(record_of(given[0]));
    std::vector<PyObject*> objects(PySequence_Fast_ITEMS(given[1]),
                                   PySequence_Fast_ITEMS(given[1]) + PyTuple_Size(given[1]));
    const Ref names(PyTuple_New(PyDict_Size(given[2])));
    PyObject *name, *value;
    Py_ssize_t next = 0, at = 0;
    while (PyDict_Next(given[2], &next, &name, &value) != 0) {
      PyTuple_SET_ITEM(names.get(), at++, Py_NewRef(name));
      objects.push_back(value);
    }
    const Binding binding(signature, objects.data(), PyTuple_GET_SIZE(given[1]), names.get());
    const Ref inputs(PyList_New(0));
    for (size_t i = 0; i < signature.op().inputs.size(); ++i) {
      std::vector<PyObject*> tensors;
      binding.each_tensor(i, &tensors);
      const Ref list =
          list_to_python(tensors, [](PyObject* tensor) { return Ref::borrow(tensor); });
      if (PyList_Append(inputs.get(), list.get()) != 0) {
        throw Raised();
      }
    }
    binding.check_device();
    const Ref attrs = attrs_to_bytes(binding.attrs());
    const Ref counts = ints_to_python(binding.output_counts());
    return Ref(PyTuple_Pack(3, inputs.get(), attrs.get(), counts.get()));
  });
}

// attr_values(name, attributes) -> {name: value}
PyObject* attr_values(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    PyObject* given[2];
    take(args, count, given);
    const RecordPtr record = record_of(given[0]);
    const std::vector<AttrValue> values = attrs_from_bytes(*record->op, given[1]);
    Ref dict(PyDict_New());
    for (size_t i = 0; i < values.size(); ++i) {
      set_item(dict, record->op->attrs[i].name.c_str(), Ref(attr_to_python(values[i])));
    }
    return dict;
  });
}

// run(name, arrays of each input, attributes, output counts) -> arrays
PyObject* run(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    PyObject* given[4];
    take(args, count, given);
    const Signature signature(record_of(given[0]));
    const OpDef& op = signature.op();
    const std::vector<int32_t> output_counts = ints_from(given[3]);
    const Py_ssize_t num_lists = PySequence_Size(given[1]);
    if (num_lists < 0) {
      throw Raised();
    }
    check_is_current(op, "inputs", num_lists, op.inputs.size());
    check_is_current(op, "outputs", output_counts.size(), op.outputs.size());
    CallArrays arrays(signature);
    size_t input = 0;
    for_each_item(given[1], /*is_simple=*/false, [&](PyObject* tensors) {
      for_each_item(tensors, /*is_simple=*/false, [&](PyObject* tensor) {
        arrays.add(input, tensor);
        return true;
      });
      arrays.end_input();
      ++input;
      return true;
    });
    const auto plan = find_plan(signature, arrays, attrs_from_bytes(op, given[2]), output_counts);
    return list_to_python(arrays.run(*plan), [](const Ref& output) { return output; });
  });
}

// infer(name, inputs, attributes, output counts) -> specs
PyObject* infer(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    PyObject* given[4];
    take(args, count, given);
    const RecordPtr record = record_of(given[0]);
    return inferred(record, spec_from(*record->op, given[1], given[2], given[3]));
  });
}

// choose(name, inputs, attributes, output counts): raises unless a kernel of the cpu takes the call
PyObject* choose(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    PyObject* given[4];
    take(args, count, given);
    const RecordPtr record = record_of(given[0]);
    const CallPlan plan(record, spec_from(*record->op, given[1], given[2], given[3]), false);
    return Ref::borrow(Py_None);
  });
}

// gradient(name, inputs, attributes, output counts, needs) -> steps
PyObject* gradient(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    PyObject* given[5];
    take(args, count, given);
    const RecordPtr record = record_of(given[0]);
    return gradient_of(*record, spec_from(*record->op, given[1], given[2], given[3]), given[4]);
  });
}

// signatures(name, inputs, attributes, output counts, number of devices) -> lists of (kind, axis)
PyObject* signatures(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    PyObject* given[5];
    take(args, count, given);
    const RecordPtr record = record_of(given[0]);
    const auto parallel_num = static_cast<int32_t>(PyLong_AsLong(given[4]));
    return signatures_of(*record, spec_from(*record->op, given[1], given[2], given[3]),
                         parallel_num);
  });
}

PyObject* use_framework(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return returning([&] {
    PyObject* given[2];
    take(args, count, given);
    set_python_framework(given[0], given[1]);
    return Ref::borrow(Py_None);
  });
}

PyObject* use_num_threads(PyObject*, PyObject* count) {
  return returning([&] {
    int64_t number = 0;
    if (!to_int32(count, &number)) {
      PyErr_Clear();
      throw Error("ArgumentError",
                  "the number of threads: expected 1 to 1024, found " + found_text(count));
    }
    set_num_threads(static_cast<int32_t>(number));
    return Ref::borrow(Py_None);
  });
}

PyObject* use_required(PyObject*, PyObject* bits) {
  return returning([&] {
    const unsigned long number = PyLong_AsUnsignedLong(bits);
    if (PyErr_Occurred() != nullptr) {
      throw Raised();
    }
    set_required(static_cast<uint32_t>(number));
    return Ref::borrow(Py_None);
  });
}

PyObject* use_seed(PyObject*, PyObject* seed) {
  return returning([&] {
    const uint64_t number = PyLong_AsUnsignedLongLongMask(seed);
    if (PyErr_Occurred() != nullptr) {
      throw Raised();
    }
    set_seed(number);
    return Ref::borrow(Py_None);
  });
}

// The table of oneop/runtime.h, for hosts in C++ that work on the same ops.
PyObject* runtime(PyObject*, PyObject*) {
  return returning([] {
    return Ref(
        PyLong_FromVoidPtr(const_cast<oneop_runtime*>(oneop_get_runtime(ONEOP_RUNTIME_MAJOR))));
  });
}

template <typename Function>
constexpr PyMethodDef method(const char* name, Function function, int flags) {
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), flags,
          nullptr};
}

PyMethodDef methods[] = {
    method("load", &load, METH_FASTCALL),
    method("op_names", &op_names, METH_NOARGS),
    method("resolve", &resolve, METH_O),
    method("op_info", &op_info, METH_O),
    method("make_op", &make_op, METH_O),
    method("keep_calls", &keep_calls, METH_FASTCALL),
    method("bind", &bind, METH_FASTCALL),
    method("attr_values", &attr_values, METH_FASTCALL),
    method("run", &run, METH_FASTCALL),
    method("infer", &infer, METH_FASTCALL),
    method("choose", &choose, METH_FASTCALL),
    method("gradient", &gradient, METH_FASTCALL),
    method("signatures", &signatures, METH_FASTCALL),
    method("set_framework", &use_framework, METH_FASTCALL),
    method("set_num_threads", &use_num_threads, METH_O),
    method("set_required", &use_required, METH_O),
    method("set_seed", &use_seed, METH_O),
    method("runtime", &runtime, METH_NOARGS),
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                          "oneop._numpy_host",
                          "Op libraries without torch.",
                          -1,
                          methods,
                          nullptr,
                          nullptr,
                          nullptr,
                          nullptr};

}  // namespace
}  // namespace oneop

PyMODINIT_FUNC PyInit__numpy_host() {
  if (!oneop::import_numpy()) {
    return nullptr;
  }
  oneop::install_plain_host();
  PyObject* module = PyModule_Create(&oneop::definition);
  if (module != nullptr && !(oneop::add_op_type(module) && oneop::add_kept_calls_type(module))) {
    Py_CLEAR(module);
  }
  return module;
}
