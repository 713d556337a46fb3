// symbols.h: numbers that stand for symbolic sizes while an author's inference runs.
#pragma once

#include <c10/core/SymInt.h>

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace oneop {

// The number that a symbolic size stands for while tracing, without a guard; nothing where it has
// none (unbacked).
std::optional<int64_t> hint_of(const c10::SymInt& size);

// Runs on made-up numbers: what follows one symbol through two of them follows it always.
constexpr size_t kRuns = 2;

struct Symbol {
  c10::SymInt size;
  std::string text;
  std::optional<int64_t> hint;
  size_t group = 0;  // symbols of one group are taken to be equal
};

// The distinct symbols of a call, in groups. A group has a made-up number, which is a different one
// in each run and for each group, or is pinned: then it has the number of its hint.
class Symbols {
 public:
  int64_t number(const c10::SymInt& size, size_t run);
  int64_t hint(const c10::SymInt& size);
  bool has_hints() const;

  // What has these numbers in the runs and, where `hint` is known, that one in reality.
  std::optional<c10::SymInt> explain(const std::array<int64_t, kRuns>& numbers,
                                     const std::optional<int64_t>& hint) const;

  // Looks for groups with which `attempt` succeeds. First each symbol is alone; then symbols of
  // equal hints are one group, and as few of these groups as possible are pinned. Then groups are
  // split as long as the attempt still succeeds, so that only sizes are tied to each other, or
  // pinned, that inference compares. False where there is no such grouping.
  bool search(const std::function<bool()>& attempt);

  // Tells torch what the groups say: guards, or assertions at run time for sizes from data.
  void guard() const;

 private:
  Symbol& find(const c10::SymInt& size);
  int64_t number_of(const Symbol& symbol, size_t run) const;
  void group_by_hint();
  bool pin_some(const std::function<bool()>& attempt);
  bool split_once(const std::function<bool()>& attempt);

  std::vector<Symbol> symbols_;
  std::vector<bool> is_pinned_;  // for each group
};

}  // namespace oneop
