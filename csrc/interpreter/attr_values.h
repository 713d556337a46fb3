// attr_values.h: attribute values from Python objects, and back.
#pragma once

#include <Python.h>

#include "engine/ops/defs.h"

namespace oneop {

// The ABI's code of an object that is a dtype for the host; ONEOP_DTYPE_INVALID if it is none. The
// Python exception is set then if the object's own code raised it.
using DtypeOf = int32_t (*)(PyObject* object);

// Throws ArgumentError naming op, attribute, expected and found. `dtype` is the host's word for a
// dtype.
AttrValue attr_from_python(const OpDef& op, const AttrDef& attr, PyObject* object, DtypeOf dtype_of,
                           const char* dtype);

// The refusal of an object as the value of an attribute; takes the exception that is set as its
// cause. `is_converted` says that the value was too large for 32 bits only.
[[noreturn]] void refuse_attr(const OpDef& op, const AttrDef& attr, PyObject* object,
                              bool is_converted, const char* dtype);

// A new reference; dtypes are their names.
PyObject* attr_to_python(const AttrValue& value);

}  // namespace oneop
