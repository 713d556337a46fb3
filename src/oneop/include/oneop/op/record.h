// What is registered of one op: the ABI's description, and the rules behind its callbacks.
#ifndef ONEOP_OP_RECORD_H_
#define ONEOP_OP_RECORD_H_

#include "oneop/op/defaults.h"
#include "oneop/op/parse_schema.h"
#include "oneop/sdk/function.h"
#include "oneop/sdk/guard.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

class Infer;
struct AxesRule;
struct GradientRule;
struct KernelRecord;

// Outputs whose dtypes differ from that of the first input, by the dtypes of the inputs.
struct DtypeRule {
  int32_t inputs[kMostArguments];
  int32_t outputs[kMostArguments];
  const DtypeRule* next;
};

struct SbpRule {
  oneop_sbp entries[2 * kMostArguments];  // for each argument, inputs first
  const SbpRule* next;
};

// Lives as long as the library.
struct OpRecord {
  OpRecord(const Schema* its_schema, Place its_place) : schema(its_schema), place(its_place) {}

  const Schema* schema;
  Place place;
  oneop_op_def def{};
  sdk::PointerList inputs{}, outputs{}, attrs{};
  bool says_outputs = false;    // .same_shape() or .infer() was called
  bool has_one_shape = false;   // all inputs have the shape of the first: .same_shape()
  bool is_elementwise = false;  // and the outputs too
  bool is_rows = false;
  const AxesRule* axes = nullptr;
  sdk::KeptFn<void(Infer&)> infer;
  sdk::KeptFn<double(Infer&)> flops;
  const DtypeRule* dtypes = nullptr;
  const SbpRule* sbp = nullptr;
  const char* gradient_text = nullptr;
  bool has_no_gradient[kMostArguments] = {};  // of an input: `dx = None`
  KernelRecord* kernels = nullptr;            // the last one first
  const OpRecord* next = nullptr;

  ONEOP_COLD void Mistake(std::initializer_list<std::string_view> pieces) const {
    NoteMistake(place, {"op \"", schema->name, "\": ", sdk::Join(pieces)});
  }
};

inline OpRecord* first_record = nullptr;

// --- From a schema to the ABI's description ---

ONEOP_COLD inline const oneop_arg_def* NewArg(const TensorArg& arg) {
  return new oneop_arg_def{sizeof(oneop_arg_def),
                           arg.count,
                           arg.count_is_minimum ? 1 : 0,
                           arg.is_optional ? 1 : 0,
                           sdk::library.arena.CopyText(arg.name),
                           0,
                           0,
                           arg.has_gaps ? 1 : 0,
                           0};
}

ONEOP_COLD inline std::string_view AttrTypeText(int type) {
  for (const AttrTypeName& known : kAttrTypes) {
    if (known.type == type) {
      return known.name;
    }
  }
  return "an unknown one";
}

ONEOP_COLD inline void AddAttr(OpRecord* record, const AttrArg& arg) {
  auto* attr = new oneop_attr_def{};
  attr->size = sizeof *attr;
  attr->type = arg.type;
  attr->name = sdk::library.arena.CopyText(arg.name);
  attr->has_default = arg.has_default ? 1 : 0;
  attr->flags = (arg.is_optional ? ONEOP_ATTRDEF_OPTIONAL : 0) |
                (arg.is_positional ? ONEOP_ATTRDEF_POSITIONAL : 0);
  attr->list_size = arg.list_size;
  attr->default_value.name = attr->name;
  const bool is_none = arg.is_optional && arg.default_text == "None";  // ONEOP_ATTR_NONE is zero
  DefaultReader reader(arg.default_text, arg.list_size);
  if (arg.has_default && !is_none && !reader.Read(arg.type, &attr->default_value)) {
    record->Mistake({"cannot read its schema", Pointed(record->schema->text, arg.default_text),
                     "\n  ", arg.default_text, reader.problem(), AttrTypeText(arg.type)});
  }
  record->attrs.Add(attr);
}

// Which items of a list are given: all, unless a call says otherwise.
ONEOP_COLD inline void AddGapAttr(OpRecord* record, const TensorArg& arg) {
  auto* attr = new oneop_attr_def{};
  attr->size = sizeof *attr;
  attr->type = ONEOP_ATTR_LIST_BOOL;
  attr->name = sdk::library.arena.Join({arg.name, "_given"});
  attr->has_default = 1;
  attr->default_value.name = attr->name;
  attr->default_value.type = ONEOP_ATTR_LIST_BOOL;
  record->attrs.Add(attr);
}

