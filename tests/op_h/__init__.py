"""The C++ interface of "oneop/op.h"."""
