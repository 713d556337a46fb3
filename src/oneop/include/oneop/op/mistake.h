// What is wrong with a registration: kept until the library is loaded, which then fails with it.
#ifndef ONEOP_OP_MISTAKE_H_
#define ONEOP_OP_MISTAKE_H_

#include "oneop/op/schema.h"
#include "oneop/sdk/library.h"
#include "oneop/sdk/text.h"

ONEOP_OP_INTERFACE

namespace oneop ONEOP_HIDDEN {
namespace op {

// Where a statement stands.
struct Place {
  const char* file;
  int32_t line;
};

// The first mistake of a library is the one that is reported.
ONEOP_COLD inline void NoteMistake(Place place, std::initializer_list<std::string_view> pieces) {
  if (sdk::library.description.mistake == nullptr) {
    const std::string text = sdk::Join(pieces);
    sdk::library.description.mistake =
        sdk::library.arena.Join({text, "\n  at ", place.file, ":", sdk::Digits(place.line)});
  }
}

// A line of a text with a mark under the part that is meant, which is a part of that text.
ONEOP_COLD inline std::string Pointed(std::string_view text, std::string_view culprit) {
  size_t at = static_cast<size_t>(culprit.data() - text.data());
  const bool is_inside = culprit.data() >= text.data() && at <= text.size();
  at = is_inside ? at : 0;
  size_t begin = at, end = at;
  while (begin > 0 && text[begin - 1] != '\n') {
    --begin;
  }
  while (end < text.size() && text[end] != '\n') {
    ++end;
  }
  while (begin < at && Cursor::IsSpace(text[begin])) {
    ++begin;
  }
  // Of a long line only what stands around the mark.
  constexpr size_t kBefore = 60, kAfter = 40;
  const bool is_cut = at - begin > kBefore;
  begin = is_cut ? at - kBefore : begin;
  std::string shown("\n    ");
  shown.append(is_cut ? "..." : "").append(text.substr(begin, at - begin));
  shown.append(text.substr(at, end - at < kAfter ? end - at : kAfter));
  shown.append(end - at < kAfter ? "" : "...").append("\n    ");
  shown.append(at - begin + (is_cut ? 3 : 0), ' ');
  return shown.append("^");
}

// Letters to add, to leave out or to exchange, or neighbours to swap.
ONEOP_COLD inline size_t Distance(std::string_view a, std::string_view b) {
  constexpr size_t kMost = 32;
  if (a.size() >= kMost || b.size() >= kMost) {
    return kMost;
  }
  size_t rows[kMost + 1][kMost + 1];
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t k = 0; k <= b.size(); ++k) {
      if (i == 0 || k == 0) {
        rows[i][k] = i + k;
        continue;
      }
      const size_t exchanged = rows[i - 1][k - 1] + (a[i - 1] == b[k - 1] ? 0 : 1);
      const size_t shorter =
          (rows[i - 1][k] < rows[i][k - 1] ? rows[i - 1][k] : rows[i][k - 1]) + 1;
      rows[i][k] = exchanged < shorter ? exchanged : shorter;
      if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
          rows[i - 2][k - 2] + 1 < rows[i][k]) {
        rows[i][k] = rows[i - 2][k - 2] + 1;
      }
    }
  }
  return rows[a.size()][b.size()];
}

// Names that may be meant; the nearest is offered.
struct Names {
  std::string list;
  std::string nearest;
  std::string_view wanted;
  size_t distance = 3;

  explicit Names(std::string_view name) : wanted(name) {}
  ONEOP_COLD void Add(std::string_view name) {
    list.append(list.empty() ? "" : ", ").append(name);
    const size_t steps = Distance(name, wanted);
    if (steps < distance && steps < wanted.size()) {
      distance = steps;
      nearest = std::string(name);
    }
  }
  ONEOP_COLD std::string Hint() const {
    const std::string meant = nearest.empty() ? "" : "did you mean " + nearest + "? ";
    return meant + "there " + (list.empty() ? "are none" : "are: " + list);
  }
};

}  // namespace op
}  // namespace oneop ONEOP_HIDDEN

#endif  // ONEOP_OP_MISTAKE_H_
