// error.h: errors inside the core. They reach Python as the class of oneop.errors with the same
// name.
#pragma once

#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "oneop/abi.h"

namespace oneop {

class Error : public std::exception {
 public:
  // `cls` is the name of a class in oneop/errors.py and must be a string literal.
  // `cause` is the Python exception behind it, a PyObject.
  Error(const char* cls, std::string message, std::shared_ptr<void> cause = nullptr)
      : cls_(cls), message_(std::move(message)), cause_(std::move(cause)) {}
  const char* cls() const noexcept { return cls_; }
  const std::shared_ptr<void>& cause() const noexcept { return cause_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  const char* cls_;
  std::string message_;
  std::shared_ptr<void> cause_;
};

// Where a callback of a library puts its error.
class Status {
 public:
  Status();
  oneop_status* abi() { return &block_.status; }
  // Throws if `code` says that the callback failed. `what` names the op and the act, for the
  // message.
  void check(int32_t code, const std::string& what);
  // With a further line of the message, which is made from what the callback said.
  template <typename Line>
  void check(int32_t code, const std::string& what, const Line& line) {
    if (code != ONEOP_OK || failed()) {
      raise(code, what, line(message()));
    }
  }
  // For hosts' own callbacks (sinks), which fail into a status that they are handed.
  static int32_t fail(oneop_status* status, int32_t kind, const std::string& message);
  // Keeps the Python exception behind a failure, once that is reported.
  static void set_cause(oneop_status* status, std::shared_ptr<void> cause);
  // The class in oneop/errors.py for one of the ABI's error kinds.
  static const char* class_of(int32_t kind);
  bool failed() const { return block_.status.kind != ONEOP_OK; }
  std::string message() const;

 private:
  struct Report {
    std::string message;
    std::string file;
    int32_t line = 0;
    std::shared_ptr<void> cause;
  };
  struct Block {
    oneop_status status;  // first, so that report() finds the block
    std::unique_ptr<Report>
        report;  // made when something fails: a status is on the path of every call
  };
  [[noreturn]] void raise(int32_t code, const std::string& what, const std::string& line);
  static void report(oneop_status* status, int32_t kind, const char* message, int64_t length,
                     const char* file, int32_t line);
  Block block_;
};

// `"name"`, for messages.
std::string in_quotes(const std::string& name);

// `, did you mean "x"?` where one of the names is close to this one, else nothing. A name that
// differs only in letter case comes before all others.
template <typename Names>
std::string did_you_mean(const std::string& name, const Names& names);

// Number of single-letter edits between two names.
int edit_distance(const std::string& a, const std::string& b);

// Whether two names are equal but for the case of ASCII letters.
bool same_letters(const std::string& a, const std::string& b);

template <typename Names>
std::string did_you_mean(const std::string& name, const Names& names) {
  const std::string* best = nullptr;
  int best_distance = static_cast<int>(name.size()) / 3 + 2;
  for (const std::string& candidate : names) {
    const int distance = same_letters(name, candidate) ? -1 : edit_distance(name, candidate);
    if (distance < best_distance) {
      best = &candidate;
      best_distance = distance;
    }
  }
  return best == nullptr ? std::string() : ", did you mean " + in_quotes(*best) + "?";
}

}  // namespace oneop
