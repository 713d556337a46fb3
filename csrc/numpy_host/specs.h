// specs.h: calls without data as Python describes them: for each input a list of (shape, name of a
// dtype), attributes as bytes, the counts of outputs.
#pragma once

#include <vector>

#include "engine/frames/frame.h"
#include "interpreter/ref.h"

namespace oneop {

std::string text_from(PyObject* object);  // throws ArgumentError
std::vector<int32_t> ints_from(PyObject* object);
TensorMeta meta_from(PyObject* object);  // (shape, dtype)
CallSpec spec_from(const OpDef& op, PyObject* inputs, PyObject* attrs, PyObject* output_counts);

Ref attrs_to_bytes(const std::vector<AttrValue>& attrs);
std::vector<AttrValue> attrs_from_bytes(const OpDef& op, PyObject* bytes);

Ref text_to_python(const std::string& text);
Ref spec_to_python(const int64_t* shape, int32_t ndim, int32_t dtype);
// A list of what `make` returns for each item, a Ref.
template <typename Items, typename Make>
Ref list_to_python(const Items& items, const Make& make) {
  Ref list(PyList_New(0));
  for (const auto& item : items) {
    const Ref made = make(item);
    if (PyList_Append(list.get(), made.get()) != 0) {
      throw Raised();
    }
  }
  return list;
}
Ref ints_to_python(const std::vector<int32_t>& numbers);
void set_item(const Ref& dict, const char* key, const Ref& value);

}  // namespace oneop
