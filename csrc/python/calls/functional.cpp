// functional.cpp: calling a function from Python: the first signature that takes the arguments is
// called.
#include "python/calls/functional.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/Tensor.h>
#include <c10/util/SmallVector.h>
#include <structmember.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "engine/ops/error.h"
#include "engine/ops/functions.h"
#include "interpreter/python_error.h"
#include "python/calls/python_value.h"
#include "torch_host/calls/thread_cache.h"
#include "torch_host/handles/draw_log.h"
#include "torch_host/handles/generators.h"
#include "torch_host/handles/tensor_handles.h"
#include "torch_host/interpreter/trace_hook.h"

namespace oneop {
namespace {

// A signature with interned names.
struct Signature {
  FunctionPtr def;
  std::vector<PyObject*> names;
  size_t num_positional = 0;
  bool packs = false;  // f(1, 2, 3) for f([1, 2, 3])
  PyObject* tuple_type = nullptr;

  explicit Signature(FunctionPtr function) : def(std::move(function)) {
    for (const FunctionArg& arg : def->args) {
      names.push_back(PyUnicode_InternFromString(arg.name.c_str()));
      if (!arg.keyword_only) {
        ++num_positional;
      }
    }
    const int32_t first = def->args.empty() ? ONEOP_TYPE_VOID : def->args[0].type;
    packs =
        num_positional == 1 && (first == ONEOP_TYPE_INT32_LIST || first == ONEOP_TYPE_INT64_LIST ||
                                first == ONEOP_TYPE_SHAPE || first == ONEOP_TYPE_TENSOR_TUPLE);
    if (!def->return_names.empty()) {
      make_tuple_type();
    }
  }

 private:
  void make_tuple_type() {
    PyObject* module = PyImport_ImportModule("collections");
    PyObject* fields = PyList_New(0);
    for (const std::string& name : def->return_names) {
      PyObject* text = PyUnicode_FromString(name.c_str());
      PyList_Append(fields, text);
      Py_DECREF(text);
    }
    tuple_type = PyObject_CallMethod(module, "namedtuple", "sO", def->name.c_str(), fields);
    Py_DECREF(fields);
    Py_DECREF(module);
    if (tuple_type == nullptr) {
      throw python_error();
    }
  }
};

using Values = c10::SmallVector<oneop_value, 16>;

// Puts the arguments in the order of the signature and converts them. `why`, where given, gets the
// reason of a failure.
class Arguments {
 public:
  Arguments(PyObject* const* args, size_t num_args, PyObject* kwnames)
      : args_(args), num_args_(num_args), kwnames_(kwnames) {}

  bool fit(const Signature& signature, Values* values, ValueMemory* memory,
           std::string* why) const {
    const size_t count = signature.names.size();
    if (num_args_ == count && kwnames_ == nullptr && !signature.packs &&
        count == signature.num_positional) {
      return convert(signature, args_, values, memory, why);  // as they stand
    }
    std::array<PyObject*, kInline> few;
    std::vector<PyObject*> many;
    PyObject** objects = few.data();
    if (count > kInline) {
      many.resize(count);
      objects = many.data();
    }
    std::fill_n(objects, count, nullptr);
    PyObject* packed = nullptr;
    if (num_args_ > signature.num_positional) {
      if (!signature.packs) {
        return why != nullptr && fail(why, too_many(signature));
      }
      packed = PyTuple_New(static_cast<Py_ssize_t>(num_args_));
      for (size_t i = 0; i < num_args_; ++i) {
        PyTuple_SET_ITEM(packed, i, Py_NewRef(args_[i]));
      }
      objects[0] = packed;
    } else {
      for (size_t i = 0; i < num_args_; ++i) {
        objects[i] = args_[i];
      }
      if (signature.packs && num_args_ == 1 && is_single(args_[0])) {
        packed = PyTuple_Pack(1, args_[0]);
        objects[0] = packed;
      }
    }
    const bool fits =
        place_keywords(signature, objects, why) && convert(signature, objects, values, memory, why);
    Py_XDECREF(packed);  // its items are held by the caller
    return fits;
  }

  PyObject* positional() const {
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(num_args_));
    for (size_t i = 0; i < num_args_; ++i) {
      PyTuple_SET_ITEM(tuple, i, Py_NewRef(args_[i]));
    }
    return tuple;
  }
  PyObject* keywords() const {
    PyObject* dict = PyDict_New();
    const Py_ssize_t count = kwnames_ == nullptr ? 0 : PyTuple_GET_SIZE(kwnames_);
    for (Py_ssize_t k = 0; k < count; ++k) {
      PyDict_SetItem(dict, PyTuple_GET_ITEM(kwnames_, k), args_[num_args_ + k]);
    }
    return dict;
  }

