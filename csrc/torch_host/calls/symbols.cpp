// symbols.cpp: made-up numbers for symbols, and which symbols have to have the same one.
#include "torch_host/calls/symbols.h"

#include <torch/csrc/utils/python_symnode.h>

#include <algorithm>

namespace oneop {
namespace {

// Distinct, not a power of anything, and small enough for products of many of them.
constexpr std::array<int64_t, kRuns> kFirst = {101, 211};
constexpr std::array<int64_t, kRuns> kStep = {6, 10};
// Subsets of so many groups, or symbols of a group, are all tried: at most 63 runs of inference.
constexpr size_t kMostTried = 6;

// The subsets of `count` things as bits, smaller ones first: the empty one, but not the whole set.
std::vector<unsigned> subsets(size_t count) {
  std::vector<unsigned> all;
  for (unsigned bits = 0; bits == 0 || bits + 1 < 1u << std::min(count, kMostTried); ++bits) {
    all.push_back(bits);
  }
  std::stable_sort(all.begin(), all.end(), [](unsigned a, unsigned b) {
    return __builtin_popcount(a) < __builtin_popcount(b);
  });
  return all;
}

}  // namespace

std::optional<int64_t> hint_of(const c10::SymInt& size) {
  if (const auto known = size.maybe_as_int()) {
    return known;
  }
  const c10::SymNode node = size.toSymNode();
  const auto* python = dynamic_cast<const torch::impl::PythonSymNodeImpl*>(node.get());
  if (python == nullptr) {
    return std::nullopt;
  }
  pybind11::gil_scoped_acquire gil;
  const pybind11::object hint = pybind11::getattr(python->getPyObj(), "hint", pybind11::none());
  if (!pybind11::isinstance<pybind11::int_>(hint)) {
    return std::nullopt;
  }
  return hint.cast<int64_t>();
}

Symbol& Symbols::find(const c10::SymInt& size) {
  std::string text = size.toSymNode()->str();
  for (Symbol& symbol : symbols_) {
    if (symbol.text == text) {
      return symbol;
    }
  }
  symbols_.push_back({size, std::move(text), hint_of(size), is_pinned_.size()});
  is_pinned_.push_back(false);
  return symbols_.back();
}

int64_t Symbols::number_of(const Symbol& symbol, size_t run) const {
  return is_pinned_[symbol.group] ? *symbol.hint
                                  : kFirst[run] + kStep[run] * static_cast<int64_t>(symbol.group);
}
int64_t Symbols::number(const c10::SymInt& size, size_t run) { return number_of(find(size), run); }
int64_t Symbols::hint(const c10::SymInt& size) { return *find(size).hint; }
bool Symbols::has_hints() const {
  return std::all_of(symbols_.begin(), symbols_.end(),
                     [](const Symbol& symbol) { return symbol.hint.has_value(); });
}

std::optional<c10::SymInt> Symbols::explain(const std::array<int64_t, kRuns>& numbers,
                                            const std::optional<int64_t>& hint) const {
  for (const Symbol& symbol : symbols_) {
    bool is_same = !is_pinned_[symbol.group] && (!hint || hint == symbol.hint);
    for (size_t run = 0; run < kRuns; ++run) {
      is_same = is_same && numbers[run] == number_of(symbol, run);
    }
    if (is_same) {
      return symbol.size;
    }
  }
  const bool is_constant =
      std::all_of(numbers.begin(), numbers.end(), [&](int64_t n) { return n == numbers[0]; });
  if (is_constant && (!hint || *hint == numbers[0])) {
    return c10::SymInt(numbers[0]);
  }
  return std::nullopt;
}

void Symbols::group_by_hint() {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    symbols_[i].group = i;
    for (size_t k = 0; k < i; ++k) {
      if (symbols_[k].hint == symbols_[i].hint) {
        symbols_[i].group = symbols_[k].group;
        break;
      }
    }
  }
}

bool Symbols::pin_some(const std::function<bool()>& attempt) {
  std::vector<size_t> groups;  // sizes from data have no number to be pinned to
  for (const Symbol& symbol : symbols_) {
    if (symbol.hint && std::find(groups.begin(), groups.end(), symbol.group) == groups.end()) {
      groups.push_back(symbol.group);
    }
  }
  for (const unsigned bits : subsets(groups.size())) {
    for (size_t i = 0; i < groups.size(); ++i) {
      is_pinned_[groups[i]] = i < kMostTried && (bits >> i & 1u) != 0;
    }
    if (attempt()) {
      return true;
    }
  }
  return false;
}

bool Symbols::split_once(const std::function<bool()>& attempt) {
  for (size_t group = 0; group < is_pinned_.size(); ++group) {
    std::vector<Symbol*> members;
    for (Symbol& symbol : symbols_) {
      if (symbol.group == group) {
        members.push_back(&symbol);
      }
    }
    is_pinned_.push_back(false);
    for (const unsigned bits : subsets(members.size())) {
      for (size_t i = 0; i < members.size(); ++i) {
        const bool moves = i < kMostTried && (bits >> i & 1u) != 0;
        members[i]->group = moves ? is_pinned_.size() - 1 : group;
      }
      if (bits != 0 && attempt()) {
        return true;
      }
    }
    for (Symbol* symbol : members) {
      symbol->group = group;
    }
    is_pinned_.pop_back();
  }
  return false;
}

bool Symbols::search(const std::function<bool()>& attempt) {
  if (attempt()) {  // finds the symbols, too
    return true;
  }
  group_by_hint();
  if (!pin_some(attempt)) {
    return false;
  }
  while (split_once(attempt)) {
  }
  return true;
}

void Symbols::guard() const {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const Symbol& symbol = symbols_[i];
    if (is_pinned_[symbol.group]) {
      symbol.size.guard_int(__FILE__, __LINE__);
      continue;
    }
    for (size_t k = 0; k < i; ++k) {
      if (symbols_[k].group == symbol.group) {
        // True here, since the hints are equal; sizes from data are compared when they are there.
        static_cast<void>(symbols_[k].size.sym_eq(symbol.size).expect_true(__FILE__, __LINE__));
        break;
      }
    }
  }
}

}  // namespace oneop
