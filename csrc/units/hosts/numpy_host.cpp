// units/hosts/numpy_host.cpp: a unit of the build of the numpy host. No torch. One unit, so that
// numpy's table of functions is static.
#include "numpy_host/arrays.cpp"
#include "numpy_host/call.cpp"
#include "numpy_host/framework.cpp"
#include "numpy_host/kept_calls.cpp"
#include "numpy_host/module.cpp"
#include "numpy_host/op_object.cpp"
#include "numpy_host/questions.cpp"
#include "numpy_host/signature.cpp"
#include "numpy_host/specs.cpp"