 private:
  static constexpr size_t kInline = 16;

  static bool fail(std::string* why, const std::string& text) {
    *why = text;
    return false;
  }
  static bool is_single(PyObject* object) {
    return !PyList_Check(object) && !PyTuple_Check(object) && object != Py_None;
  }
  std::string too_many(const Signature& signature) const {
    for (size_t i = signature.num_positional; i < signature.def->args.size() && i < num_args_;
         ++i) {
      if (signature.def->args[i].keyword_only) {
        return "argument '" + signature.def->args[i].name + "' is keyword only";
      }
    }
    return "takes " + std::to_string(signature.num_positional) + " positional arguments but " +
           std::to_string(num_args_) + " were given";
  }

  bool place_keywords(const Signature& signature, PyObject** objects, std::string* why) const {
    const Py_ssize_t count = kwnames_ == nullptr ? 0 : PyTuple_GET_SIZE(kwnames_);
    for (Py_ssize_t k = 0; k < count; ++k) {
      PyObject* name = PyTuple_GET_ITEM(kwnames_, k);
      size_t at = 0;
      while (at < signature.names.size() && signature.names[at] != name) {
        ++at;
      }
      if (at == signature.names.size()) {  // a name that was not interned
        at = 0;
        while (at < signature.names.size() && PyUnicode_Compare(signature.names[at], name) != 0) {
          ++at;
        }
      }
      if (at == signature.names.size() || objects[at] != nullptr) {
        if (why == nullptr) {
          return false;
        }
        const char* text = PyUnicode_AsUTF8(name);
        return fail(why, at == signature.names.size()
                             ? "got an unexpected keyword argument '" + std::string(text) + "'"
                             : "got multiple values for argument '" + std::string(text) + "'");
      }
      objects[at] = args_[num_args_ + k];
    }
    return true;
  }

  bool convert(const Signature& signature, PyObject* const* objects, Values* values,
               ValueMemory* memory, std::string* why) const {
    const size_t count = signature.def->args.size();
    const FunctionArg* args = signature.def->args.data();
    values->resize_for_overwrite(count);
    oneop_value* value = values->data();
    for (size_t i = 0; i < count; ++i) {
      PyObject* object = objects[i];
      if (object == nullptr) {
        if (!args[i].has_default) {
          return why != nullptr && fail(why, "missing required argument " + args[i].name);
        }
        value[i] = args[i].default_value;
      } else if (args[i].type == ONEOP_TYPE_TENSOR && THPVariable_CheckExact(object)) {
        value[i].kind = ONEOP_VALUE_TENSOR;
        value[i].value.tensor = borrow_handle(THPVariable_Unpack(object));
      } else if (args[i].type == ONEOP_TYPE_FLOAT && PyFloat_CheckExact(object) &&
                 std::abs(PyFloat_AS_DOUBLE(object)) <= std::numeric_limits<float>::max()) {
        value[i].kind = ONEOP_VALUE_FLOAT;
        value[i].value.f = PyFloat_AS_DOUBLE(object);
      } else if (!value_from_python(args[i], object, &value[i], memory)) {
        return why != nullptr && fail(why, mismatch_text(args[i], object));
      }
    }
    return true;
  }

  PyObject* const* args_;
  size_t num_args_;
  PyObject* kwnames_;
};

// What the function returns.
struct Result : oneop_result {
  oneop_value value{};
  at::Tensor tensor;
  struct Lists {
    std::vector<at::Tensor> tensors;
    std::vector<int64_t> ints;
    std::string text;
  };
  std::unique_ptr<Lists> lists;  // for the values that need memory

  Result() : oneop_result{sizeof(oneop_result), &Result::set_value, &Result::give_tensor} {}

