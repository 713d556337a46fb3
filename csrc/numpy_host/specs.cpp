// specs.cpp: see specs.h.
#include "numpy_host/specs.h"

#include <cstring>

#include "c_host/attr_words.h"
#include "engine/calls/refusal.h"
#include "engine/frames/arg_counts.h"
#include "engine/ops/error.h"
#include "interpreter/objects.h"
#include "numpy_host/arrays.h"

namespace oneop {
namespace {

[[noreturn]] void refuse(const std::string& expected, PyObject* object) {
  PyErr_Clear();
  throw Error("ArgumentError", "expected " + expected + ", found " + found_text(object));
}

}  // namespace

std::string text_from(PyObject* object) {
  std::string text;
  if (!to_text(object, &text)) {
    refuse("a str", object);
  }
  return text;
}

std::vector<int32_t> ints_from(PyObject* object) {
  std::vector<int32_t> numbers;
  const bool is_list = for_each_item(object, /*is_simple=*/false, [&](PyObject* item) {
    int64_t number = 0;
    const bool is_int = to_int32(item, &number);
    numbers.push_back(static_cast<int32_t>(number));
    return is_int;
  });
  if (!is_list) {
    refuse("a list of ints", object);
  }
  return numbers;
}

TensorMeta meta_from(PyObject* object) {
  if (!PyTuple_Check(object) || PyTuple_GET_SIZE(object) != 2) {
    refuse("a shape and a dtype", object);
  }
  TensorMeta meta;
  const bool is_shape =
      for_each_item(PyTuple_GET_ITEM(object, 0), /*is_simple=*/false, [&](PyObject* item) {
        meta.shape.emplace_back();
        return to_int(item, &meta.shape.back());
      });
  if (!is_shape) {
    refuse("a shape and a dtype", object);
  }
  meta.dtype = code_of_name(PyTuple_GET_ITEM(object, 1));
  meta.stride = TensorMeta::contiguous_stride(meta.shape);
  return meta;
}

CallSpec spec_from(const OpDef& op, PyObject* inputs, PyObject* attrs, PyObject* output_counts) {
  CallSpec spec;
  const bool is_list = for_each_item(inputs, /*is_simple=*/false, [&](PyObject* tensors) {
    int32_t count = 0;
    const bool is_inner = for_each_item(tensors, /*is_simple=*/false, [&](PyObject* tensor) {
      spec.inputs.push_back(meta_from(tensor));
      ++count;
      return true;
    });
    spec.input_counts.push_back(count);
    return is_inner;
  });
  if (!is_list || spec.input_counts.size() != op.inputs.size()) {
    refuse("a list of tensors for each input", inputs);
  }
  spec.attrs = attrs_from_bytes(op, attrs);
  spec.output_counts = ints_from(output_counts);
  check_output_counts(op, spec.output_counts.size());
  check_counts(op, spec.input_counts, spec.output_counts);
  return spec;
}

Ref attrs_to_bytes(const std::vector<AttrValue>& attrs) {
  const std::vector<int64_t> words = words_of(attrs);
  return Ref(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(words.data()),
                                       static_cast<Py_ssize_t>(words.size() * sizeof(int64_t))));
}

std::vector<AttrValue> attrs_from_bytes(const OpDef& op, PyObject* bytes) {
  if (!PyBytes_Check(bytes)) {
    refuse("attributes as bytes", bytes);
  }
  std::vector<int64_t> words(PyBytes_GET_SIZE(bytes) / sizeof(int64_t));
  if (!words.empty()) {
    std::memcpy(words.data(), PyBytes_AS_STRING(bytes), words.size() * sizeof(int64_t));
  }
  return values_of(op, words.data(), static_cast<int64_t>(words.size()));
}

Ref text_to_python(const std::string& text) {
  return Ref(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}

Ref spec_to_python(const int64_t* shape, int32_t ndim, int32_t dtype) {
  Ref sizes(PyTuple_New(ndim));
  for (int32_t i = 0; i < ndim; ++i) {
    PyTuple_SET_ITEM(sizes.get(), i, Ref(PyLong_FromLongLong(shape[i])).release());
  }
  const Ref name = text_to_python(dtype_name(dtype));
  return Ref(PyTuple_Pack(2, sizes.get(), name.get()));
}

Ref ints_to_python(const std::vector<int32_t>& numbers) {
  return list_to_python(numbers, [](int32_t number) { return Ref(PyLong_FromLong(number)); });
}

void set_item(const Ref& dict, const char* key, const Ref& value) {
  if (PyDict_SetItemString(dict.get(), key, value.get()) != 0) {
    throw Raised();
  }
}

}  // namespace oneop
