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

// False for a number that the type of the attribute cannot hold: torch's schemas know only int and
// float, of 64 bits.
bool value_fits(const c10::IValue& value, int32_t type);

void append_ivalue_key(const c10::IValue& value, PlanKey* key);

// The words of an attribute in the key of a call. Those of an optional one begin with whether it
// has a value: no number can stand for None.
inline void append_attr_key(const AttrDef& attr, const c10::IValue& value, PlanKey* key) {
  if (attr.is_optional) {
    key->push_back(value.isNone() ? 0 : 1);
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
