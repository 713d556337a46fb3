// Kernels of an op that another source of the library defines: OP_KERNELS repeats the schema, which
// is compared with the op's when the library is loaded.
#ifndef ONEOP_OP_EXTENSION_H_
#define ONEOP_OP_EXTENSION_H_

#include "oneop/op/kernel_record.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

inline OpRecord* first_extension = nullptr;

// A record that kernels can be added to, and that is no op of the library.
ONEOP_COLD inline OpRecord* NewExtension(const Schema* schema, Place place) {
  OpRecord* record = DescribeOp(schema, place);
  if (schema->problem == nullptr) {
    record->next = first_extension;
    first_extension = record;
  }
  return record;
}

// Whether kernels see the same arguments. Defaults may be left out.
ONEOP_COLD inline bool HaveSameArguments(const Schema& a, const Schema& b) {
  const auto same = [](const TensorArg& x, const TensorArg& y) {
    return x.name == y.name && x.count == y.count && x.count_is_minimum == y.count_is_minimum &&
           x.is_optional == y.is_optional && x.has_gaps == y.has_gaps &&
           x.is_mutable == y.is_mutable;
  };
  bool are_same =
      a.num_inputs == b.num_inputs && a.num_outputs == b.num_outputs && a.num_attrs == b.num_attrs;
  for (int i = 0; are_same && i < a.num_inputs; ++i) {
    are_same = same(a.inputs[i], b.inputs[i]);
  }
  for (int i = 0; are_same && i < a.num_outputs; ++i) {
    are_same = same(a.outputs[i], b.outputs[i]);
  }
  for (int i = 0; are_same && i < a.num_attrs; ++i) {
    are_same = a.attrs[i].name == b.attrs[i].name && a.attrs[i].type == b.attrs[i].type &&
               a.attrs[i].is_optional == b.attrs[i].is_optional &&
               a.attrs[i].list_size == b.attrs[i].list_size;
  }
  return are_same;
}

// What its op is asked for: the rules of outputs, and which kernels there are.
ONEOP_COLD inline void Attach(OpRecord* extension, OpRecord* op) {
  extension->axes = op->axes;
  op->is_rows = op->is_rows || extension->is_rows;
  for (const DtypeRule* rule = extension->dtypes; rule != nullptr; rule = rule->next) {
    auto* copy = new DtypeRule(*rule);
    copy->next = op->dtypes;
    op->dtypes = copy;
  }
  while (KernelRecord* kernel = extension->kernels) {
    CheckAlone(*op, *kernel, kernel->device, kernel->ins);
    extension->kernels = kernel->next;
    kernel->next = op->kernels;
    op->kernels = kernel;
  }
}

ONEOP_COLD inline void FinishExtensions() {
  for (OpRecord* extension = first_extension; extension != nullptr;
       extension = const_cast<OpRecord*>(extension->next)) {
    Names names(extension->schema->name);
    OpRecord* op = first_record;
    while (op != nullptr && op->schema->name != extension->schema->name) {
      names.Add(op->schema->name);
      op = const_cast<OpRecord*>(op->next);
    }
    if (op == nullptr) {
      extension->Mistake({"OP_KERNELS adds kernels to an op that no source of this library defines",
                          "; ", names.Hint()});
    } else if (!HaveSameArguments(*op->schema, *extension->schema)) {
      extension->Mistake({"OP_KERNELS has another schema than its OP\n    ",
                          extension->schema->text, "\n    ", op->schema->text,
                          "\n  repeat the arguments; defaults may be left out"});
    } else {
      Attach(extension, op);
    }
  }
  first_extension = nullptr;
}

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_EXTENSION_H_
