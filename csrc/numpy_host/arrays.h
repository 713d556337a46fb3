// arrays.h: numpy's arrays and dtypes.
//
// The sources of this folder are compiled as one unit, so numpy's table of functions is static.
#pragma once

#include <Python.h>
#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
#include <numpy/arrayobject.h>

#include <string>

#include "engine/ops/tensor_meta.h"
#include "interpreter/ref.h"

namespace oneop {

bool import_numpy();  // false: a Python exception is set

// The ABI's code; ONEOP_DTYPE_INVALID for a dtype that has none.
int32_t code_of(PyArray_Descr* descr);
// Of an object that numpy takes as a dtype; INVALID, with the exception cleared, for others.
int32_t code_of_dtype(PyObject* object);
// By the ABI's name, "float32". Throws ArgumentError.
int32_t code_of_name(PyObject* name);
// A new reference. Throws MissingDependencyError where the dtype is one of ml_dtypes', which is not
// installed.
PyArray_Descr* descr_of(int32_t code);

// Whether kernels can read it as it is: aligned, in the machine's byte order, and contiguous unless
// they take any strides, which are whole elements then and not negative.
bool is_arranged(PyArrayObject* array, bool any_strides);
// A contiguous copy of such an array.
Ref arranged_copy(PyArrayObject* array);
// Whether the two may share memory: their bytes overlap.
bool may_overlap(PyArrayObject* a, PyArrayObject* b);

TensorMeta meta_of_array(PyArrayObject* array, bool any_strides);

}  // namespace oneop
