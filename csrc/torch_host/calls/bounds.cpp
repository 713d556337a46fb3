// bounds.cpp: see bounds.h.
#include "torch_host/calls/bounds.h"

#include "engine/ops/error.h"

namespace oneop {
namespace {

thread_local BoundsScope* innermost = nullptr;

}  // namespace

BoundsScope::BoundsScope() : outer_(innermost) { innermost = this; }
BoundsScope::~BoundsScope() { innermost = outer_; }

bool BoundsScope::is_asked() { return innermost != nullptr; }

void BoundsScope::note(const OpDef& op) {
  for (BoundsScope* scope = innermost; scope != nullptr; scope = scope->outer_) {
    scope->ops_.insert(op.name);
  }
  if (innermost != nullptr) {
    return;
  }
  const std::string what = "op " + in_quotes(op.name) + ": the size of an output depends on data, ";
  const std::string place = "\n  defined at " + op.source.text();
  if (op.has_dynamic_outputs()) {
    throw Error("OpRuntimeError", what + "and tensors on the meta device have none" + place);
  }
  throw Error("OpRuntimeError",
              what +
                  "which torch must know before it traces a call\n  declare it: .dynamic(output, "
                  "axis) of oneop/op.h, or dynamic= of oneop.define" +
                  place);
}

}  // namespace oneop
