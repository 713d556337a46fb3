// units/hosts/c_host.cpp: a unit of the builds of the runtime and of the numpy host: the engine's
// host in a program without a framework. No torch, no Python.
#include "c_host/attr_words.cpp"
#include "c_host/differentiate.cpp"
#include "c_host/generator.cpp"
#include "c_host/grad_steps.cpp"
#include "c_host/named_call.cpp"
#include "c_host/owned_values.cpp"
#include "c_host/plain_host.cpp"
#include "c_host/registration.cpp"
#include "c_host/request.cpp"
#include "c_host/run.cpp"
#include "c_host/runtime.cpp"
#include "c_host/threads.cpp"
