// ivalues.cpp: attribute values of the ABI and of torch's stack.
#include "torch_host/ops/ivalues.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "engine/calls/refusal.h"
#include "engine/ops/bytes_text.h"
#include "engine/ops/error.h"
#include "torch_host/ops/torch_types.h"

namespace oneop {
namespace {

int64_t bits_of(double value) {
  int64_t word;
  std::memcpy(&word, &value, sizeof word);
  return word;
}

}  // namespace

void append_ivalue_key(const c10::IValue& value, PlanKey* key) {
  if (value.isInt()) {
    key->push_back(value.toInt());
  } else if (value.isDouble()) {
    key->push_back(bits_of(value.toDouble()));
  } else if (value.isBool()) {
    key->push_back(value.toBool() ? 1 : 0);
  } else if (value.isString()) {
    append_key_text(value.toStringRef(), key);
  } else if (value.isList()) {
    const auto items = value.toListRef();
    key->push_back(static_cast<int64_t>(items.size()));
    for (const c10::IValue& item : items) {
      append_ivalue_key(item, key);
    }
  } else if (value.isComplexDouble()) {
    key->push_back(bits_of(value.toComplexDouble().real()));
    key->push_back(bits_of(value.toComplexDouble().imag()));
  } else if (value.isSymInt()) {
    key->push_back(value.toSymInt().guard_int(__FILE__, __LINE__));
  } else if (value.isSymFloat()) {
    key->push_back(bits_of(value.toSymFloat().guard_float(__FILE__, __LINE__)));
  } else if (value.isSymBool()) {
    key->push_back(value.toSymBool().guard_bool(__FILE__, __LINE__) ? 1 : 0);
  } else if (value.isNone()) {
    key->push_back(-1);
  } else {
    throw Error("ArgumentError", "an attribute has the unexpected type " + value.tagKind());
  }
}

namespace {

int64_t int_of(const c10::IValue& value) {
  return value.isInt() ? value.toInt() : value.toSymInt().guard_int(__FILE__, __LINE__);
}

double number_of(const c10::IValue& value) {
  return value.isInt() ? static_cast<double>(value.toInt()) : value.toDouble();
}

template <typename T, typename Convert>
std::vector<T> list_of(const c10::IValue& value, const Convert& convert) {
  std::vector<T> list;
  for (const c10::IValue& item : items_of(value)) {
    list.push_back(convert(item));
  }
  return list;
}

}  // namespace

int32_t scalar_kind(const c10::IValue& value) {
  return value.isDouble() || value.isSymFloat() ? ONEOP_ATTR_DOUBLE
         : value.isBool() || value.isSymBool()  ? ONEOP_ATTR_BOOL
         : value.isComplexDouble()              ? ONEOP_ATTR_COMPLEX_DOUBLE
                                                : ONEOP_ATTR_INT64;
}

bool value_fits(const c10::IValue& value, int32_t type) {
  if (value.isNone()) {
    return true;
  }
  const auto fits_int32 = [](const c10::IValue& item) {
    const int64_t i = int_of(item);
    return i >= std::numeric_limits<int32_t>::min() && i <= std::numeric_limits<int32_t>::max();
  };
  const auto fits_float = [](const c10::IValue& item) {
    return !item.isDouble() || !std::isfinite(item.toDouble()) ||
           std::isfinite(static_cast<float>(item.toDouble()));
  };
  const auto all = [&](const auto& fits) {
    const auto items = items_of(value);
    return std::all_of(items.begin(), items.end(), fits);
  };
  switch (type) {
    case ONEOP_ATTR_INT32:
      return fits_int32(value);
    case ONEOP_ATTR_FLOAT:
      return fits_float(value);
    case ONEOP_ATTR_LIST_INT32:
      return all(fits_int32);
    case ONEOP_ATTR_LIST_FLOAT:
      return all(fits_float);
    default:
      return true;
  }
}

c10::IValue to_ivalue(const AttrValue& value) {
  switch (value.type) {
    case ONEOP_ATTR_NONE:
      return c10::IValue();
    case ONEOP_ATTR_BOOL:
      return value.i != 0;
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      return value.f;
    case ONEOP_ATTR_STRING:
      return value.text;
    case ONEOP_ATTR_BYTES:
      return text_of_bytes(value.text);
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      return c10::complex<double>(value.doubles[0], value.doubles[1]);
    case ONEOP_ATTR_DTYPE:
      return static_cast<int64_t>(to_torch(static_cast<int32_t>(value.i)));
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      return value.int64s;
    case ONEOP_ATTR_LIST_INT32:
      return std::vector<int64_t>(value.int32s.begin(), value.int32s.end());
    case ONEOP_ATTR_LIST_DTYPE: {
      std::vector<int64_t> dtypes;
      for (int32_t dtype : value.int32s) {
        dtypes.push_back(static_cast<int64_t>(to_torch(dtype)));
      }
      return dtypes;
    }
    case ONEOP_ATTR_LIST_FLOAT:
      return std::vector<double>(value.floats.begin(), value.floats.end());
    case ONEOP_ATTR_LIST_DOUBLE:
      return value.doubles;
    case ONEOP_ATTR_LIST_STRING:
      return c10::IValue(value.strings);
    case ONEOP_ATTR_LIST_BOOL: {
      c10::List<bool> bools;
      for (uint8_t item : value.bools) {
        bools.push_back(item != 0);
      }
      return bools;
    }
    case ONEOP_ATTR_LIST_SHAPE: {
      c10::List<c10::List<int64_t>> shapes;
      for (const auto& shape : value.shapes) {
        shapes.push_back(c10::List<int64_t>(shape));
      }
      return shapes;
    }
    default:
      return value.i;
  }
}

// long: a case for each attribute type.
AttrValue to_attr(const c10::IValue& value, int32_t type) {
  AttrValue attr;
  attr.type = type == ONEOP_ATTR_SCALAR ? scalar_kind(value) : type;
  const auto to_dtype = [](const c10::IValue& item) {
    return to_abi(static_cast<c10::ScalarType>(item.toInt()));
  };
  switch (attr.type) {
    case ONEOP_ATTR_BOOL:
      attr.i = value.toBool() ? 1 : 0;
      break;
    case ONEOP_ATTR_FLOAT:  // the 32 bits that OneFlow's Attr<float> has, whoever reads it
      attr.f = static_cast<float>(number_of(value));
      break;
    case ONEOP_ATTR_DOUBLE:
      attr.f = number_of(value);
      break;
    case ONEOP_ATTR_STRING:
      attr.text = value.toStringRef();
      break;
    case ONEOP_ATTR_BYTES:
      attr.text = bytes_of_text(value.toStringRef());
      break;
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      // Without the sign of zeros, which the text of a traced program loses: Python reads -0+1j as
      // 1j. To add 0.0 makes it positive.
      attr.doubles = {value.toComplexDouble().real() + 0.0, value.toComplexDouble().imag() + 0.0};
      break;
    case ONEOP_ATTR_DTYPE:
      attr.i = to_dtype(value);
      break;
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      attr.int64s = list_of<int64_t>(value, int_of);
      break;
    case ONEOP_ATTR_LIST_INT32:
      attr.int32s = list_of<int32_t>(
          value, [](const c10::IValue& item) { return static_cast<int32_t>(int_of(item)); });
      break;
    case ONEOP_ATTR_LIST_DTYPE:
      attr.int32s = list_of<int32_t>(value, to_dtype);
      break;
    case ONEOP_ATTR_LIST_FLOAT:
      attr.floats = list_of<float>(
          value, [](const c10::IValue& item) { return static_cast<float>(number_of(item)); });
      break;
    case ONEOP_ATTR_LIST_DOUBLE:
      attr.doubles = list_of<double>(value, number_of);
      break;
    case ONEOP_ATTR_LIST_BOOL:
      attr.bools =
          list_of<uint8_t>(value, [](const c10::IValue& item) { return item.toBool() ? 1 : 0; });
      break;
    case ONEOP_ATTR_LIST_STRING:
      attr.strings =
          list_of<std::string>(value, [](const c10::IValue& item) { return item.toStringRef(); });
      break;
    case ONEOP_ATTR_LIST_SHAPE:
      attr.shapes = list_of<std::vector<int64_t>>(
          value, [](const c10::IValue& item) { return list_of<int64_t>(item, int_of); });
      break;
    default:
      attr.i = int_of(value);
      break;
  }
  return attr;
}

AttrValue to_attr(const c10::IValue& value, const AttrDef& attr) {
  if (attr.is_optional && value.isNone()) {
    return AttrValue();
  }
  AttrValue converted = to_attr(value, attr.type);
  return attr.has_default && converted.equals(attr.default_value) ? attr.default_value : converted;
}

AttrValue checked_attr(const OpDef& op, const AttrDef& attr, const c10::IValue& value) {
  if (!value_fits(value, attr.type)) {
    std::ostringstream found;
    found << value;
    refuse_argument(op, ", attribute " + in_quotes(attr.name) + ": expected a " +
                            attr_type_name(attr.type) + " of 32 bits, found " + found.str());
  }
  AttrValue converted = to_attr(value, attr);
  check_length(op, attr, converted);
  return converted;
}

}  // namespace oneop
