// attr_values.cpp: see attr_values.h.
#include "interpreter/attr_values.h"

#include <cmath>

#include "engine/calls/refusal.h"
#include "engine/ops/error.h"
#include "interpreter/objects.h"

namespace oneop {
namespace {

// What the parts of a value are converted with.
struct Converter {
  DtypeOf dtype_of;

  bool to_code(PyObject* object, int64_t* value) const {
    *value = dtype_of(object);
    return *value != ONEOP_DTYPE_INVALID;
  }

  template <typename T, typename Convert>
  static bool to_list(PyObject* object, const Convert& convert, std::vector<T>* list) {
    return for_each_item(object, /*is_simple=*/false, [&](PyObject* item) {
      T value{};
      if (!convert(item, &value)) {
        return false;
      }
      list->push_back(std::move(value));
      return true;
    });
  }

  static bool to_int32s(PyObject* object, std::vector<int32_t>* list) {
    return to_list<int32_t>(
        object,
        [](PyObject* item, int32_t* out) {
          int64_t wide = 0;
          const bool is_int = to_int32(item, &wide);
          *out = static_cast<int32_t>(wide);
          return is_int;
        },
        list);
  }

  bool to_codes(PyObject* object, std::vector<int32_t>* list) const {
    return to_list<int32_t>(
        object,
        [&](PyObject* item, int32_t* out) {
          *out = dtype_of(item);
          return *out != ONEOP_DTYPE_INVALID;
        },
        list);
  }

  bool scalar(PyObject* object, AttrValue* value) const {
    switch (value->type) {
      case ONEOP_ATTR_INT32:
        return to_int32(object, &value->i);
      case ONEOP_ATTR_INT64:
        return to_int(object, &value->i);
      case ONEOP_ATTR_BOOL:
        value->i = object == Py_True;
        return PyBool_Check(object);
      case ONEOP_ATTR_DTYPE:
        return to_code(object, &value->i);
      case ONEOP_ATTR_FLOAT:
      case ONEOP_ATTR_DOUBLE:
        return to_double(object, &value->f);
      case ONEOP_ATTR_STRING:
        return to_text(object, &value->text);
      case ONEOP_ATTR_BYTES:
        return to_bytes(object, &value->text);
      case ONEOP_ATTR_SCALAR: {
        ScalarParts number;
        if (!to_scalar(object, &number)) {
          return false;
        }
        value->type = number.type;
        value->i = number.i;
        if (number.type == ONEOP_ATTR_DOUBLE) {
          value->f = number.parts[0];
        } else if (number.type == ONEOP_ATTR_COMPLEX_DOUBLE) {
          value->doubles.assign(number.parts, number.parts + 2);
        }
        return true;
      }
      case ONEOP_ATTR_COMPLEX_DOUBLE: {
        double parts[2] = {0, 0};
        const bool is_number = to_complex(object, &parts);
        value->doubles.assign(parts, parts + 2);
        return is_number;
      }
      default:
        return false;
    }
  }

  bool list(PyObject* object, AttrValue* value) const {
    switch (value->type) {
      case ONEOP_ATTR_SHAPE:
      case ONEOP_ATTR_LIST_INT64:
        return to_list(object, &to_int, &value->int64s);
      case ONEOP_ATTR_LIST_INT32:
        return to_int32s(object, &value->int32s);
      case ONEOP_ATTR_LIST_DTYPE:
        return to_codes(object, &value->int32s);
      case ONEOP_ATTR_LIST_FLOAT:
      case ONEOP_ATTR_LIST_DOUBLE:
        return to_list(object, &to_double, &value->doubles);
      case ONEOP_ATTR_LIST_STRING:
        return to_list(object, &to_text, &value->strings);
      case ONEOP_ATTR_LIST_BOOL:
        return to_list<uint8_t>(
            object,
            [](PyObject* item, uint8_t* out) {
              bool is_true = false;
              const bool is_bool = to_bool(item, &is_true);
              *out = is_true ? 1 : 0;
              return is_bool;
            },
            &value->bools);
      case ONEOP_ATTR_LIST_SHAPE:
        return to_list<std::vector<int64_t>>(
            object,
            [](PyObject* item, std::vector<int64_t>* shape) {
              return to_list(item, &to_int, shape);
            },
            &value->shapes);
      default:
        return false;
    }
  }

