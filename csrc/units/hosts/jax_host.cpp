// units/hosts/jax_host.cpp: a unit of the build of the JAX host: the handler that XLA calls.
#include "jax_host/handler.cpp"
#include "jax_host/plans.cpp"