  static void give_tensor(oneop_result* result, oneop_handle owned) {
    auto* self = static_cast<Result*>(result);
    self->value.kind = ONEOP_VALUE_TENSOR;
    self->tensor = take_handle(owned);
  }
  static void set_value(oneop_result* result, const oneop_value* value) {
    auto* self = static_cast<Result*>(result);
    self->value = *value;
    const oneop_span& list = value->value.list;
    if (value->kind == ONEOP_VALUE_TENSOR) {
      self->tensor = tensor_of(value->value.tensor);
      return;
    }
    const bool is_list = value->kind == ONEOP_VALUE_TENSORS || value->kind == ONEOP_VALUE_INTS ||
                         value->kind == ONEOP_VALUE_STRING;
    self->lists = is_list ? std::make_unique<Lists>() : nullptr;
    if (value->kind == ONEOP_VALUE_TENSORS) {
      const auto* handles = static_cast<const oneop_handle*>(list.data);
      for (int64_t i = 0; i < list.count; ++i) {
        self->lists->tensors.push_back(handles[i] == nullptr ? at::Tensor()
                                                             : tensor_of(handles[i]));
      }
    } else if (value->kind == ONEOP_VALUE_INTS) {
      const auto* data = static_cast<const int64_t*>(list.data);
      self->lists->ints.assign(data, data + list.count);
    } else if (value->kind == ONEOP_VALUE_STRING) {
      self->lists->text.assign(static_cast<const char*>(list.data), list.count);
    }
  }

  PyObject* wrap(const Signature& signature) {
    switch (value.kind) {
      case ONEOP_VALUE_NONE:
        Py_RETURN_NONE;
      case ONEOP_VALUE_TENSOR:
        return THPVariable_Wrap(std::move(tensor));
      case ONEOP_VALUE_TENSORS:
        return wrap_tuple(signature);
      case ONEOP_VALUE_BOOL:
        return PyBool_FromLong(value.value.i != 0);
      case ONEOP_VALUE_INT:
        return PyLong_FromLongLong(value.value.i);
      case ONEOP_VALUE_FLOAT:
        return PyFloat_FromDouble(value.value.f);
      case ONEOP_VALUE_STRING:
        return PyUnicode_FromStringAndSize(lists->text.data(),
                                           static_cast<Py_ssize_t>(lists->text.size()));
      case ONEOP_VALUE_INTS:
        return wrap_shape();
      default:
        throw Error("OpNotImplementedError",
                    "a function returns a value that Python has no type for");
    }
  }

 private:
  PyObject* wrap_shape() const {
    const std::vector<int64_t>& ints = lists->ints;
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(ints.size()));
    for (size_t i = 0; i < ints.size(); ++i) {
      PyTuple_SET_ITEM(tuple, i, PyLong_FromLongLong(ints[i]));
    }
    PyObject* torch = PyImport_ImportModule("torch");
    PyObject* size = torch == nullptr ? nullptr : PyObject_CallMethod(torch, "Size", "(O)", tuple);
    Py_XDECREF(torch);
    Py_DECREF(tuple);
    return size;
  }

  PyObject* wrap_tuple(const Signature& signature) {
    std::vector<at::Tensor>& tensors = lists->tensors;
    PyObject* tuple = PyTuple_New(static_cast<Py_ssize_t>(tensors.size()));
    for (size_t i = 0; i < tensors.size(); ++i) {
      // A null tensor of a functor is None, alone and in a tuple.
      PyTuple_SET_ITEM(
          tuple, i,
          tensors[i].defined() ? THPVariable_Wrap(std::move(tensors[i])) : Py_NewRef(Py_None));
    }
    if (signature.tuple_type == nullptr) {
      return tuple;
    }
    PyObject* named = PyObject_Call(signature.tuple_type, tuple, nullptr);
    Py_DECREF(tuple);
    return named;
  }
};

struct FunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const std::string* name;
  const std::vector<Signature>* signatures;  // never freed: a call on another thread may use it
  int64_t version;
  PyObject* dict;
  PyObject* weakrefs;
};

void read_signatures(FunctionObject* object, int64_t version) {
  auto* signatures = new std::vector<Signature>;
  for (FunctionPtr& def : Functions::global().signatures(*object->name)) {
    signatures->emplace_back(std::move(def));
  }
  object->signatures = signatures;
  object->version = version;
}

inline void refresh(FunctionObject* object) {
  const int64_t version = Functions::version();
  if (object->version != version) {
    read_signatures(object, version);
  }
}

[[noreturn]] void refuse(const FunctionObject& object, const Arguments& arguments) {
  if (object.signatures->empty()) {
    throw Error("OpNotFoundError", "no function " + in_quotes(*object.name) + " is registered");
  }
  const bool single = object.signatures->size() == 1;
  std::string text = *object.name + "(): ";
  if (!single) {
    text += "received an invalid combination of arguments. The valid signatures are:";
  }
  for (size_t i = 0; i < object.signatures->size(); ++i) {
    const Signature& signature = (*object.signatures)[i];
    Values values;
    ValueMemory memory;
    std::string why;
    arguments.fit(signature, &values, &memory, &why);
    if (single) {
      text +=
          why + "\n  " + signature.def->text + "\n  declared at " + signature.def->source.text();
    } else {
      text += "\n\t*" + std::to_string(i) + ": " + signature.def->text + "\n\t    " + why;
    }
  }
  throw Error("ArgumentError", text);
}

