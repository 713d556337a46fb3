// ivalues.h: attribute values as torch's stack holds them.
#pragma once

#include <ATen/core/ivalue.h>

#include "engine/ops/defs.h"
#include "engine/ops/keyed_cache.h"
#include "engine/ops/values.h"

namespace oneop {

c10::IValue to_ivalue(const AttrValue& value);
AttrValue to_attr(const c10::IValue& value, int32_t type);
// A value that equals the default is the default: torch's compilers leave out such arguments, so
// that -0.0 would reach a kernel in an eager call and 0.0 in a compiled one.
AttrValue to_attr(const c10::IValue& value, const AttrDef& attr);
// The same. Throws ArgumentError where the attribute cannot hold the value.
AttrValue checked_attr(const OpDef& op, const AttrDef& attr, const c10::IValue& value);

// False for a number that the type of the attribute cannot hold: torch's schemas know only int and
// float, of 64 bits.
bool value_fits(const c10::IValue& value, int32_t type);

void append_ivalue_key(const c10::IValue& value, PlanKey* key);

// Of what kind a scalar is: ONEOP_ATTR_INT64, DOUBLE, BOOL or COMPLEX_DOUBLE.
int32_t scalar_kind(const c10::IValue& value);

// The words of an attribute in the key of a call. Those of an optional one begin with whether it
// has a value: no number can stand for None. Those of a scalar have its kind: 2 is not 2.0.
inline void append_attr_key(const AttrDef& attr, const c10::IValue& value, PlanKey* key) {
  if (attr.is_optional) {
    key->push_back(value.isNone() ? 0 : 1);
  }
  if (attr.type == ONEOP_ATTR_SCALAR && !value.isNone()) {
    key->push_back(scalar_kind(value));
  }
  if (!attr.is_optional || !value.isNone()) {
    append_ivalue_key(value, key);
  }
}

// AOTInductor's run-time passes None where the package has an empty list of ints or tensors.
inline c10::ArrayRef<c10::IValue> items_of(const c10::IValue& value) {
  return value.isNone() ? c10::ArrayRef<c10::IValue>() : value.toListRef();
}

}  // namespace oneop
