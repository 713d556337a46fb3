// arrays.cpp: see arrays.h.
#include "numpy_host/arrays.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/ops/codes.h"
#include "engine/ops/error.h"
#include "interpreter/objects.h"

namespace oneop {
namespace {

constexpr std::pair<int, int32_t> kDtypes[] = {
    {NPY_BOOL, ONEOP_DTYPE_BOOL},           {NPY_INT8, ONEOP_DTYPE_INT8},
    {NPY_INT16, ONEOP_DTYPE_INT16},         {NPY_INT32, ONEOP_DTYPE_INT32},
    {NPY_INT64, ONEOP_DTYPE_INT64},         {NPY_LONGLONG, ONEOP_DTYPE_INT64},
    {NPY_UINT8, ONEOP_DTYPE_UINT8},         {NPY_UINT16, ONEOP_DTYPE_UINT16},
    {NPY_UINT32, ONEOP_DTYPE_UINT32},       {NPY_UINT64, ONEOP_DTYPE_UINT64},
    {NPY_ULONGLONG, ONEOP_DTYPE_UINT64},    {NPY_FLOAT16, ONEOP_DTYPE_FLOAT16},
    {NPY_FLOAT32, ONEOP_DTYPE_FLOAT32},     {NPY_FLOAT64, ONEOP_DTYPE_FLOAT64},
    {NPY_COMPLEX64, ONEOP_DTYPE_COMPLEX64}, {NPY_COMPLEX128, ONEOP_DTYPE_COMPLEX128},
};

// Dtypes that ml_dtypes adds to numpy.
constexpr int32_t kMoreDtypes[] = {ONEOP_DTYPE_BFLOAT16, ONEOP_DTYPE_FLOAT8_E4M3FN,
                                   ONEOP_DTYPE_FLOAT8_E5M2, ONEOP_DTYPE_FLOAT8_E4M3FNUZ,
                                   ONEOP_DTYPE_FLOAT8_E5M2FNUZ};

// (number of the type, code) of those that were met. Under the GIL.
std::vector<std::pair<int, int32_t>>& added_dtypes() {
  static std::vector<std::pair<int, int32_t>> added;
  return added;
}

// A type of another package is known by its name.
int32_t code_of_added(PyArray_Descr* descr) {
  for (const auto& [number, code] : added_dtypes()) {
    if (number == descr->type_num) {
      return code;
    }
  }
  const std::string name = descr->typeobj->tp_name;
  const std::string plain = name.substr(name.rfind('.') + 1);
  for (const int32_t code : kMoreDtypes) {
    if (plain == dtype_name(code)) {
      added_dtypes().emplace_back(descr->type_num, code);
      return code;
    }
  }
  return ONEOP_DTYPE_INVALID;
}

}  // namespace

bool import_numpy() { return _import_array() == 0; }

int32_t code_of(PyArray_Descr* descr) {
  if (descr->type_num >= NPY_USERDEF) {
    return code_of_added(descr);
  }
  for (const auto& [number, code] : kDtypes) {
    if (number == descr->type_num) {
      return code;
    }
  }
  return ONEOP_DTYPE_INVALID;
}

int32_t code_of_dtype(PyObject* object) {
  PyArray_Descr* descr = nullptr;
  // None is numpy's default dtype, and a number is no dtype.
  if (object == Py_None || PyArray_DescrConverter(object, &descr) == 0) {
    PyErr_Clear();
    return ONEOP_DTYPE_INVALID;
  }
  const int32_t code = code_of(descr);
  Py_DECREF(descr);
  return code;
}

int32_t code_of_name(PyObject* name) {
  std::string text;
  if (to_text(name, &text)) {
    for (int32_t code = 0; code < 64; ++code) {
      if (is_dtype(code) && dtype_name(code) == text) {
        return code;
      }
    }
  }
  PyErr_Clear();
  throw Error("ArgumentError", "expected the name of a dtype, found " + found_text(name));
}

PyArray_Descr* descr_of(int32_t code) {
  for (const auto& [number, of] : kDtypes) {
    if (of == code) {
      return PyArray_DescrFromType(number);
    }
  }
  for (const auto& [number, of] : added_dtypes()) {
    if (of == code) {
      return PyArray_DescrFromType(number);
    }
  }
  const std::string name = dtype_name(code);
  PyObject* module = PyImport_ImportModule("ml_dtypes");
  PyObject* type = module == nullptr ? nullptr : PyObject_GetAttrString(module, name.c_str());
  Py_XDECREF(module);
  PyArray_Descr* descr = nullptr;
  if (type == nullptr || PyArray_DescrConverter(type, &descr) == 0) {
    Py_XDECREF(type);
    throw Error("MissingDependencyError",
                "numpy has no " + name + "; with ml_dtypes it has: pip install ml_dtypes",
                take_exception());
  }
  Py_DECREF(type);
  code_of_added(descr);
  return descr;
}

bool is_arranged(PyArrayObject* array, bool any_strides) {
  if (PyArray_ISCARRAY_RO(array)) {
    return true;
  }
  if (!any_strides || !PyArray_ISBEHAVED_RO(array)) {
    return false;
  }
  const npy_intp size = PyArray_ITEMSIZE(array);
  for (int i = 0; i < PyArray_NDIM(array); ++i) {
    if (PyArray_STRIDE(array, i) < 0 || PyArray_STRIDE(array, i) % size != 0) {
      return false;
    }
  }
  return true;
}

Ref arranged_copy(PyArrayObject* array) {
  PyArray_Descr* native = PyArray_DescrNewByteorder(PyArray_DESCR(array), NPY_NATIVE);
  if (native == nullptr) {
    throw Raised();
  }
  return Ref(PyArray_FromArray(array, native, NPY_ARRAY_CARRAY | NPY_ARRAY_ENSURECOPY));
}

bool may_overlap(PyArrayObject* a, PyArrayObject* b) {
  const auto range = [](PyArrayObject* array) {
    const char* low = PyArray_BYTES(array);
    const char* high = low + PyArray_ITEMSIZE(array);
    for (int i = 0; i < PyArray_NDIM(array); ++i) {
      const npy_intp step = PyArray_STRIDE(array, i) * (PyArray_DIM(array, i) - 1);
      (step < 0 ? low : high) += step;
    }
    return std::make_pair(low, high);
  };
  if (PyArray_SIZE(a) == 0 || PyArray_SIZE(b) == 0) {
    return false;
  }
  const auto [low, high] = range(a);
  const auto [other_low, other_high] = range(b);
  return low < other_high && other_low < high;
}

TensorMeta meta_of_array(PyArrayObject* array, bool any_strides) {
  TensorMeta meta;
  meta.dtype = code_of(PyArray_DESCR(array));
  meta.shape.assign(PyArray_DIMS(array), PyArray_DIMS(array) + PyArray_NDIM(array));
  meta.stride = TensorMeta::contiguous_stride(meta.shape);
  for (size_t i = 0; any_strides && i < meta.shape.size(); ++i) {
    meta.stride[i] = PyArray_STRIDE(array, static_cast<int>(i)) / PyArray_ITEMSIZE(array);
  }
  return meta;
}

}  // namespace oneop
