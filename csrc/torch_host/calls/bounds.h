// bounds.h: sizes that depend on data, where torch traces and there are no data.
#pragma once

#include <set>
#include <string>

#include "engine/frames/frame.h"

namespace oneop {

// While one lives, calls that this thread traces give outputs of the largest sizes that are
// possible. It notes which ops those are, as do those around it. Calls outside of one are refused.
class BoundsScope {
 public:
  BoundsScope();
  ~BoundsScope();
  BoundsScope(const BoundsScope&) = delete;
  BoundsScope& operator=(const BoundsScope&) = delete;

  const std::set<std::string>& ops() const { return ops_; }
  static bool is_asked();  // on this thread

  // A traced call has outputs whose sizes depend on data. Throws unless a scope takes note.
  static void note(const OpDef& op);

 private:
  std::set<std::string> ops_;
  BoundsScope* outer_;
};

}  // namespace oneop
