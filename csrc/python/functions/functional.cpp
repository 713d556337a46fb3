// functional.cpp: calling a function from Python: the first signature that takes the arguments is
// called.
#include "python/functions/functional.h"

#include <ATen/CPUGeneratorImpl.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Generator.h>

#include <cstddef>
#include <utility>

#include "engine/ops/error.h"
#include "engine/ops/functions.h"
#include "interpreter/python_error.h"
#include "python/functions/function_arguments.h"
#include "python/functions/function_object.h"
#include "python/functions/function_result.h"
#include "torch_host/calls/thread_cache.h"
#include "torch_host/handles/draw_log.h"
#include "torch_host/handles/generators.h"
#include "torch_host/interpreter/trace_hook.h"

namespace oneop {
namespace {

[[noreturn]] void refuse(const FunctionObject& object, const FunctionArguments& arguments) {
  if (object.signatures->empty()) {
    throw Error("OpNotFoundError", "no function " + in_quotes(*object.name) + " is registered");
  }
  const bool single = object.signatures->size() == 1;
  std::string text = *object.name + "(): ";
  if (!single) {
    text += "received an invalid combination of arguments. The valid signatures are:";
  }
  for (size_t i = 0; i < object.signatures->size(); ++i) {
    const FunctionSignature& signature = (*object.signatures)[i];
    ArgumentValues values;
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
PyObject* call_as_op(FunctionObject* object, const FunctionArguments& arguments) {
  PyObject* args = arguments.positional();
  PyObject* kwargs = arguments.keywords();
  PyObject* returned = PyObject_CallFunctionObjArgs(
      random_call, reinterpret_cast<PyObject*>(object), args, kwargs, nullptr);
  Py_XDECREF(args);
  Py_XDECREF(kwargs);
  return returned;
}

PyObject* call(FunctionObject* object, const FunctionArguments& arguments) {
  refresh(object);
  if (is_traced()) {
    tell_traced("");
  }
  for (const FunctionSignature& signature : *object->signatures) {
    ArgumentValues values;
    ValueMemory memory;
    if (!arguments.fit(signature, &values, &memory, nullptr)) {
      continue;
    }
    FunctionResult result;
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
                FunctionArguments(args, PyVectorcall_NARGS(nargsf), kwnames));
  } catch (const Error& error) {
    set_python_error(error);
  } catch (...) {
    torch::translate_exception_to_python(std::current_exception());
  }
  return nullptr;
}

}  // namespace

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
  return make_function_object(name, &function_vectorcall);
}

}  // namespace oneop
