// attr_values.cpp: see attr_values.h.
#include "onnx_host/attr_values.h"

#include <cstddef>
#include <limits>
#include <utility>

#include "onnx_host/ort.h"

namespace oneop {
namespace {

bool is_int32(const Item& item) {
  return item.kind == Item::kInt && item.integer >= std::numeric_limits<int32_t>::min() &&
         item.integer <= std::numeric_limits<int32_t>::max();
}

// Appends an item to a list of its type; false: it is of another kind.
bool add(const Item& item, std::vector<int64_t>* to) {
  to->push_back(item.integer);
  return item.kind == Item::kInt;
}
bool add(const Item& item, std::vector<int32_t>* to) {
  to->push_back(static_cast<int32_t>(item.integer));
  return is_int32(item);
}
bool add(const Item& item, std::vector<float>* to) {
  to->push_back(static_cast<float>(item.number()));
  return item.is_number();
}
bool add(const Item& item, std::vector<double>* to) {
  to->push_back(item.number());
  return item.is_number();
}
bool add(const Item& item, std::vector<uint8_t>* to) {
  to->push_back(item.integer != 0);
  return item.kind == Item::kBool || item.kind == Item::kInt;
}
bool add(const Item& item, std::vector<std::string>* to) {
  to->push_back(item.text);
  return item.kind == Item::kText;
}
bool add(const Item& item, std::vector<std::vector<int64_t>>* to) {
  to->emplace_back();
  for (const Item& size : item.items) {
    if (!add(size, &to->back())) {
      return false;
    }
  }
  return item.kind == Item::kList;
}

template <typename T>
bool set_list(const Item& item, std::vector<T>* values, OwnedAttr* made) {
  for (const Item& one : item.items) {
    if (!add(one, values)) {
      return false;
    }
  }
  made->attr.value.list = {values->data(), static_cast<int64_t>(values->size())};
  return item.kind == Item::kList;
}

// A list of lists: spans of what is owned.
template <typename T>
bool set_spans(const Item& item, std::vector<T>* values, OwnedAttr* made) {
  if (!set_list(item, values, made)) {
    return false;
  }
  for (const T& value : *values) {
    made->spans.push_back({value.data(), static_cast<int64_t>(value.size())});
  }
  made->attr.value.list.data = made->spans.data();
  return true;
}

bool set_dtypes(const Item& item, OwnedAttr* made) {
  if (!set_list(item, &made->int32s, made)) {
    return false;
  }
  for (int32_t& dtype : made->int32s) {
    dtype = ort::code_of(dtype);
    if (dtype == ONEOP_DTYPE_INVALID) {
      return false;
    }
  }
  return true;
}

// A number alone is the real part.
bool set_complex(const Item& item, OwnedAttr* made) {
  made->attr.type = ONEOP_ATTR_COMPLEX_DOUBLE;
  if (item.is_number()) {
    made->doubles = {item.number(), 0.0};
    made->attr.value.list = {made->doubles.data(), 2};
    return true;
  }
  return set_list(item, &made->doubles, made) && made->doubles.size() == 2;
}

// A number, whose kind the value says.
bool set_scalar(const Item& item, OwnedAttr* made) {
  if (item.kind == Item::kList) {
    return set_complex(item, made);
  }
  if (item.kind == Item::kReal) {
    made->attr.type = ONEOP_ATTR_DOUBLE;
    made->attr.value.f = item.real;
    return true;
  }
  made->attr.type = item.kind == Item::kBool ? ONEOP_ATTR_BOOL : ONEOP_ATTR_INT64;
  made->attr.value.i = item.integer;
  return item.kind == Item::kBool || item.kind == Item::kInt;
}

// long: a case for each type. False: the item does not fit it.
bool set_value(int32_t type, const Item& item, OwnedAttr* made) {
  made->attr.type = item.kind == Item::kNull ? ONEOP_ATTR_NONE : type;
  if (item.kind == Item::kNull) {
    return true;
  }
  switch (type) {
    case ONEOP_ATTR_INT32:
    case ONEOP_ATTR_INT64:
      made->attr.value.i = item.integer;
      return type == ONEOP_ATTR_INT32 ? is_int32(item) : item.kind == Item::kInt;
    case ONEOP_ATTR_BOOL:
      made->attr.value.i = item.integer != 0 ? 1 : 0;
      return item.kind == Item::kBool || item.kind == Item::kInt;
    case ONEOP_ATTR_FLOAT:
    case ONEOP_ATTR_DOUBLE:
      made->attr.value.f = item.number();
      return item.is_number();
    case ONEOP_ATTR_STRING:
    case ONEOP_ATTR_BYTES:
      made->text = item.text;
      made->attr.value.list = {made->text.data(), static_cast<int64_t>(made->text.size())};
      return item.kind == Item::kText;
    case ONEOP_ATTR_DTYPE:
      made->attr.value.i = is_int32(item) ? ort::code_of(static_cast<int>(item.integer)) : 0;
      return made->attr.value.i != ONEOP_DTYPE_INVALID;
    case ONEOP_ATTR_SHAPE:
    case ONEOP_ATTR_LIST_INT64:
      return set_list(item, &made->int64s, made);
    case ONEOP_ATTR_LIST_INT32:
      return set_list(item, &made->int32s, made);
    case ONEOP_ATTR_LIST_FLOAT:
      return set_list(item, &made->floats, made);
    case ONEOP_ATTR_LIST_DOUBLE:
      return set_list(item, &made->doubles, made);
    case ONEOP_ATTR_LIST_BOOL:
      return set_list(item, &made->bools, made);
    case ONEOP_ATTR_LIST_DTYPE:
      return set_dtypes(item, made);
    case ONEOP_ATTR_LIST_SHAPE:
      return set_spans(item, &made->shapes, made);
    case ONEOP_ATTR_LIST_STRING:
      return set_spans(item, &made->texts, made);
    case ONEOP_ATTR_COMPLEX_DOUBLE:
      return set_complex(item, made);
    case ONEOP_ATTR_SCALAR:
      return set_scalar(item, made);
    default:
      return false;
  }
}

// One value for a list of a fixed length stands for that many.
Item spread(const oneop_attr_def& attr, Item item) {
  const bool has_size = attr.size >= offsetof(oneop_attr_def, list_size) + sizeof attr.list_size;
  if (!has_size || attr.list_size <= 0 || item.kind == Item::kList || item.kind == Item::kNull) {
    return item;
  }
  Item list;
  list.kind = Item::kList;
  list.items.assign(attr.list_size, item);
  return list;
}

}  // namespace

std::unique_ptr<OwnedAttr> make_attr(const oneop_attr_def& attr, Item item) {
  auto made = std::make_unique<OwnedAttr>();
  made->name = attr.name;
  made->attr.name = made->name.c_str();
  return set_value(attr.type, spread(attr, std::move(item)), made.get()) ? std::move(made)
                                                                         : nullptr;
}

}  // namespace oneop
