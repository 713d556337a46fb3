// node_attrs.cpp: values take the types that the op declares; the runtime checks the rest.
#include "onnx_host/node_attrs.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace oneop {
namespace {

using ort::Failure;

bool is_text_type(int32_t type) { return type == ONEOP_ATTR_STRING || type == ONEOP_ATTR_BYTES; }

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

bool set_complex(const Item& item, OwnedAttr* made) {
  made->attr.type = ONEOP_ATTR_COMPLEX_DOUBLE;
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

const oneop_op_def& definition_of(const oneop_op* op) {
  const oneop_op_def* def = ort::runtime().definition(op);
  if (def == nullptr) {
    ort::throw_last_error();
  }
  return *def;
}

std::vector<int32_t> counts_of(const NodeReader& reader, const char* name) {
  Item item;
  std::vector<int32_t> counts;
  if (reader.read(name, false, &item)) {
    for (const Item& count : item.items) {
      counts.push_back(static_cast<int32_t>(count.integer));
    }
  }
  return counts;
}

// How many tensors of a node each argument has, where the node does not say: arguments in their
// order, a list at the end takes the rest, and an input without a name is one that is left out.
std::vector<int32_t> default_counts(const oneop_arg_def* const* args, int32_t num_args,
                                    const std::vector<bool>& is_given) {
  std::vector<int32_t> counts;
  size_t next = 0;
  for (int32_t i = 0; i < num_args; ++i) {
    const size_t left = is_given.size() - next;
    const bool takes_rest = i + 1 == num_args && (args[i]->count_is_minimum || args[i]->count > 1);
    const size_t count = takes_rest ? left : std::min(left, size_t(std::max(args[i]->count, 1)));
    counts.push_back(0);
    for (size_t end = next + count; next < end; ++next) {
      counts.back() += is_given[next] ? 1 : 0;
    }
  }
  return counts;
}

}  // namespace

NodeCall::NodeCall(const oneop_op* op, const NodeReader& reader)
    : op_(op),
      def_(definition_of(op)),
      input_counts_(counts_of(reader, "input_counts")),
      output_counts_(counts_of(reader, "output_counts")) {
  for (int32_t i = 0; i < def_.num_attrs; ++i) {
    const oneop_attr_def& attr = *def_.attrs[i];
    Item item;
    if (!reader.read(attr.name, is_text_type(attr.type), &item)) {
      continue;
    }
    auto made = std::make_unique<OwnedAttr>();
    made->name = attr.name;
    made->attr.name = made->name.c_str();
    if (!set_value(attr.type, item, made.get())) {
      throw Failure("op \"" + std::string(def_.name) + "\", node attribute \"" + made->name +
                    "\": it does not hold a value of the type that the op declares");
    }
    attrs_.push_back(made->attr);
    owned_.push_back(std::move(made));
  }
  for (const auto* counts : {&input_counts_, &output_counts_}) {
    const int32_t num_args = counts == &input_counts_ ? def_.num_inputs : def_.num_outputs;
    if (!counts->empty() && counts->size() != static_cast<size_t>(num_args)) {
      throw Failure("op \"" + std::string(def_.name) + "\", node attribute \"" +
                    (counts == &input_counts_ ? "input_counts" : "output_counts") +
                    "\": expected " + std::to_string(num_args) + " numbers, found " +
                    std::to_string(counts->size()));
    }
  }
}

oneop_plan* NodeCall::prepare(const std::vector<ort::Spec>& specs,
                              const std::vector<bool>& is_given, size_t num_outputs,
                              bool infer_only) const {
  const std::vector<int32_t> inputs = input_counts_.empty()
                                          ? default_counts(def_.inputs, def_.num_inputs, is_given)
                                          : input_counts_;
  const std::vector<int32_t> outputs =
      output_counts_.empty()
          ? default_counts(def_.outputs, def_.num_outputs, std::vector<bool>(num_outputs, true))
          : output_counts_;
  std::vector<oneop_tensor> tensors(specs.size());
  for (size_t i = 0; i < specs.size(); ++i) {
    tensors[i].shape = const_cast<int64_t*>(specs[i].sizes.data());
    tensors[i].ndim = static_cast<int32_t>(specs[i].sizes.size());
    tensors[i].dtype = specs[i].dtype;
    tensors[i].device_type = ONEOP_DEVICE_CPU;
    tensors[i].device_index = -1;
  }
  oneop_request request{};
  request.size = sizeof request;
  request.num_inputs = static_cast<int32_t>(tensors.size());
  request.num_attrs = static_cast<int32_t>(attrs_.size());
  request.device_type = ONEOP_DEVICE_CPU;
  request.inputs = tensors.data();
  request.input_counts = inputs.data();
  request.output_counts = outputs.data();
  request.attrs = attrs_.data();
  request.device_index = -1;
  oneop_plan* plan =
      infer_only ? ort::runtime().infer(op_, &request) : ort::runtime().prepare(op_, &request);
  if (plan == nullptr) {
    ort::throw_last_error();
  }
  if (!infer_only && ort::runtime().num_outputs(plan) != static_cast<int32_t>(num_outputs)) {
    const std::string found = std::to_string(ort::runtime().num_outputs(plan));
    ort::runtime().release_plan(plan);
    throw Failure("op \"" + std::string(def_.name) + "\" gives " + found +
                  " tensors, and the node has " + std::to_string(num_outputs) + " outputs");
  }
  return plan;
}

}  // namespace oneop