// A call from Python: the GIL is held until somebody lets it go, and a draw that stops it is its
// own.
class CallScope {
 public:
  CallScope()
      : cache_(thread_cache()),
        before_(std::exchange(cache_.holds_gil, true)),
        stopped_(std::exchange(cache_.stopped_for_draw, false)) {}
  ~CallScope() {
    cache_.holds_gil = before_;
    cache_.stopped_for_draw = stopped_;
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  // Whether this call was stopped for a draw; that of a call around it is another matter.
  bool stopped_for_draw() const { return cache_.stopped_for_draw; }

 private:
  ThreadCache& cache_;
  bool before_;
  bool stopped_;
};

PyObject* random_call =
    nullptr;  // oneop.runtime.random_calls.call_as_op; set once, with the GIL held

// The call as an op in the traced program.
PyObject* call_as_op(FunctionObject* object, const Arguments& arguments) {
  PyObject* args = arguments.positional();
  PyObject* kwargs = arguments.keywords();
  PyObject* returned = PyObject_CallFunctionObjArgs(
      random_call, reinterpret_cast<PyObject*>(object), args, kwargs, nullptr);
  Py_XDECREF(args);
  Py_XDECREF(kwargs);
  return returned;
}

PyObject* call(FunctionObject* object, const Arguments& arguments) {
  refresh(object);
  if (is_traced()) {
    tell_traced("");
  }
  for (const Signature& signature : *object->signatures) {
    Values values;
    ValueMemory memory;
    if (!arguments.fit(signature, &values, &memory, nullptr)) {
      continue;
    }
    Result result;
    Status status;
    CallScope scope;
    const oneop_function_def& abi = signature.def->abi;
    const int32_t code = abi.call(abi.self, values.data(), static_cast<int32_t>(values.size()),
                                  &result, status.abi());
    if (code != ONEOP_OK || status.failed()) {
      if (scope.stopped_for_draw()) {
        return call_as_op(object, arguments);
      }
      check_function(&status, code, "function " + in_quotes(*object->name));
    }
    return result.wrap(signature);
  }
  refuse(*object, arguments);
}

PyObject* function_vectorcall(PyObject* self, PyObject* const* args, size_t nargsf,
                              PyObject* kwnames) {
  try {
    return call(reinterpret_cast<FunctionObject*>(self),
                Arguments(args, PyVectorcall_NARGS(nargsf), kwnames));
  } catch (const Error& error) {
    set_python_error(error);
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
  }
  return nullptr;
}

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

bool add_function_type(PyObject* module) {
  PyObject* type = PyType_FromSpec(&function_spec);
  if (type == nullptr) {
    return false;
  }
  function_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "Function", type) == 0;
}

void set_random_call(PyObject* function) { random_call = Py_NewRef(function); }

PyObject* replay_function(PyObject* function, std::vector<uint64_t> draws, PyObject* args,
                          PyObject* kwargs) {
  const DrawLog outer = std::exchange(draw_log(), DrawLog());
  PyObject* result = nullptr;
  {
    const Replay replay(std::move(draws));
    result = PyObject_Call(function, args, kwargs);
  }
  const DrawLog log = std::exchange(draw_log(), outer);
  if (result == nullptr) {
    return nullptr;
  }
  const bool is_default = log.count == 0 || log.generator == at::detail::getDefaultCPUGenerator();
  PyObject* generator = is_default ? Py_NewRef(Py_None) : THPGenerator_Wrap(log.generator);
  return Py_BuildValue("NiNO", result, static_cast<int>(log.count), generator,
                       log.from_several ? Py_True : Py_False);
}

PyObject* make_function(const std::string& name) {
  if (Functions::global().signatures(name).empty()) {
    const std::vector<std::string> names = Functions::global().names();
    throw Error("OpNotFoundError",
                "no function " + in_quotes(name) + " is registered" + did_you_mean(name, names));
  }
  auto* object = reinterpret_cast<FunctionObject*>(function_type->tp_alloc(function_type, 0));
  if (object == nullptr) {
    throw python_error();
  }
  object->vectorcall = &function_vectorcall;
  object->name = new std::string(name);
  object->version = -1;
  return reinterpret_cast<PyObject*>(object);
}

}  // namespace oneop