ONEOP_COLD inline void ReportSchema(const OpRecord& record) {
  const Schema& schema = *record.schema;
  const std::string_view name = schema.name.empty() ? schema.text.substr(0, 20) : schema.name;
  std::string hint;
  if (std::string_view(schema.problem) == "there is no such type of attributes") {
    Names names(schema.culprit);
    for (int i = 0; i < kNumAttrTypeNames; ++i) {
      names.Add(kAttrTypes[i].name);
    }
    hint = "; " + names.Hint();
  }
  NoteMistake(record.place, {"op \"", name, "\": cannot read its schema",
                             Pointed(schema.text, schema.culprit), "\n  ", schema.problem, hint});
}

// The ABI's description of a schema; nothing is registered yet.
ONEOP_COLD inline OpRecord* DescribeOp(const Schema* schema, Place place) {
  auto* record = new OpRecord(schema, place);
  if (schema->problem != nullptr) {
    ReportSchema(*record);
    return record;
  }
  for (int i = 0; i < schema->num_inputs; ++i) {
    record->inputs.Add(NewArg(schema->inputs[i]));
  }
  for (int i = 0; i < schema->num_outputs; ++i) {
    record->outputs.Add(NewArg(schema->outputs[i]));
  }
  for (int i = 0; i < schema->num_attrs; ++i) {
    AddAttr(record, schema->attrs[i]);
  }
  for (int i = 0; i < schema->num_inputs; ++i) {
    if (schema->inputs[i].has_gaps) {
      AddGapAttr(record, schema->inputs[i]);
    }
  }
  oneop_op_def& def = record->def;
  def.size = sizeof def;
  def.name = sdk::library.arena.CopyText(schema->name);
  def.file = place.file;
  def.line = place.line;
  def.num_inputs = schema->num_inputs;
  def.num_outputs = schema->num_outputs;
  def.num_attrs = record->attrs.count;
  def.inputs = reinterpret_cast<const oneop_arg_def* const*>(record->inputs.data);
  def.outputs = reinterpret_cast<const oneop_arg_def* const*>(record->outputs.data);
  def.attrs = reinterpret_cast<const oneop_attr_def* const*>(record->attrs.data);
  def.self = record;
  return record;
}
ONEOP_COLD inline OpRecord* NewRecord(const Schema* schema, Place place) {
  OpRecord* record = DescribeOp(schema, place);
  if (schema->problem == nullptr) {
    sdk::library.ops.Add(&record->def);
    record->next = first_record;
    first_record = record;
  }
  return record;
}

// What is wrong with the use of an op. The host puts the op's name in front of it.
[[noreturn]] ONEOP_COLD inline void Refuse(std::initializer_list<std::string_view> pieces) {
  sdk::ThrowText(ONEOP_ERROR_VALUE, {sdk::Join(pieces)});
}

ONEOP_COLD inline std::string ShapeText(const oneop_tensor& tensor) {
  std::string text("(");
  for (int32_t i = 0; i != tensor.ndim; ++i) {
    text.append(i == 0 ? "" : ", ");
    sdk::AppendInt(&text, tensor.shape[i]);
  }
  return text.append(tensor.ndim == 1 ? ",)" : ")");
}

ONEOP_COLD inline std::string_view DtypeText(int32_t code) {
  for (const DtypeName& known : kDtypes) {
    if (known.code == code) {
      return known.name;
    }
  }
  return "an unknown dtype";
}

inline bool HaveOneShape(const oneop_tensor& a, const oneop_tensor& b) {
  if (a.ndim != b.ndim) {
    return false;
  }
  for (int32_t i = 0; i != a.ndim; ++i) {
    if (a.shape[i] != b.shape[i]) {
      return false;
    }
  }
  return true;
}

// Exact, unlike OneFlow's dptr<T>, for which unsigned char means bytes.
[[noreturn]] ONEOP_COLD inline void ThrowDtype(const oneop_tensor& tensor, int32_t wanted,
                                               const char* side, const char* name) {
  sdk::ThrowText(ONEOP_ERROR_TYPE, {side, " \"", name, "\": the kernel takes elements of ",
                                    DtypeText(wanted), ", found ", DtypeText(tensor.dtype)});
}
inline void CheckDtype(const oneop_tensor& tensor, int32_t wanted, const char* side,
                       const char* name) {
  if (!ONEOP_LIKELY(tensor.dtype == wanted)) {
    ThrowDtype(tensor, wanted, side, name);
  }
}

// Writes what inference found out about an output; its strides are contiguous.
ONEOP_COLD inline void PutOutput(oneop_tensor* tensor, const int64_t* shape, int32_t ndim,
                                 int32_t dtype) {
  int64_t count = 1;
  tensor->ndim = ndim;
  for (int32_t i = ndim - 1; i >= 0; --i) {
    tensor->shape[i] = shape[i];
    if (tensor->stride != nullptr) {
      tensor->stride[i] = count;
    }
    count *= shape[i] > 1 ? shape[i] : 1;
  }
  tensor->elem_cnt = 1;
  for (int32_t i = 0; i != ndim; ++i) {
    tensor->elem_cnt *= shape[i];
  }
  tensor->dtype = dtype;
}

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_RECORD_H_