  // One number for every item of a list of a fixed length.
  static bool spread(const AttrDef& attr, PyObject* object, AttrValue* value) {
    if (attr.list_size == 0 || !is_spread(attr.type) || is_sequence(object)) {
      return false;
    }
    const auto count = static_cast<size_t>(attr.list_size);
    if (attr.type == ONEOP_ATTR_LIST_FLOAT || attr.type == ONEOP_ATTR_LIST_DOUBLE) {
      double number = 0;
      const bool is_number = to_double(object, &number);
      value->doubles.assign(count, number);
      return is_number;
    }
    int64_t number = 0;
    if (attr.type == ONEOP_ATTR_LIST_INT32) {
      const bool is_int = to_int32(object, &number);
      value->int32s.assign(count, static_cast<int32_t>(number));
      return is_int;
    }
    const bool is_int = to_int(object, &number);
    value->int64s.assign(count, number);
    return is_int;
  }
};

// Rounds to 32 bits as the attribute's type says; false where a number is too large for that.
bool narrow(AttrValue* value) {
  const auto fits = [](double number) {
    return !std::isfinite(number) || std::isfinite(static_cast<float>(number));
  };
  if (value->type == ONEOP_ATTR_FLOAT) {
    const bool is_fit = fits(value->f);
    value->f = static_cast<float>(value->f);
    return is_fit;
  }
  if (value->type == ONEOP_ATTR_LIST_FLOAT) {
    for (double number : value->doubles) {
      if (!fits(number)) {
        return false;
      }
      value->floats.push_back(static_cast<float>(number));
    }
    value->doubles.clear();
  }
  return true;
}

template <typename List, typename Make>
PyObject* make_list(const List& items, const Make& make) {
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(items.size()));
  for (size_t i = 0; list != nullptr && i < items.size(); ++i) {
    PyObject* item = make(items[i]);
    if (item == nullptr) {
      Py_CLEAR(list);
      break;
    }
    PyList_SET_ITEM(list, static_cast<Py_ssize_t>(i), item);
  }
  return list;
}

PyObject* make_text(const std::string& text) {
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()),
                              "backslashreplace");
}

}  // namespace

AttrValue attr_from_python(const OpDef& op, const AttrDef& attr, PyObject* object, DtypeOf dtype_of,
                           const char* dtype) {
  AttrValue value;
  if (attr.is_optional && object == Py_None) {
    return value;
  }
  value.type = attr.type;
  const Converter converter{dtype_of};
  const bool is_converted = converter.scalar(object, &value) || converter.list(object, &value) ||
                            Converter::spread(attr, object, &value);
  const bool is_length = is_converted && attr.takes_length(value);
  if (!is_length || !narrow(&value)) {
    refuse_attr(op, attr, object, is_length, dtype);
  }
  return value;
}

void refuse_attr(const OpDef& op, const AttrDef& attr, PyObject* object, bool is_converted,
                 const char* dtype) {
  PyShared raised = take_exception();
  name_interrupt(raised.get(), "while attribute " + in_quotes(attr.name) + " of op " +
                                   in_quotes(op.name) + " was converted");
  std::string found = found_text(object);
  if (attr.list_size != 0 && is_sequence(object)) {
    found += " of length " + std::to_string(PySequence_Size(object));
  }
  const char* more = is_converted                                                 ? " of 32 bits"
                     : attr.type == ONEOP_ATTR_INT64 && PyLong_CheckExact(object) ? " of 64 bits"
                     : attr.type == ONEOP_ATTR_STRING && PyUnicode_Check(object)
                         ? " that UTF-8 can encode"
                         : "";
  throw Error("ArgumentError", attr_refusal(op, attr, expected_text(attr, dtype) + more, found),
              std::move(raised));
}

PyObject* attr_to_python(const AttrValue& value) {
  switch (value.type) {
    case ONEOP_ATTR_NONE:
      return Py_NewRef(Py_None);
    case ONEOP_ATTR_BOOL:
      return PyBool_FromLong(value.i != 0);
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      return PyFloat_FromDouble(value.f);
    case ONEOP_ATTR_STRING:
      return make_text(value.text);
    case ONEOP_ATTR_BYTES:
      return PyBytes_FromStringAndSize(value.text.data(),
                                       static_cast<Py_ssize_t>(value.text.size()));
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      return make_list(value.int64s, &PyLong_FromLongLong);
    case ONEOP_ATTR_DTYPE:
      return make_text(dtype_name(static_cast<int32_t>(value.i)));
    case ONEOP_ATTR_LIST_INT32:
      return make_list(value.int32s, &PyLong_FromLong);
    case ONEOP_ATTR_LIST_DTYPE:
      return make_list(value.int32s, [](int32_t code) { return make_text(dtype_name(code)); });
    case ONEOP_ATTR_LIST_FLOAT:
      return make_list(value.floats, &PyFloat_FromDouble);
    case ONEOP_ATTR_LIST_DOUBLE:
      return make_list(value.doubles, &PyFloat_FromDouble);
    case ONEOP_ATTR_LIST_BOOL:
      return make_list(value.bools, &PyBool_FromLong);
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      return PyComplex_FromDoubles(value.doubles[0], value.doubles[1]);
    case ONEOP_ATTR_LIST_SHAPE:
      return make_list(value.shapes, [](const std::vector<int64_t>& shape) {
        return make_list(shape, &PyLong_FromLongLong);
      });
    case ONEOP_ATTR_LIST_STRING:
      return make_list(value.strings, &make_text);
    default:
      return PyLong_FromLongLong(value.i);
  }
}

}  // namespace oneop
